"""Tool policies in the admin: read in words, changed by adding versions."""

import re
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tenants.keys import find_principal, forget, issue_key, new_key
from tenants.models import AuditEvent, Tenant, ToolPolicy
from tenants.scoping import tenant_scope
from tenants.signals import access_changed
from tests.integration.admin.people import person_of
from tests.integration.admin.policy_pages import NO_MAIL, POLICIES, TRY, form, page_of, text_of, versions

Commits = Callable[..., AbstractContextManager[list[Any]]]


@pytest.fixture
def owner(friend: Tenant) -> Client:
    return person_of(friend, "owner")


def test_an_owner_writes_a_policy_and_reads_it_in_words(
    owner: Client, friend: Tenant, stranger: Tenant
) -> None:
    assert owner.get(POLICIES).headers["Location"] == page_of(friend)
    assert "Everything that a request allows may be called." in text_of(owner.get(page_of(friend)))
    saved = owner.post(
        page_of(friend, page="edit/"), form(NO_MAIL, {"effect": "allow", "tool": "clock", "models": "a, b-*"})
    )
    assert (saved.status_code, saved.headers["Location"]) == (302, page_of(friend))
    (made,) = versions(friend)
    assert made.rules == [
        {"id": "no-mail", "effect": "deny", "kind": "function", "tool": "*mail*", "server": "", "models": []},
        {
            "id": "rule-1",
            "effect": "allow",
            "kind": "any",
            "tool": "clock",
            "server": "",
            "models": ["a", "b-*"],
        },
    ]
    assert (made.version, made.on_violation, made.hosted_tools) == (1, "suppress", True)
    assert made.created_by is not None
    shown = text_of(owner.get(page_of(friend)))
    assert "In force: version 1" in shown
    assert "Denies functions named '*mail*'." in shown
    assert "Allows tools named 'clock' with the models 'a' or 'b-*'." in shown
    assert "owner-friend-&amp;-sons@example.com" in shown
    assert versions(stranger) == []


def test_what_is_saved_holds_for_every_key_of_the_tenant_at_once_and_for_nobody_else(
    owner: Client,
    friend: Tenant,
    stranger: Tenant,
    django_capture_on_commit_callbacks: Commits,
) -> None:
    mine, foreign = issue_key(friend, name="a"), issue_key(stranger, name="b")
    heard: list[object] = []

    def hear(**told: object) -> None:
        heard.append(told)

    access_changed.connect(hear)
    try:
        with django_capture_on_commit_callbacks(execute=True):
            owner.post(page_of(friend, page="edit/"), form(NO_MAIL))
    finally:
        access_changed.disconnect(hear)
    assert len(heard) == 1
    forget()
    for key, count in ((mine, 1), (foreign, 0)):
        principal = find_principal(key)
        assert principal is not None
        assert len(principal.policies) == count


def test_a_change_adds_a_version_and_leaves_the_old_one_as_it_was(owner: Client, friend: Tenant) -> None:
    owner.post(page_of(friend, page="edit/"), form(NO_MAIL))
    (before,) = versions(friend)
    shown = owner.get(page_of(friend, page="edit/"))
    assert 'value="no-mail"' in text_of(shown)
    owner.post(
        page_of(friend, page="edit/"),
        form({**NO_MAIL, "tool": "mail", "ORDER": 5}, {"tool": "x", "id": "x", "ORDER": 2}, based_on=1),
    )
    first, second = versions(friend)
    assert (first.rules, first.version) == (before.rules, 1)
    assert [rule["id"] for rule in second.rules] == ["x", "no-mail"]
    page = text_of(owner.get(page_of(friend)))
    assert (
        "Changed rule 'no-mail': denies functions named 'mail'; before, it denies functions named '*mail*'."
        in page
    )
    assert "Added rule 'x': denies tools named 'x'." in page


