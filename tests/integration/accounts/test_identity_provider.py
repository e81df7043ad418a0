"""Sign-in by an identity provider: real discovery, codes, tokens; and what its word is worth."""

from collections.abc import Iterator
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client
from pytest_django import Settings

from config.sign_in import oidc_apps
from tenants.models import Tenant
from tests.integration.accounts.people import (
    PASSWORD,
    account,
    acts,
    last_mail,
    link_in,
    members_of,
    person,
    sign_in,
    text_of,
)
from tests.support.identity_provider import CLIENT_ID, CLIENT_SECRET, IdentityProvider

ADA = "ada@example.com"
LOGIN = "/accounts/oidc/provider/login/"


@pytest.fixture(scope="module")
def running() -> Iterator[IdentityProvider]:
    """The provider of all tests here."""
    with IdentityProvider() as provider:
        yield provider


@pytest.fixture
def provider(running: IdentityProvider, settings: Settings) -> IdentityProvider:
    """The provider, configured as the environment does it; Ada is signed in there."""
    apps = oidc_apps(name="Example ID", issuer=running.issuer, client_id=CLIENT_ID, secret=CLIENT_SECRET)
    settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": apps}}
    running.person = {"sub": "1", "email": ADA, "email_verified": True, "name": "Ada"}
    running.refuses, running.audience = False, CLIENT_ID
    return running


def come_back(browser: Client, provider: IdentityProvider, login: str = LOGIN) -> Any:
    """Press the button, be at the provider, and come back."""
    there = browser.post(login)
    assert there.status_code == 302, text_of(there)
    return browser.get(provider.authorize(there.headers["Location"]))


def who(browser: Client) -> User | None:
    key = browser.session.get("_auth_user_id")
    return User.objects.get(pk=key) if key else None


def test_the_button_is_there_where_a_provider_is_configured(
    provider: IdentityProvider, settings: Settings
) -> None:
    page = Client().get("/accounts/login/")
    assert "Continue with Example ID" in text_of(page)
    assert provider.issuer in page.headers["Content-Security-Policy"]
    settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": []}}
    assert "Continue with" not in text_of(Client().get("/accounts/login/"))
    assert Client().post(LOGIN).status_code == 404


def test_somebody_new_whose_address_is_verified_there_is_signed_in_at_once(
    provider: IdentityProvider,
) -> None:
    browser = Client()
    assert come_back(browser, provider).headers["Location"] == "/admin/"
    user = who(browser)
    assert user is not None
    assert (user.email, user.has_usable_password()) == (ADA, False)
    assert EmailAddress.objects.get(user=user).verified
    assert not mail.outbox
    assert acts() == [("user.signed_up", ADA, ADA)]


@pytest.mark.parametrize("told", [{"email_verified": False}, {}, {"email_verified": "no"}])
def test_an_address_that_is_not_called_verified_has_to_be_proven(
    provider: IdentityProvider, told: dict[str, Any]
) -> None:
    provider.person = {"sub": "2", "email": ADA, **told}
    browser = Client()
    assert come_back(browser, provider).headers["Location"] == "/accounts/confirm-email/"
    assert who(browser) is None
    browser.post(link_in(last_mail()))
    assert who(browser) is not None


def test_the_second_time_it_is_the_same_account(provider: IdentityProvider) -> None:
    come_back(Client(), provider)
    come_back(Client(), provider)
    assert User.objects.count() == 1


def test_an_account_with_a_verified_address_is_its_owners(provider: IdentityProvider) -> None:
    mine = account(ADA)
    browser = Client()
    come_back(browser, provider)
    assert who(browser) == mine
    assert sign_in(Client(), ADA).headers["Location"] == "/admin/"  # the password works on


def test_nobody_takes_an_account_over_by_an_unverified_address(provider: IdentityProvider) -> None:
    mine = account(ADA)
    provider.person = {"sub": "evil", "email": ADA, "email_verified": False}
    browser = Client()
    assert come_back(browser, provider).headers["Location"] == "/accounts/confirm-email/"
    assert who(browser) is None
    assert User.objects.get() == mine
    assert "has an account already" in str(last_mail().body)


