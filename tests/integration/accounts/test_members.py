"""Members, roles and teams: who may do what to whom, and whom nobody sees."""

import uuid

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from tenants.members import join
from tenants.models import Membership, Tenant
from tenants.scoping import operator_scope, tenant_scope
from tests.integration.accounts.people import account, acts, members_of, membership, person, text_of

LIST = "/admin/tenants/membership/"
OWNER, ADMIN, MEMBER = "owner@friend.example", "admin@friend.example", "member@friend.example"


def page(email: str, tenant: Tenant, view: str = "change") -> str:
    return f"{LIST}{membership(email, tenant).pk}/{view}/"


def give(browser: Client, email: str, tenant: Tenant, role: str) -> None:
    browser.post(page(email, tenant), {"role": role})


def test_everybody_of_a_team_sees_its_people_and_no_others(
    owner: Client, admin: Client, member: Client, foreigner: Client
) -> None:
    for browser in (owner, admin, member):
        shown = text_of(browser.get(LIST))
        assert all(email in shown for email in (OWNER, ADMIN, MEMBER))
        assert "stranger.example" not in shown
        assert "stranger.example" not in text_of(browser.get(f"{LIST}?q=stranger"))


def test_an_owner_gives_every_role(owner: Client, member: Client, friend: Tenant) -> None:
    for role in ("admin", "owner", "member"):
        give(owner, MEMBER, friend, role)
        assert members_of(friend)[MEMBER] == role
    assert acts()[-1] == ("member.role_changed", MEMBER, OWNER)


def test_an_admin_gives_roles_below_owner_and_touches_no_owner(
    owner: Client, admin: Client, member: Client, friend: Tenant
) -> None:
    give(admin, MEMBER, friend, "admin")
    assert members_of(friend)[MEMBER] == "admin"
    for email, role in ((MEMBER, "owner"), (ADMIN, "owner"), (OWNER, "member")):
        before = members_of(friend)
        give(admin, email, friend, role)
        assert members_of(friend) == before
    assert admin.post(page(OWNER, friend, "delete"), {"post": "yes"}).status_code == 403
    assert OWNER in members_of(friend)


def test_a_member_changes_nobody_and_may_leave(owner: Client, member: Client, friend: Tenant) -> None:
    for email in (OWNER, MEMBER):
        give(member, email, friend, "admin")
    assert member.post(page(OWNER, friend, "delete"), {"post": "yes"}).status_code == 403
    assert members_of(friend) == {OWNER: "owner", MEMBER: "member"}
    assert member.post(page(MEMBER, friend, "delete"), {"post": "yes"}).headers["Location"] == "/accounts/"
    assert members_of(friend) == {OWNER: "owner"}
    assert acts()[-1] == ("member.left", MEMBER, MEMBER)


def test_who_is_taken_out_sees_nothing_with_the_next_request(
    owner: Client, member: Client, friend: Tenant
) -> None:
    assert member.get(LIST).status_code == 200
    assert owner.post(page(MEMBER, friend, "delete"), {"post": "yes"}).status_code == 302
    assert member.get(LIST).status_code == 302
    assert member.get("/admin/", follow=True).redirect_chain[-1][0] == "/accounts/team/"
    assert acts()[-1] == ("member.removed", MEMBER, OWNER)


def test_the_last_owner_stays_owner_and_stays(owner: Client, admin: Client, friend: Tenant) -> None:
    assert "at least one owner" in text_of(owner.post(page(OWNER, friend), {"role": "admin"}))
    owner.post(page(OWNER, friend, "delete"), {"post": "yes"})
    owner.post("/accounts/leave/", {"tenant": str(friend.pk), "confirmed": "yes"})
    assert members_of(friend)[OWNER] == "owner"
    assert "at least one owner" in text_of(owner.get("/accounts/"))


def test_an_owner_leaves_who_is_not_the_last(owner: Client, admin: Client, friend: Tenant) -> None:
    give(owner, ADMIN, friend, "owner")
    asked = owner.post("/accounts/leave/", {"tenant": str(friend.pk)})
    assert "Leave Friend &amp; Sons?" in text_of(asked)
    assert OWNER in members_of(friend)
    owner.post("/accounts/leave/", {"tenant": str(friend.pk), "confirmed": "yes"})
    assert members_of(friend) == {ADMIN: "owner"}


def test_nobody_looks_at_or_changes_people_of_another_team(
    owner: Client, member: Client, foreigner: Client, friend: Tenant
) -> None:
    for view, status in (("change", 404), ("delete", 403), ("history", 404)):
        answered = foreigner.get(page(MEMBER, friend, view))
        unknown = foreigner.get(f"{LIST}{uuid.uuid4()}/{view}/")
        assert answered.status_code == unknown.status_code == status
        assert answered.get("Location") == unknown.get("Location")
        assert "friend.example" not in text_of(answered)
    foreigner.post(page(MEMBER, friend), {"role": "owner"})
    foreigner.post(page(MEMBER, friend, "delete"), {"post": "yes"})
    assert members_of(friend) == {OWNER: "owner", MEMBER: "member"}