def test_a_row_can_be_deleted_and_more_rows_asked_for(owner: Client, friend: Tenant) -> None:
    posted = form(NO_MAIL, {"tool": "x", "id": "x"})
    more = owner.post(page_of(friend, page="edit/"), {**posted, "more": "1"})
    assert more.status_code == 200
    assert 'name="rules-4-tool"' in more.content.decode()
    assert 'value="*mail*"' in more.content.decode()
    assert 'role="alert"' not in more.content.decode()
    assert versions(friend) == []
    owner.post(page_of(friend, page="edit/"), {**posted, "rules-0-DELETE": "on"})
    assert [rule["id"] for rule in versions(friend)[0].rules] == ["x"]


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"tool": "x", "id": "a b"}, "'id' must be 1 to 64"),
        ({"tool": "x", "id": "default"}, "must not be 'default'"),
        ({"tool": "x", "server": "https://x.example"}, "for rules of the kind 'mcp' only"),
        ({"kind": "mcp", "server": "https://good.example.*"}, "'*' in its host only"),
        ({"tool": "x", "effect": "forbid"}, "not one of the available choices"),
        ({"tool": "x", "ORDER": "first"}, "Enter a whole number"),
    ],
)
def test_what_is_wrong_stands_at_its_field_and_nothing_is_saved(
    rule: dict[str, Any], said: str, owner: Client, friend: Tenant
) -> None:
    answered = owner.post(page_of(friend, page="edit/"), form(NO_MAIL, rule))
    assert answered.status_code == 200
    assert said in text_of(answered)
    assert 'value="*mail*"' in answered.content.decode()
    assert versions(friend) == []


def test_two_rules_of_one_name_are_refused_at_the_second(owner: Client, friend: Tenant) -> None:
    answered = text_of(owner.post(page_of(friend, page="edit/"), form(NO_MAIL, {**NO_MAIL, "tool": "x"})))
    assert "Rule 2 ('no-mail'): 'id' must be another one" in answered
    assert versions(friend) == []


def test_who_saves_second_is_told_and_overwrites_nothing_unseen(owner: Client, friend: Tenant) -> None:
    other = person_of(friend, "admin", "second")
    owner.post(page_of(friend, page="edit/"), form(NO_MAIL))
    answered = other.post(page_of(friend, page="edit/"), form({"tool": "mine", "id": "mine"}))
    page = text_of(answered)
    assert answered.status_code == 200
    assert "Somebody else changed this policy meanwhile: nothing of yours was saved." in page
    assert "owner-friend-&amp;-sons@example.com made version 1" in page
    assert 'value="mine"' in page
    assert len(versions(friend)) == 1
    assert re.search(r'name="based_on" value="1"', page)
    other.post(page_of(friend, page="edit/"), form({"tool": "mine", "id": "mine"}, based_on=1))
    assert [rule["id"] for rule in versions(friend)[1].rules] == ["mine"]


def test_restoring_an_old_version_makes_a_new_one(owner: Client, friend: Tenant) -> None:
    owner.post(page_of(friend, page="edit/"), form(NO_MAIL))
    owner.post(page_of(friend, page="edit/"), form(based_on=1))
    restore = page_of(friend, page="restore/")
    stale = owner.post(restore, {"version": 1, "based_on": 1}, follow=True)
    assert "nothing was restored" in text_of(stale)
    owner.post(restore, {"version": 1, "based_on": 2})
    first, _, third = versions(friend)
    assert (third.version, third.rules) == (3, first.rules)
    assert owner.post(restore, {"version": 9, "based_on": 3}).status_code == 404
    assert owner.get(restore).status_code == 405
    with tenant_scope(friend.id):
        acts = sorted(
            AuditEvent.objects.values_list("action", "details"), key=lambda act: int(act[1]["version"])
        )
    assert [action for action, _ in acts] == ["policy.changed", "policy.changed", "policy.restored"]
    assert acts[2][1]["restored"] == 1
    assert acts[1][1]["changes"][0].startswith("Removed rule 'no-mail'")


def test_a_keys_policy_is_its_own(owner: Client, friend: Tenant) -> None:
    key, _ = new_key(friend, name="robot")
    owner.post(page_of(friend, key, "edit/"), form(NO_MAIL))
    assert (len(versions(friend)), len(versions(friend, key))) == (0, 1)
    page = text_of(owner.get(page_of(friend)))
    assert "version 1, 1 rule, the rest allowed" in page
    assert page_of(friend, key) in page