def test_who_made_an_account_with_an_address_they_cannot_prove_is_locked_out(
    provider: IdentityProvider,
) -> None:
    account(ADA, verified=False)  # with a password that somebody else knows
    browser = Client()
    assert come_back(browser, provider).headers["Location"] == "/accounts/confirm-email/"
    assert not User.objects.get().has_usable_password()
    browser.post(link_in(last_mail()))
    assert who(browser) == User.objects.get()


@pytest.mark.parametrize("mode", ["invitation", "closed"])
def test_the_provider_opens_no_sign_up_that_is_not_open(
    provider: IdentityProvider, mode: str, settings: Settings
) -> None:
    settings.SIGNUP = mode
    assert "by invitation" in text_of(come_back(Client(), provider))
    assert not User.objects.exists()


def test_who_is_invited_by_the_address_signs_up_by_the_provider(
    provider: IdentityProvider, owner: Client, friend: Tenant, settings: Settings
) -> None:
    settings.SIGNUP = "invitation"
    owner.post("/admin/tenants/invitation/add/", {"email": ADA, "role": "member"})
    browser = Client()
    browser.get(link_in(last_mail()))
    provider.person = {"sub": "3", "email": "other@example.com", "email_verified": True}
    assert "by invitation" in text_of(come_back(browser, provider))
    provider.person = {"sub": "4", "email": ADA, "email_verified": True}
    assert come_back(browser, provider).headers["Location"] == "/accounts/invitation/"
    browser.post("/accounts/invitation/")
    assert members_of(friend)[ADA] == "member"


def test_somebody_connects_the_provider_with_their_account(provider: IdentityProvider) -> None:
    account("lovelace@example.com")
    browser = Client()
    sign_in(browser, "lovelace@example.com")
    again = come_back(browser, provider, f"{LOGIN}?process=connect").headers["Location"]
    assert again.startswith("/accounts/reauthenticate/")
    assert browser.post(again, {"password": PASSWORD}).headers["Location"] == "/accounts/3rdparty/"
    assert "Disconnect" in text_of(browser.get("/accounts/3rdparty/"))
    there = Client()
    come_back(there, provider)
    assert who(there) == User.objects.get()


@pytest.mark.parametrize("fault", ["refuses", "audience", "state", "cancelled"])
def test_a_sign_in_that_goes_wrong_is_a_page_and_nobody_is_signed_in(
    provider: IdentityProvider, fault: str
) -> None:
    browser = Client()
    if fault == "refuses":
        provider.refuses = True
    if fault == "audience":
        provider.audience = "somebody else's client"
    back = provider.authorize(browser.post(LOGIN).headers["Location"])
    if fault == "state":
        back = back.replace("state=", "state=x")
    if fault == "cancelled":
        back = back.replace("code=", "error=access_denied&x=")
    answered = browser.get(back, follow=True)
    assert answered.status_code < 500
    assert "<h1>" in text_of(answered)
    assert who(browser) is None
    assert not User.objects.exists()


def test_looking_at_the_address_of_the_button_leads_nowhere_by_itself(provider: IdentityProvider) -> None:
    assert Client().get(LOGIN).status_code == 200


def test_a_provider_that_does_not_answer_is_a_page(provider: IdentityProvider, settings: Settings) -> None:
    apps = oidc_apps(name="Gone", issuer="http://127.0.0.1:9", client_id="a", secret="b")
    settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": apps}}
    answered = Client().post(LOGIN)
    assert answered.status_code == 503
    assert "does not answer" in text_of(answered)


def test_a_member_who_comes_by_the_provider_is_in_their_team(
    provider: IdentityProvider, friend: Tenant
) -> None:
    person(ADA, friend)
    browser = Client()
    come_back(browser, provider)
    assert browser.get("/admin/").status_code == 200
