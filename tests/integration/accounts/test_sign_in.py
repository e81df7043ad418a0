"""Sign-in, sign-out, another password, another address; and what strangers learn of any of it: nothing."""

import smtplib

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.test import Client

from tests.integration.accounts.people import (
    PASSWORD,
    account,
    last_mail,
    link_in,
    person,
    sign_in,
    sign_up,
    text_of,
)

ADA = "ada@example.com"
NEW = "another long password"


def signed_in(browser: Client) -> bool:
    return "_auth_user_id" in browser.session


@pytest.mark.parametrize("login", [ADA, ADA.upper()])
def test_somebody_signs_in_by_their_address(login: str) -> None:
    account(ADA)
    browser = Client()
    assert sign_in(browser, login).headers["Location"] == "/admin/"
    assert signed_in(browser)


def test_an_operator_without_a_proven_address_signs_in() -> None:
    User.objects.create_superuser("admin", "admin@localhost", PASSWORD)
    browser = Client()
    sign_in(browser, "admin")
    assert browser.get("/admin/").status_code == 200
    assert not mail.outbox


def test_an_account_without_any_address_is_told_so() -> None:
    User.objects.create_user("staff", None, PASSWORD, is_staff=True)
    answered = sign_in(Client(), "staff")
    assert answered.status_code == 403
    assert "no e-mail address" in text_of(answered)


def test_a_wrong_password_an_unknown_address_and_a_closed_account_look_alike() -> None:
    account(ADA)
    closed = account("closed@example.com")
    closed.is_active = False
    closed.save()
    pages = [
        text_of(sign_in(Client(), ADA, "wrong")),
        text_of(sign_in(Client(), "nobody@example.com", "wrong")),
        text_of(sign_in(Client(), "nobody", "wrong")),
        text_of(sign_in(Client(), closed.email, "wrong")),
    ]
    errors = {page.split("errorlist")[1].split("</ul>")[0] for page in pages}
    assert len(errors) == 1
    assert "do not belong together" in errors.pop()


def test_guessing_ends_after_five_wrong_passwords_even_with_the_right_one() -> None:
    account(ADA)
    for _ in range(5):
        sign_in(Client(), ADA, "wrong")
    browser = Client()
    assert "too many" in text_of(sign_in(browser, ADA))
    assert not signed_in(browser)


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example",
        "javascript:alert(1)",
        "http://localhost/x",
    ],
)
def test_a_sign_in_leads_to_no_other_host(target: str) -> None:
    account(ADA)
    assert sign_in(Client(), ADA, next=target).headers["Location"] == "/admin/"


def test_a_sign_in_leads_where_somebody_was_going() -> None:
    account(ADA)
    assert sign_in(Client(), ADA, next="/accounts/?a=b").headers["Location"] == "/accounts/?a=b"


def test_a_sign_in_begins_a_session_of_its_own() -> None:
    account(ADA)
    browser = Client()
    browser.get("/accounts/invitation/planted/")
    planted = browser.session.session_key
    sign_in(browser, ADA)
    assert planted
    assert browser.session.session_key != planted


def test_looking_at_the_page_signs_nobody_out_and_the_form_does() -> None:
    browser = person(ADA)
    browser.get("/accounts/logout/")
    assert signed_in(browser)
    assert browser.post("/accounts/logout/").headers["Location"] == "/"
    assert not signed_in(browser)


def test_the_consoles_own_button_signs_out() -> None:
    browser = person(ADA)  # of no team: who was taken out of one sees its last page until then
    browser.post("/admin/logout/")
    assert not signed_in(browser)


# ---------------------------------------------------------------- another password


def test_somebody_who_forgot_the_password_chooses_another_by_mail_once() -> None:
    account(ADA)
    browser = Client()
    browser.post("/accounts/password/reset/", {"email": ADA})
    link = link_in(last_mail())
    form = browser.get(link).headers["Location"]
    assert browser.post(form, {"password1": NEW, "password2": NEW}).status_code == 302
    assert signed_in_with(NEW)
    assert not signed_in_with(PASSWORD)
    assert "password1" not in text_of(Client().get(link, follow=True))


def signed_in_with(password: str) -> bool:
    browser = Client()
    sign_in(browser, ADA, password)
    return signed_in(browser)


