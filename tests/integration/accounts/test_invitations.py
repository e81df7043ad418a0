"""Invitations: by whom, to whom, accepted once, by the one whom they were sent to."""

from datetime import timedelta

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.db.models import F
from django.test import Client
from pytest_django import Settings

from tenants import invitations
from tenants.models import Invitation, Tenant
from tenants.scoping import operator_scope
from tests.integration.accounts.people import (
    account,
    acts,
    last_mail,
    link_in,
    members_of,
    membership,
    person,
    sign_in,
    sign_up,
    text_of,
)

ADA = "ada@example.com"
INVITE = "/admin/tenants/invitation/add/"
LIST = "/admin/tenants/invitation/"


def invite(browser: Client, email: str = ADA, role: str = "member") -> str:
    """Invite somebody, and the path of the link that they get."""
    answered = browser.post(INVITE, {"email": email, "role": role})
    assert answered.status_code == 302, text_of(answered)
    assert last_mail().to == [email]
    return link_in(last_mail())


def only() -> Invitation:
    with operator_scope():
        found: Invitation = Invitation.objects.get()
    return found


def opened(path: str, browser: Client | None = None) -> Client:
    """A browser in which the link was opened."""
    browser = browser or Client()
    assert browser.get(path).headers["Location"] == "/accounts/invitation/"
    return browser


def test_somebody_new_signs_up_by_the_link_and_is_there_without_another_mail(
    owner: Client, friend: Tenant, settings: Settings
) -> None:
    settings.SIGNUP = "invitation"
    browser = opened(invite(owner, role="admin"))
    page = text_of(browser.get("/accounts/invitation/"))
    assert "Join Friend &amp; Sons" in page
    assert "owner@friend.example" in page
    assert sign_up(browser, "somebody-else@example.com").headers["Location"] == "/accounts/invitation/"
    assert browser.post("/accounts/invitation/").headers["Location"] == "/admin/"
    assert members_of(friend) == {"owner@friend.example": "owner", ADA: "admin"}
    assert len(mail.outbox) == 1
    assert acts()[-3:] == [
        ("member.invited", ADA, "owner@friend.example"),
        ("user.signed_up", ADA, ADA),
        ("member.joined", ADA, ADA),
    ]


def test_somebody_who_has_an_account_signs_in_and_joins(owner: Client, friend: Tenant) -> None:
    account(ADA)
    browser = opened(invite(owner))
    assert "Sign in to join" in text_of(browser.get("/accounts/invitation/"))
    assert sign_in(browser, ADA).headers["Location"] == "/accounts/invitation/"
    browser.post("/accounts/invitation/")
    assert members_of(friend)[ADA] == "member"


def test_whom_it_was_not_sent_to_is_told_and_cannot_join(owner: Client, friend: Tenant) -> None:
    browser = opened(invite(owner), person("eve@example.com"))
    assert "the invitation is for another address" in text_of(browser.get("/accounts/invitation/"))
    browser.post("/accounts/invitation/")
    assert "eve@example.com" not in members_of(friend)


def test_who_has_not_proven_the_address_cannot_join(owner: Client, friend: Tenant) -> None:
    eve = account("eve@example.com")
    EmailAddress.objects.create(user=eve, email=ADA, verified=False)
    browser = Client()
    browser.force_login(eve)
    opened(invite(owner), browser).post("/accounts/invitation/")
    assert members_of(friend) == {"owner@friend.example": "owner"}


def test_the_database_holds_no_link_that_works(owner: Client) -> None:
    token = invite(owner).split("/")[-2]
    row = only()
    assert bytes(row.digest).hex() == invitations.digest_of(token)
    assert len(token) == 43
    browser = opened(f"/accounts/invitation/{bytes(row.digest).hex()}/")
    assert browser.get("/accounts/invitation/").status_code == 404
    assert token not in str(dict(opened(f"/accounts/invitation/{token}/").session))


def test_expired_used_revoked_and_invented_links_look_alike(owner: Client, settings: Settings) -> None:
    expired, used, revoked = (invite(owner, f"{word}@example.com") for word in ("expired", "used", "revoked"))
    account("used@example.com")
    browser = opened(used)
    sign_in(browser, "used@example.com")
    browser.post("/accounts/invitation/")
    with operator_scope():
        Invitation.objects.filter(email="expired@example.com").update(expires_at=F("created_at"))
        row = Invitation.objects.get(email="revoked@example.com")
    owner.post(LIST, {"action": "revoke", "_selected_action": str(row.pk)})
    settings.SIGNUP = "invitation"
    pages = set()
    for link in (expired, used, revoked, "/accounts/invitation/never-was/"):
        visitor = opened(link)
        page = visitor.get("/accounts/invitation/")
        pages.add((page.status_code, text_of(page)))
        assert "by invitation" in text_of(visitor.get("/accounts/signup/"))
    assert len(pages) == 1
    assert pages.pop()[0] == 404