def test_a_member_looks_and_changes_nothing(owner: Client, friend: Tenant) -> None:
    owner.post(page_of(friend, page="edit/"), form(NO_MAIL))
    owner.post(page_of(friend, page="edit/"), form(based_on=1))
    member = person_of(friend, "member")
    page = text_of(member.get(page_of(friend)))
    assert "In force: version 2" in page
    assert "Restore version" not in page
    assert "edit/" not in page
    assert member.get(page_of(friend, page="edit/")).status_code == 403
    assert member.post(page_of(friend, page="edit/"), form(based_on=2)).status_code == 403
    assert member.post(page_of(friend, page="restore/"), {"version": 1, "based_on": 2}).status_code == 403
    assert len(versions(friend)) == 2


def test_nobody_comes_to_the_policy_of_another_tenant(
    owner: Client, friend: Tenant, stranger: Tenant, staff: Client
) -> None:
    other = person_of(stranger, "owner")
    key, _ = new_key(friend, name="robot")
    own_key, _ = new_key(stranger, name="own")
    owner.post(page_of(friend, page="edit/"), form(NO_MAIL))
    owner.post(page_of(friend, key, "edit/"), form(NO_MAIL))
    (made,) = versions(friend)
    crossed = f"{POLICIES}of/{stranger.id}/{key.id}/"
    never = f"{POLICIES}of/{stranger.id}/{uuid.uuid4()}/"
    for path in (page_of(friend), page_of(friend, key), crossed, never):
        assert other.get(path).status_code == 404
        assert other.get(f"{path}edit/").status_code == 404
        assert other.post(f"{path}edit/", form(NO_MAIL)).status_code == 404
        assert other.post(f"{path}restore/", {"version": 1, "based_on": 1}).status_code == 404
    assert other.get(f"{POLICIES}{made.id}/change/").status_code == 404
    assert owner.get(f"{POLICIES}{made.id}/change/").headers["Location"] == page_of(friend)
    assert versions(stranger) == []
    assert versions(stranger, own_key) == []
    assert len(versions(friend)) == 1
    for path in (POLICIES, page_of(friend), page_of(friend, page="edit/"), TRY):
        assert staff.get(path).status_code in (302, 403)
        assert Client().get(path).status_code == 302


def test_the_operator_finds_the_policy_of_any_tenant(
    operator: Client, friend: Tenant, stranger: Tenant
) -> None:
    operator.post(page_of(friend, page="edit/"), form(NO_MAIL))
    page = text_of(operator.get(POLICIES))
    assert "version 1, 1 rule, the rest allowed" in page
    assert "Stranger Ltd" in page
    assert "Stranger Ltd" not in text_of(operator.get(f"{POLICIES}?q=friend"))
    assert "In force: version 1" in text_of(operator.get(page_of(friend)))
    assert operator.get(f"{POLICIES}add/").status_code == 403
    (made,) = versions(friend)
    assert operator.post(f"{POLICIES}{made.id}/delete/", {"post": "yes"}).status_code == 403


def test_a_policy_that_cannot_be_read_is_shown_as_such_and_can_be_replaced(
    owner: Client, friend: Tenant
) -> None:
    with tenant_scope(friend.id):
        ToolPolicy.objects.create(tenant=friend, version=1, rules=[{"id": "x", "effect": "maybe"}])
    assert "This version cannot be read" in text_of(owner.get(page_of(friend)))
    assert owner.get(page_of(friend, page="edit/")).status_code == 200


def test_the_page_costs_the_same_queries_for_many_keys_and_versions(owner: Client, friend: Tenant) -> None:
    owner.post(page_of(friend, page="edit/"), form(NO_MAIL))
    new_key(friend, name="one")
    owner.get(page_of(friend))
    with CaptureQueriesContext(connection) as few:
        owner.get(page_of(friend))
    for number in range(5):
        owner.post(page_of(friend, page="edit/"), form(NO_MAIL, based_on=number + 1))
        new_key(friend, name=f"k{number}")
    owner.get(page_of(friend))
    with CaptureQueriesContext(connection) as many:
        owner.get(page_of(friend))
    assert len(many) == len(few)