def test_asking_for_another_password_tells_nobody_whether_there_is_an_account() -> None:
    account(ADA)
    answers = [
        Client().post("/accounts/password/reset/", {"email": email}, follow=True)
        for email in (ADA, "nobody@example.com")
    ]
    assert answers[0].redirect_chain == answers[1].redirect_chain
    assert text_of(answers[0]) == text_of(answers[1])
    assert [message.to for message in mail.outbox] == [[ADA], ["nobody@example.com"]]
    assert "No account has it" in str(last_mail().body)


def test_another_password_ends_the_other_sessions_and_is_told_by_mail() -> None:
    here, there = person(ADA), Client()
    sign_in(there, ADA)
    sign_in(here, ADA)
    form = {"oldpassword": PASSWORD, "password1": NEW, "password2": NEW}
    answered = here.post("/accounts/password/change/", form)
    assert answered.status_code == 302, text_of(answered)
    assert here.get("/accounts/password/change/").status_code == 200
    assert there.get("/accounts/password/change/").status_code == 302
    assert "password has been changed" in str(last_mail().body)


# ---------------------------------------------------------------- another address


def test_another_address_takes_the_old_ones_place_once_it_is_proven() -> None:
    account(ADA)
    browser = Client()
    sign_in(browser, ADA)
    answered = browser.post("/accounts/email/", {"email": "lovelace@example.com", "action_add": ""})
    again = answered.headers["Location"]
    assert again.startswith("/accounts/reauthenticate/")  # who found the screen unlocked gets no further
    assert not mail.outbox
    assert browser.post(again, {"password": PASSWORD}).headers["Location"] == "/accounts/email/"
    assert User.objects.get().email == ADA
    browser.post(link_in(next(sent for sent in mail.outbox if sent.to == ["lovelace@example.com"])))
    assert User.objects.get().email == "lovelace@example.com"
    assert list(EmailAddress.objects.values_list("email", "verified")) == [("lovelace@example.com", True)]


def test_an_address_that_an_operator_entered_has_to_be_proven() -> None:
    user = account(ADA)
    operator = Client()
    operator.force_login(User.objects.create_superuser("operator", "operator@example.com"))
    form = {"username": user.username, "email": "new@example.com", "is_active": "on"}
    assert operator.post(f"/admin/auth/user/{user.pk}/change/", form).status_code == 302
    assert sign_in(Client(), "new@example.com").headers["Location"] == "/accounts/confirm-email/"


# ---------------------------------------------------------------- no mail server


@pytest.fixture
def mail_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mail server refuses, and quotes the address in doing so."""

    def refuse(*_: object) -> int:
        raise smtplib.SMTPRecipientsRefused({ADA: (550, b"no")})

    monkeypatch.setattr(EmailBackend, "send_messages", refuse)


def test_who_signs_up_while_mail_is_down_is_told_and_can_do_it_again(
    mail_is_down: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = sign_up(Client(), ADA)
    assert answered.status_code == 503
    assert "could not be sent" in text_of(answered)
    assert not User.objects.exists()
    monkeypatch.undo()
    assert sign_up(Client(), ADA).status_code == 302
    assert last_mail().to == [ADA]


def test_a_password_is_changed_although_nobody_can_be_told_by_mail(mail_is_down: None) -> None:
    account(ADA)
    browser = Client()
    sign_in(browser, ADA)
    form = {"oldpassword": PASSWORD, "password1": NEW, "password2": NEW}
    assert browser.post("/accounts/password/change/", form).status_code == 302
    assert User.objects.get().check_password(NEW)


# ---------------------------------------------------------------- the pages


@pytest.mark.parametrize(
    "path",
    ["/", "/accounts/login/", "/accounts/signup/", "/accounts/password/reset/", "/accounts/invitation/x/"],
)
def test_pages_load_nothing_from_elsewhere_and_are_kept_by_nobody(path: str) -> None:
    answered = Client().get(path)
    policy = answered.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "form-action 'self'" in policy
    assert answered.headers["Cache-Control"] == "no-store"
    assert "<script" not in text_of(answered)


def test_the_landing_page_shows_the_ways_in() -> None:
    page = text_of(Client().get("/"))
    assert all(f'href="{path}"' in page for path in ("/accounts/login/", "/accounts/signup/", "/docs"))
    assert Client().post("/").status_code == 405


@pytest.mark.parametrize("path", ["/", "/accounts/", "/accounts/login/", "/accounts/password/reset/"])
def test_pages_are_there_under_their_own_hosts_only(path: str) -> None:
    assert Client().get(path, headers={"host": "evil.example"}).status_code == 400
