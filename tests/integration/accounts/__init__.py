"""The pages for people: accounts, invitations, members, teams."""
