"""The URLs of the pages for people. `config.urls` puts django-allauth's beside them."""

from allauth.account.views import signup
from django.db import transaction
from django.urls import path

from tenants.accounts.views import home, invitation, landing, teams

app_name = "accounts"

urlpatterns = [
    path("", landing.landing, name="landing"),
    path("accounts", home.home),
    path("accounts/", home.home, name="home"),
    path("accounts/team/", teams.found, name="found"),
    path("accounts/tenant/", teams.switch, name="switch"),
    path("accounts/leave/", teams.leave, name="leave"),
    path("accounts/invitation/", invitation.invitation, name="invitation"),
    path("accounts/invitation/<str:token>/", invitation.invited, name="invited"),
]

# A mail that cannot be sent takes the account back that it was meant for. Same address as django-allauth's, and first.
sign_up = [path("accounts/signup/", transaction.atomic(signup))]
