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
from tenants.models import ApiKey, Tenant
from tenants.scoping import operator_scope
from tenants.signals import access_changed

Commits = Callable[..., AbstractContextManager[list[Any]]]

KEYS = "/admin/tenants/apikey/"


def issue(operator: Client, tenant: Tenant, dialect: str = "auto") -> str:
    form = {"name": "laptop", "tenant": str(tenant.id), "dialect": dialect, "unserved_tools": "leave_out"}
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


def test_a_key_is_neither_edited_nor_deleted_here(operator: Client, friend: Tenant) -> None:
    issue_key(friend, name="laptop")
    key = only_key()
    assert operator.post(f"{KEYS}{key.id}/change/", {"name": "other", "digest": "00"}).status_code == 403
    assert operator.post(f"{KEYS}{key.id}/delete/", {"post": "yes"}).status_code == 403
    assert only_key().name == "laptop"


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
    assert len(many) == len(few) <= 11


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