def test_a_team_that_is_switched_off_takes_nobody_in(owner: Client, friend: Tenant) -> None:
    link = invite(owner)
    with operator_scope():
        Tenant.objects.filter(pk=friend.pk).update(is_active=False)
    assert opened(link).get("/accounts/invitation/").status_code == 404


def test_an_invitation_that_is_sent_again_has_a_new_link(owner: Client) -> None:
    old = invite(owner)
    owner.post(LIST, {"action": "send_again", "_selected_action": str(only().pk)})
    new = link_in(last_mail())
    assert old != new
    assert opened(old).get("/accounts/invitation/").status_code == 404
    assert opened(new).get("/accounts/invitation/").status_code == 200


def test_an_address_is_invited_once(owner: Client) -> None:
    invite(owner)
    assert "has an invitation already" in text_of(
        owner.post(INVITE, {"email": ADA.upper(), "role": "member"})
    )
    assert len(mail.outbox) == 1


def test_a_member_is_not_invited_again(owner: Client, member: Client) -> None:
    form = {"email": "member@friend.example", "role": "member"}
    assert "belongs to a member" in text_of(owner.post(INVITE, form))


def test_an_admin_makes_no_owners(admin: Client) -> None:
    answered = admin.post(INVITE, {"email": ADA, "role": "owner"})
    assert answered.status_code == 200
    assert 'value="owner"' not in text_of(admin.get(INVITE))
    assert not mail.outbox
    invite(admin, role="admin")


def test_an_admin_revokes_no_owners_invitation(owner: Client, admin: Client) -> None:
    invite(owner, role="owner")
    for action in ("revoke", "send_again"):
        admin.post(LIST, {"action": action, "_selected_action": str(only().pk)})
    assert only().accepted_at is None
    assert len(mail.outbox) == 1


def test_a_member_invites_nobody_and_revokes_nothing(owner: Client, member: Client) -> None:
    invite(owner)
    assert member.get(INVITE).status_code == 403
    assert member.post(INVITE, {"email": "x@example.com", "role": "member"}).status_code == 403
    member.post(LIST, {"action": "revoke", "_selected_action": str(only().pk)})
    assert only().accepted_at is None


def test_nobody_sees_or_revokes_another_teams_invitations(owner: Client, foreigner: Client) -> None:
    invite(owner)
    assert ADA not in text_of(foreigner.get(f"{LIST}?q=ada"))
    foreigner.post(LIST, {"action": "revoke", "_selected_action": str(only().pk)})
    assert only().accepted_at is None


def test_the_form_invites_to_no_other_team(foreigner: Client, friend: Tenant, stranger: Tenant) -> None:
    foreigner.post(INVITE, {"email": ADA, "role": "owner", "tenant": str(friend.pk)})
    assert only().tenant_id == stranger.pk


def test_an_operator_invites_to_any_team(friend: Tenant) -> None:
    operator = person("operator@example.com")
    User.objects.filter(email="operator@example.com").update(is_superuser=True)
    answered = operator.post(INVITE, {"email": ADA, "role": "owner", "tenant": str(friend.pk)})
    assert answered.status_code == 302, text_of(answered)
    assert (only().tenant_id, only().role) == (friend.pk, "owner")


def test_nobody_sends_invitations_without_end(owner: Client) -> None:
    for number in range(20):
        invite(owner, f"{number}@example.com")
    answered = owner.post(INVITE, {"email": ADA, "role": "member"})
    assert "many invitations" in text_of(answered)
    assert len(mail.outbox) == 20


def test_a_mail_that_cannot_be_sent_leaves_no_invitation(
    owner: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise ConnectionRefusedError

    monkeypatch.setattr(EmailBackend, "send_messages", refuse)
    answered = owner.post(INVITE, {"email": ADA, "role": "member"})
    assert "could not be sent" in text_of(answered)
    with operator_scope():
        assert not Invitation.objects.exists()
    assert ("member.invited", ADA, "owner@friend.example") not in acts()


def test_it_is_worth_a_week_by_default(owner: Client, settings: Settings) -> None:
    invite(owner)
    assert only().expires_at - only().created_at > timedelta(days=settings.INVITATION_DAYS) - timedelta(
        minutes=1
    )
    assert "within 7 days" in str(last_mail().body)


def test_existing_people_still_join_where_sign_up_is_closed(
    owner: Client, friend: Tenant, settings: Settings
) -> None:
    settings.SIGNUP = "closed"
    account(ADA)
    link = invite(owner)
    browser = opened(link)
    sign_in(browser, ADA)
    browser.post("/accounts/invitation/")
    assert ADA in members_of(friend)
    newcomer = opened(invite(owner, "new@example.com"))
    assert "New accounts are not made" in text_of(newcomer.get("/accounts/invitation/"))
    assert "by invitation" in text_of(sign_up(newcomer, "new@example.com"))
    assert membership(ADA, friend).role == "member"
