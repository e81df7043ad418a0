"""Limits in the admin: a tenant sets its own, sees the operator's, and reaches nobody else's."""

import time
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tenants.keys import new_key
from tenants.models import ApiKey, AuditEvent, Limit, Membership, Tenant
from tenants.scoping import operator_scope
from tenants.signals import access_changed
from tests.integration.tenants.ledger import spend

Commits = Callable[..., AbstractContextManager[list[Any]]]

LIMITS = "/admin/tenants/limit/"
FORM = {"metric": "requests_per_minute", "amount": "60", "is_hard": "on", "key": "", "model": ""}


def member(tenant: Tenant, role: str) -> Client:
    client, user = (
        Client(),
        User.objects.create_user(f"{role}-{uuid.uuid4().hex[:6]}", email=f"{role}@example.com"),
    )
    with operator_scope():
        Membership.objects.create(tenant=tenant, user=user, role=role)
    client.force_login(user)
    return client


def key_of(tenant: Tenant, name: str = "laptop") -> ApiKey:
    return new_key(tenant, name=name)[0]


def limits() -> list[Limit]:
    with operator_scope():
        return list(Limit.objects.order_by("created_at"))


def set_limit(tenant: Tenant, **columns: Any) -> Limit:
    values = {"metric": "tokens_per_day", "amount": 1000, "set_by": "tenant", **columns}
    with operator_scope():
        limit: Limit = Limit.objects.create(tenant=tenant, **values)
    return limit


@pytest.mark.parametrize("role", ["owner", "admin"])
def test_owners_and_admins_set_limits_of_their_tenant(
    friend: Tenant, role: str, django_capture_on_commit_callbacks: Commits
) -> None:
    told: list[Any] = []
    access_changed.connect(lambda **_: told.append(1), weak=False, dispatch_uid="test_limits")
    try:
        with django_capture_on_commit_callbacks(execute=True):
            answer = member(friend, role).post(f"{LIMITS}add/", FORM)
    finally:
        access_changed.disconnect(dispatch_uid="test_limits")
    assert answer.status_code == 302
    (limit,) = limits()
    assert (limit.tenant_id, limit.amount, limit.set_by, limit.is_hard) == (friend.id, 60, "tenant", True)
    assert told
    with operator_scope():
        event = AuditEvent.objects.get(action="limit.set")
    assert event.tenant_id == friend.id
    assert event.actor == f"{role}@example.com"
    assert event.details["amount"] == 60


def test_members_look_and_change_nothing(friend: Tenant) -> None:
    limit, browser = set_limit(friend), member(friend, "member")
    assert "1,000 tokens per day" in browser.get(LIMITS).content.decode()
    assert browser.get(f"{LIMITS}{limit.pk}/change/").status_code == 200
    assert browser.post(f"{LIMITS}add/", FORM).status_code == 403
    assert browser.post(f"{LIMITS}{limit.pk}/change/", {"amount": "5"}).status_code == 403
    assert browser.post(f"{LIMITS}{limit.pk}/delete/", {"post": "yes"}).status_code == 403
    assert [limit.amount for limit in limits()] == [1000]


def test_what_the_operator_set_a_tenant_sees_and_cannot_touch(friend: Tenant) -> None:
    limit, browser = set_limit(friend, set_by="operator", metric="cost_per_day", amount=1_500_000_000), None
    browser = member(friend, "owner")
    page = browser.get(f"{LIMITS}{limit.pk}/change/").content.decode()
    assert "1.50 USD cost per day" in page
    assert 'name="amount"' not in page
    assert browser.post(f"{LIMITS}{limit.pk}/change/", {"amount": "5"}).status_code == 403
    assert browser.post(f"{LIMITS}{limit.pk}/delete/", {"post": "yes"}).status_code == 403
    selected = {"action": "delete_selected", "_selected_action": str(limit.pk), "post": "yes"}
    browser.post(LIMITS, selected)
    assert [limit.amount for limit in limits()] == [1_500_000_000]


def test_a_limit_of_the_same_place_may_stand_beside_the_operators_but_not_twice(friend: Tenant) -> None:
    set_limit(friend, set_by="operator", metric="requests_per_minute", amount=90)
    browser = member(friend, "owner")
    assert browser.post(f"{LIMITS}add/", FORM).status_code == 302
    again = browser.post(f"{LIMITS}add/", FORM)
    assert again.status_code == 200
    assert "There is such a limit already" in again.content.decode()
    assert len(limits()) == 2


def test_a_key_of_another_tenant_is_refused(friend: Tenant, stranger: Tenant) -> None:
    own, foreign = key_of(friend, "mine"), key_of(stranger, "theirs")
    browser = member(friend, "owner")
    form = browser.get(f"{LIMITS}add/").content.decode()
    assert str(own.id) in form
    assert str(foreign.id) not in form
    refused = browser.post(f"{LIMITS}add/", {**FORM, "key": str(foreign.id)})
    assert "Select a valid choice" in refused.content.decode()
    assert limits() == []
    assert browser.post(f"{LIMITS}add/", {**FORM, "key": str(own.id)}).status_code == 302


