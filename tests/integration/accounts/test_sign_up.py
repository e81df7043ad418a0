"""From an address to a team: sign-up, the proof of the address, the first team; and who may not."""

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client
from pytest_django import Settings

from tenants.models import Limit, Tenant
from tenants.scoping import operator_scope
from tests.integration.accounts.people import (
    PASSWORD,
    account,
    acts,
    last_mail,
    link_in,
    members_of,
    person,
    sign_in,
    sign_up,
    text_of,
)
from tests.support.tenants import tenant_named, tenant_names

ADA = "ada@example.com"


def test_somebody_signs_up_proves_the_address_names_a_team_and_is_there() -> None:
    browser = Client()
    assert sign_up(browser, ADA).headers["Location"] == "/accounts/confirm-email/"
    assert last_mail().to == [ADA]
    assert browser.get("/accounts/").status_code == 302  # not signed in yet
    page = link_in(last_mail())
    assert ADA in text_of(browser.get(page))
    assert browser.post(page).headers["Location"] == "/admin/"
    assert browser.get("/admin/", follow=True).redirect_chain[-1][0] == "/accounts/team/"
    assert browser.post("/accounts/team/", {"name": "  Team   Ada "}).headers["Location"] == "/admin/"
    site = text_of(browser.get("/admin/"))
    assert "Team Ada is ready. Next: issue your first key" in site
    assert members_of(tenant_named("Team Ada")) == {ADA: "owner"}
    assert acts() == [
        ("user.signed_up", ADA, ADA),
        ("tenant.founded", "Team Ada", ADA),
        ("member.joined", ADA, ADA),
    ]


def test_looking_at_the_link_proves_nothing() -> None:
    sign_up(Client(), ADA)
    Client().get(link_in(last_mail()))  # as scanners of mail do
    assert not EmailAddress.objects.get(email=ADA).verified


def test_nobody_signs_in_before_the_address_is_proven() -> None:
    sign_up(Client(), ADA)
    browser = Client()
    assert sign_in(browser, ADA).headers["Location"] == "/accounts/confirm-email/"
    assert browser.get("/admin/").status_code == 302


def test_the_link_opened_in_another_browser_proves_the_address_and_signs_nobody_in() -> None:
    sign_up(Client(), ADA)
    other = Client()
    other.post(link_in(last_mail()))
    assert EmailAddress.objects.get(email=ADA).verified
    assert other.get("/accounts/").headers["Location"].startswith("/accounts/login/")


def test_a_generated_user_name_tells_nothing() -> None:
    sign_up(Client(), ADA)
    assert "ada" not in User.objects.get().username


@pytest.mark.parametrize("password", ["short", "password1234", "ada@example.com"])
def test_a_weak_password_is_refused_on_the_form(password: str) -> None:
    answered = sign_up(Client(), ADA, password)
    assert answered.status_code == 200
    assert "errorlist" in text_of(answered)
    assert not User.objects.exists()


def test_who_has_an_account_already_is_told_so_by_mail_and_by_nothing_else() -> None:
    account(ADA)
    known, unknown = sign_up(Client(), ADA), sign_up(Client(), "new@example.com")
    assert (known.status_code, known.headers["Location"]) == (
        unknown.status_code,
        unknown.headers["Location"],
    )
    assert text_of(Client().get(known.headers["Location"])) == text_of(
        Client().get(unknown.headers["Location"])
    )
    assert [message.to for message in mail.outbox] == [[ADA], ["new@example.com"]]
    assert "has an account already" in str(mail.outbox[0].body)
    assert User.objects.filter(email=ADA).count() == 1


@pytest.mark.parametrize("mode", ["invitation", "closed"])
def test_without_an_invitation_nobody_signs_up_where_sign_up_is_not_open(
    mode: str, settings: Settings
) -> None:
    settings.SIGNUP = mode
    assert "by invitation" in text_of(Client().get("/accounts/signup/"))
    assert sign_up(Client(), ADA).status_code == 200
    assert not User.objects.exists()
    assert "/accounts/signup/" not in text_of(Client().get("/"))


@pytest.mark.parametrize("mode", ["invitation", "closed"])
def test_nobody_founds_a_team_where_sign_up_is_not_open(mode: str, settings: Settings) -> None:
    settings.SIGNUP = mode
    browser = person(ADA)
    assert "Teams are made by the operators" in text_of(browser.get("/accounts/team/"))
    browser.post("/accounts/team/", {"name": "Mine"})
    assert tenant_names() == []
    assert browser.get("/admin/", follow=True).redirect_chain[-1][0] == "/accounts/"


def test_a_team_name_that_is_taken_is_refused_on_the_form(friend: Tenant) -> None:
    answered = person(ADA).post("/accounts/team/", {"name": friend.name})
    assert "Another team has this name" in text_of(answered)


@pytest.mark.parametrize(
    "name", ["", "visit https://evil.example", "www.evil.example", "a@b", "x" * 121, "\u202e"]
)
def test_a_team_name_that_mails_could_not_quote_is_refused(name: str) -> None:
    answered = person(ADA).post("/accounts/team/", {"name": name})
    assert "errorlist" in text_of(answered)


def test_nobody_founds_teams_without_end() -> None:
    browser = person(ADA)
    founded = [browser.post("/accounts/team/", {"name": f"Team {number}"}).status_code for number in range(6)]
    assert founded == [302] * 5 + [200]
    assert tenant_names() == [f"Team {number}" for number in range(5)]


def test_the_form_needs_its_token() -> None:
    strict = Client(enforce_csrf_checks=True)
    for path in ("/accounts/signup/", "/accounts/login/", "/accounts/password/reset/", "/accounts/logout/"):
        assert strict.post(path, {"email": ADA, "login": ADA, "password": PASSWORD}).status_code == 403
    assert not mail.outbox
    assert not User.objects.exists()


def test_a_new_team_begins_with_the_operators_limits(settings: Settings) -> None:
    settings.SIGNUP_LIMITS = (("requests_per_minute", 7),)
    person(ADA).post("/accounts/team/", {"name": "Team Ada"})
    with operator_scope():
        rows = list(Limit.objects.values_list("tenant__name", "metric", "amount", "set_by"))
    assert rows == [("Team Ada", "requests_per_minute", 7, "operator")]
