"""Keys in the admin: issued and shown once, revoked, never told again."""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tenants.keys import find_principal, forget, issue_key
from tenants.models import ApiKey, AuditEvent, Tenant
from tenants.models.key import all_scopes
from tenants.scoping import operator_scope
from tenants.signals import access_changed

Commits = Callable[..., AbstractContextManager[list[Any]]]

KEYS = "/admin/tenants/apikey/"


def issue(operator: Client, tenant: Tenant, dialect: str = "auto") -> str:
    form = {
        "name": "laptop",
        "tenant": str(tenant.id),
        "scopes": all_scopes(),
        "dialect": dialect,
        "unserved_tools": "leave_out",
    }
    answered = operator.post(f"{KEYS}add/", form)
    assert answered.status_code == 200
    assert "no-store" in answered.headers["Cache-Control"]
    found = re.findall(r">(ak_[\w-]{43})<", answered.content.decode())
    assert len(found) == 1
    return str(found[0])


def only_key() -> ApiKey:
    with operator_scope():
        key: ApiKey = ApiKey.objects.get()
    return key


def test_a_key_issued_here_works(operator: Client, friend: Tenant, stranger: Tenant) -> None:
    principal = find_principal(issue(operator, friend))
    assert principal is not None
    assert principal.tenant_id == friend.id
    assert principal.key_id == only_key().id


def test_a_key_is_shown_once_and_kept_nowhere(operator: Client, friend: Tenant) -> None:
    text = issue(operator, friend)
    key = only_key()
    told = [operator.get(path).content.decode() for path in (KEYS, f"{KEYS}{key.id}/change/", "/admin/")]
    told.append(operator.get(f"{KEYS}{key.id}/history/").content.decode())
    told.extend(f"{entry.object_repr} {entry.change_message}" for entry in LogEntry.objects.all())
    told.extend(cookie.value for cookie in operator.cookies.values())
    told.append(str(dict(operator.session)))
    assert not [one for one in told if text in one]
    assert bytes(key.digest).hex() not in "".join(told)
    assert f"{text[:7]}…{text[-4:]}" in told[0]


def test_a_revoked_key_is_refused(operator: Client, friend: Tenant) -> None:
    text = issue(operator, friend)
    form = {"action": "revoke_selected", "_selected_action": str(only_key().id)}
    asked = operator.post(KEYS, form)
    assert asked.status_code == 200
    assert find_principal(text) is not None
    assert operator.post(KEYS, {**form, "confirmed": "yes"}).status_code == 302
    changed = {"name": "back", "scopes": all_scopes(), "dialect": "auto", "unserved_tools": "auto"}
    assert operator.post(f"{KEYS}{only_key().id}/change/", changed).status_code == 403
    forget()
    assert find_principal(text) is None
    assert "Revoke this key…" not in operator.get(f"{KEYS}{only_key().id}/change/").content.decode()
    assert LogEntry.objects.filter(change_message="Revoked.").count() == 1


def test_a_revoke_is_announced_to_every_process(
    operator: Client, friend: Tenant, django_capture_on_commit_callbacks: Commits
) -> None:
    heard: list[object] = []

    def hear(**told: object) -> None:
        heard.append(told)

    issue_key(friend, name="old")
    form = {"action": "revoke_selected", "_selected_action": str(only_key().id), "confirmed": "yes"}
    access_changed.connect(hear)
    try:
        with django_capture_on_commit_callbacks(execute=True):
            operator.post(KEYS, form)
    finally:
        access_changed.disconnect(hear)
    assert len(heard) == 1


def test_a_key_gets_another_name_and_other_rules_but_never_another_text(
    operator: Client, friend: Tenant, stranger: Tenant
) -> None:
    text = issue_key(friend, name="laptop")
    key = only_key()
    form = {
        "name": "other",
        "tenant": str(stranger.id),
        "digest": "00",
        "last_four": "xxxx",
        "purpose": "playground",
        "scopes": ["models:read"],
        "allowed_models": "a*\nb",
        "allowed_addresses": "192.0.2.0/24, 2001:db8::7",
        "dialect": "auto",
        "unserved_tools": "auto",
    }
    assert operator.post(f"{KEYS}{key.id}/change/", form).status_code == 302
    changed = only_key()
    assert (changed.name, changed.tenant_id, changed.purpose) == ("other", friend.id, "app")
    assert (bytes(changed.digest), changed.last_four) == (bytes(key.digest), key.last_four)
    principal = find_principal(text)
    assert principal is not None
    assert principal.scopes == {"models:read"}
    assert principal.allowed_models == ("a*", "b")
    assert principal.allowed_addresses == ("192.0.2.0/24", "2001:db8::7")
    with operator_scope():
        event = AuditEvent.objects.get(action="key.changed")
    assert event.actor == "operator"
    assert event.details["changed"]["allowed_models"] == [[], ["a*", "b"]]
    assert "dialect" not in event.details["changed"]