def test_an_operator_cannot_put_a_key_beside_another_tenant(
    operator: Client, friend: Tenant, stranger: Tenant
) -> None:
    foreign = key_of(stranger)
    refused = operator.post(
        f"{LIMITS}add/", {**FORM, "tenant": str(friend.id), "key": str(foreign.id)}
    ).content.decode()
    assert "belongs to another tenant" in refused
    assert limits() == []


def test_what_an_operator_sets_is_the_operators(operator: Client, friend: Tenant) -> None:
    assert operator.post(f"{LIMITS}add/", {**FORM, "tenant": str(friend.id)}).status_code == 302
    assert [(limit.tenant_id, limit.set_by) for limit in limits()] == [(friend.id, "operator")]


def test_a_tenant_that_is_named_in_the_form_of_somebody_else_does_not_count(
    friend: Tenant, stranger: Tenant
) -> None:
    crafted = {**FORM, "tenant": str(stranger.id), "set_by": "operator"}
    member(friend, "owner").post(f"{LIMITS}add/", crafted)
    assert [(limit.tenant_id, limit.set_by) for limit in limits()] == [(friend.id, "tenant")]


def test_a_limit_of_another_tenant_is_not_there(friend: Tenant, stranger: Tenant) -> None:
    limit, browser = set_limit(stranger, model="secret-model"), member(friend, "owner")
    assert "secret-model" not in browser.get(LIMITS).content.decode()
    for view in ("change", "delete", "history"):
        answer = browser.post(f"{LIMITS}{limit.pk}/{view}/", {"amount": "1", "post": "yes"})
        assert answer.status_code in (302, 404, 405)
    selected = {"action": "delete_selected", "_selected_action": str(limit.pk), "post": "yes"}
    browser.post(LIMITS, selected)
    assert [limit.amount for limit in limits()] == [1000]


@pytest.mark.parametrize(
    ("metric", "written", "amount"),
    [
        ("cost_per_day", "12.5", 12_500_000_000),
        ("cost_per_month", "0.000000001", 1),
        ("tokens_per_day", "0", 0),
    ],
)
def test_amounts_are_read_by_what_they_count(friend: Tenant, metric: str, written: str, amount: int) -> None:
    browser = member(friend, "owner")
    assert browser.post(f"{LIMITS}add/", {**FORM, "metric": metric, "amount": written}).status_code == 302
    (limit,) = limits()
    assert limit.amount == amount
    shown = browser.get(f"{LIMITS}{limit.pk}/change/").content.decode()
    assert (
        browser.post(f"{LIMITS}{limit.pk}/change/", {"amount": written, "is_hard": "on"}).status_code == 302
    )
    assert limits()[0].amount == amount
    assert f'value="{written}"' in shown or metric == "cost_per_day"


@pytest.mark.parametrize(
    ("metric", "written", "said"),
    [
        ("tokens_per_day", "1.5", "whole number"),
        ("cost_per_day", "0.0000000001", "9 places"),
        ("cost_per_day", "-1", "zero or above"),
        ("cost_per_day", "NaN", "zero or above"),
        ("tokens_per_day", "many", "zero or above"),
        ("tokens_per_day", "1e99", "at most"),
    ],
)
def test_amounts_that_make_no_sense_are_refused(friend: Tenant, metric: str, written: str, said: str) -> None:
    answer = member(friend, "owner").post(f"{LIMITS}add/", {**FORM, "metric": metric, "amount": written})
    assert said in answer.content.decode()
    assert limits() == []


def test_a_change_and_its_end_are_told_and_written_down(friend: Tenant) -> None:
    limit, browser = set_limit(friend), member(friend, "admin")
    assert browser.post(f"{LIMITS}{limit.pk}/change/", {"amount": "2000"}).status_code == 302
    assert browser.post(f"{LIMITS}{limit.pk}/delete/", {"post": "yes"}).status_code == 302
    assert limits() == []
    with operator_scope():
        changed = AuditEvent.objects.get(action="limit.changed")
        lifted = AuditEvent.objects.get(action="limit.lifted")
    assert changed.details["before"] == {"amount": 1000, "is_hard": True}
    assert (changed.details["amount"], changed.details["is_hard"]) == (2000, False)
    assert lifted.details["limit"] == str(limit.pk)


def test_the_list_tells_the_use_of_now(friend: Tenant, stranger: Tenant) -> None:
    now = int(time.time())
    set_limit(friend, amount=480)
    spend(friend, at=now)
    spend(friend, at=now, model="other")
    spend(stranger, at=now)
    assert "240 (50%)" in member(friend, "member").get(LIMITS).content.decode()


def test_the_list_asks_as_often_for_many_limits_as_for_few(friend: Tenant) -> None:
    browser = member(friend, "owner")
    keys = [key_of(friend, f"key {number}") for number in range(12)]
    set_limit(friend, key=keys[0])
    with CaptureQueriesContext(
        connection,
    ) as few:
        browser.get(LIMITS)
    for key in keys[1:]:
        set_limit(friend, key=key)
    with CaptureQueriesContext(connection) as many:
        page = browser.get(LIMITS).content.decode()
    assert page.count("tokens per day") >= 12
    assert len(many) == len(few)
