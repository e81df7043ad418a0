"""The pages of people's accounts, around django-allauth's: sign-up, sign-in, invitations, teams, the landing page."""