def test_a_key_is_not_deleted_here(operator: Client, friend: Tenant) -> None:
    issue_key(friend, name="laptop")
    assert operator.post(f"{KEYS}{only_key().id}/delete/", {"post": "yes"}).status_code == 403
    assert only_key().name == "laptop"


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("allowed_addresses", "192.0.2.7/24", "the network is 192.0.2.0/24"),
        ("allowed_addresses", "here", "neither an address"),
        ("allowed_models", "x" * 201, "at most 200 characters"),
        ("scopes", "admin", "admin is not one of the available choices"),
        ("expires_at_0", "2020-01-01", "must be in the future"),
    ],
)
def test_a_rule_that_no_key_can_have_is_named(
    field: str, value: str, words: str, operator: Client, friend: Tenant
) -> None:
    form = {
        "name": "laptop",
        "tenant": str(friend.id),
        "scopes": all_scopes(),
        "expires_at_1": "00:00:00" if field == "expires_at_0" else "",
        "dialect": "auto",
        "unserved_tools": "auto",
        field: value,
    }
    assert words in operator.post(f"{KEYS}add/", form).content.decode()
    with operator_scope():
        assert not ApiKey.objects.exists()


def test_a_key_is_rotated_with_grace_and_shown_once(operator: Client, friend: Tenant) -> None:
    old = issue_key(friend, name="laptop")
    key = only_key()
    page = f"{KEYS}{key.id}/rotate/"
    assert "a week" in operator.get(page).content.decode()
    answered = operator.post(page, {"hours": "24"})
    assert "no-store" in answered.headers["Cache-Control"]
    (text,) = re.findall(r">(ak_[\w-]{43})<", answered.content.decode())
    assert find_principal(text) is not None
    assert find_principal(old) is not None
    told = operator.get(f"{KEYS}{key.id}/change/").content.decode()
    assert "Replaced by" in told
    assert "working until 20" in told
    assert text not in told
    assert operator.post(page, {"hours": "24"}).status_code == 302
    assert "was replaced before" in operator.get(KEYS).content.decode()
    assert "not one of the available choices" in operator.post(page, {"hours": "9999"}).content.decode()


def test_keys_of_the_playground_are_not_among_the_others(operator: Client, friend: Tenant) -> None:
    issue_key(friend, name="of the playground", purpose="playground")
    assert "of the playground" not in operator.get(KEYS).content.decode()
    page = f"{KEYS}{only_key().id}/change/"
    shown = operator.get(page).content.decode()
    assert "of the playground" in shown
    assert "Rotate this key" not in shown
    assert "Revoke this key" not in shown
    operator.post(
        page, {"name": "kept", "scopes": ["models:read"], "dialect": "auto", "unserved_tools": "auto"}
    )
    assert (only_key().name, only_key().scopes) == ("of the playground", all_scopes())
    assert operator.post(f"{KEYS}{only_key().id}/rotate/", {"hours": "24"}).status_code == 404


def test_the_list_costs_the_same_queries_for_many_keys(
    operator: Client, friend: Tenant, stranger: Tenant
) -> None:
    issue_key(friend, name="one")
    with CaptureQueriesContext(connection) as few:
        operator.get(KEYS)
    for number in range(5):
        issue_key(friend, name=f"key {number}")
        issue_key(stranger, name=f"key {number}")
    with CaptureQueriesContext(connection) as many:
        operator.get(KEYS)
    assert len(many) == len(few) <= 15


@pytest.mark.parametrize(
    ("state", "shown", "hidden"), [("working", "fresh", "stale"), ("revoked", "stale", "fresh")]
)
def test_the_list_can_be_narrowed_to_a_state(
    operator: Client, friend: Tenant, state: str, shown: str, hidden: str
) -> None:
    issue_key(friend, name="stale")
    operator.post(
        KEYS, {"action": "revoke_selected", "_selected_action": str(only_key().id), "confirmed": "yes"}
    )
    operator.get(KEYS)  # takes the message, which names the key
    issue_key(friend, name="fresh")
    page = operator.get(f"{KEYS}?state={state}").content.decode()
    assert shown in page
    assert hidden not in page


def test_a_key_shows_whether_it_works(operator: Client, friend: Tenant) -> None:
    issue_key(friend, name="laptop")
    key = only_key()
    page = f"{KEYS}{key.id}/change/"
    assert "revoked 20" not in operator.get(page).content.decode()
    operator.post(KEYS, {"action": "revoke_selected", "_selected_action": str(key.id), "confirmed": "yes"})
    assert "revoked 20" in operator.get(page).content.decode()
    assert "revoked 20" in operator.get(KEYS).content.decode()


def test_a_key_is_issued_with_what_was_chosen(operator: Client, friend: Tenant) -> None:
    principal = find_principal(issue(operator, friend, "openai"))
    assert principal is not None
    assert (principal.dialect, principal.unserved_tools) == ("openai", "leave_out")
    answered = operator.post(
        f"{KEYS}add/", {"name": "x", "tenant": str(friend.id), "dialect": "klingon", "unserved_tools": "auto"}
    )
    assert "klingon is not one of the available choices" in answered.content.decode()