# ---------------------------------------------------------------- several teams


@pytest.fixture
def of_both(friend: Tenant, stranger: Tenant) -> Client:
    """The browser of somebody of both teams."""
    browser = person("both@example.com", friend, "member")
    with tenant_scope(stranger.id):
        join(stranger.id, User.objects.get(email="both@example.com"), "admin", actor="test")
    return browser


def test_somebody_of_two_teams_works_in_one_and_changes_to_the_other(
    of_both: Client, owner: Client, foreigner: Client, friend: Tenant, stranger: Tenant
) -> None:
    assert OWNER in text_of(of_both.get(LIST))
    assert of_both.post("/accounts/tenant/", {"tenant": str(stranger.pk)}).headers["Location"] == "/admin/"
    shown = text_of(of_both.get(LIST))
    assert OWNER not in shown
    assert "owner@stranger.example" in shown
    assert f'<option value="{stranger.pk}" selected>' in shown


def test_a_team_that_is_not_ones_own_is_as_one_that_never_was(
    owner: Client, friend: Tenant, stranger: Tenant
) -> None:
    answers = [
        owner.post(path, {"tenant": wanted, "confirmed": "yes"})
        for path in ("/accounts/tenant/", "/accounts/leave/")
        for wanted in (str(stranger.pk), str(uuid.uuid4()), "x", "")
    ]
    assert {answer.status_code for answer in answers} == {404}
    assert len({text_of(answer) for answer in answers}) == 1
    assert OWNER in text_of(owner.get(LIST))


def test_teams_are_changed_by_a_form_with_its_token_only(of_both: Client, stranger: Tenant) -> None:
    assert of_both.get("/accounts/tenant/").status_code == 405
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = of_both.cookies
    assert strict.post("/accounts/tenant/", {"tenant": str(stranger.pk)}).status_code == 403


def test_a_team_that_is_switched_off_is_none_of_ones_teams(owner: Client, friend: Tenant) -> None:
    with operator_scope():
        Tenant.objects.filter(pk=friend.pk).update(is_active=False)
    assert owner.get("/admin/", follow=True).redirect_chain[-1][0] == "/accounts/team/"


def test_the_account_shows_ones_teams_and_no_others(of_both: Client, owner: Client) -> None:
    shown = text_of(of_both.get("/accounts/"))
    assert "Friend &amp; Sons" in shown
    assert "Stranger Ltd" in shown
    assert "Stranger Ltd" not in text_of(owner.get("/accounts/"))


# ---------------------------------------------------------------- operators


@pytest.fixture
def operator(fresh: None) -> Client:
    """The browser of a superuser."""
    browser = Client()
    browser.force_login(User.objects.create_superuser("operator", "operator@example.com"))
    return browser


def test_an_operator_sees_all_members_and_changes_them(
    operator: Client, owner: Client, member: Client, foreigner: Client, friend: Tenant
) -> None:
    shown = text_of(operator.get(LIST))
    assert MEMBER in shown
    assert "owner@stranger.example" in shown
    give(operator, MEMBER, friend, "owner")
    assert members_of(friend)[MEMBER] == "owner"


def test_deleting_an_account_takes_its_memberships_and_leaves_the_audit_log(
    operator: Client, owner: Client, member: Client, friend: Tenant
) -> None:
    user = User.objects.get(email=MEMBER)
    give(member, MEMBER, friend, "admin")
    assert operator.post(f"/admin/auth/user/{user.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not User.objects.filter(pk=user.pk).exists()
    assert members_of(friend) == {OWNER: "owner"}
    assert ("member.joined", MEMBER, "test") in acts()


def test_the_only_owner_of_a_team_is_not_deleted(operator: Client, owner: Client, friend: Tenant) -> None:
    path = f"/admin/auth/user/{User.objects.get(email=OWNER).pk}/delete/"
    assert "only owner of the team Friend" in text_of(operator.get(path))
    operator.post(path, {"post": "yes"})
    assert members_of(friend) == {OWNER: "owner"}


def test_a_command_adds_a_member_and_changes_a_role(friend: Tenant) -> None:
    account("ada@example.com")
    call_command("add_member", friend.name, "Ada@example.com", role="owner")
    assert members_of(friend) == {"ada@example.com": "owner"}
    with pytest.raises(CommandError, match="at least one owner"):
        call_command("add_member", friend.name, "ada@example.com")
    account("bob@example.com")
    call_command("add_member", friend.name, "bob@example.com")
    assert members_of(friend)["bob@example.com"] == "member"
    assert acts()[-1] == ("member.joined", "bob@example.com", "manage.py")


@pytest.mark.parametrize(
    ("tenant", "email", "complaint"),
    [("Nobody", "a@b.example", "no tenant named"), ("Friend & Sons", "a@b.example", "no account")],
)
def test_a_command_says_what_there_is_not(friend: Tenant, tenant: str, email: str, complaint: str) -> None:
    with pytest.raises(CommandError, match=complaint):
        call_command("add_member", tenant, email)
    with operator_scope():
        assert not Membership.objects.exists()
