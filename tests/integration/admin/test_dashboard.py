"""The dashboard: an operator sees all tenants or one, a member their own, and nobody anything foreign."""

import time
import uuid
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from responses_api.dispatch import QUEUES
from responses_api.services import health
from tenants.keys import new_key
from tenants.models import Limit, Membership, Tenant
from tenants.rollup import roll_up
from tenants.scoping import operator_scope
from tests.integration.tenants.ledger import spend

DAY = 86_400


@pytest.fixture
def member(friend: Tenant) -> Client:
    """The browser of somebody who may look at the friend's tenant."""
    client, user = Client(), User.objects.create_user("member", email="member@example.com")
    with operator_scope():
        Membership.objects.create(tenant=friend, user=user, role="member")
    client.force_login(user)
    return client


def page(browser: Client, query: str = "") -> str:
    answer = browser.get(f"/admin/{query}")
    assert answer.status_code == 200
    return answer.content.decode()


def test_a_member_sees_the_usage_of_their_tenant_alone(
    member: Client, friend: Tenant, stranger: Tenant
) -> None:
    now = int(time.time())
    for _ in range(2):
        spend(friend, at=now, model="our-model", cost_nanos=1_250_000_000)
        spend(stranger, at=now, model="their-model", cost_nanos=7_770_000_000)
        roll_up()
    shown = page(member, f"?tenant={stranger.id}")
    assert "our-model" in shown
    assert "2.50 USD" in shown
    assert "their-model" not in shown
    assert "15.54" not in shown
    assert stranger.name not in shown
    assert "Ready" not in shown


def test_an_operator_sees_all_tenants_or_the_one_that_is_chosen(
    operator: Client, friend: Tenant, stranger: Tenant
) -> None:
    now = int(time.time())
    spend(friend, at=now, model="our-model")
    spend(stranger, at=now, model="their-model")
    everything = page(operator)
    assert "our-model" in everything
    assert "their-model" in everything
    one = page(operator, f"?tenant={friend.id}")
    assert "our-model" in one
    assert "their-model" not in one


@pytest.mark.parametrize("tenant", ["nonsense", "0b6f6dd0-3a44-4c0e-8f6b-7d3d4ab0a111", ""])
def test_a_tenant_that_is_none_shows_all(operator: Client, friend: Tenant, tenant: str) -> None:
    spend(friend, at=int(time.time()), model="our-model")
    assert "our-model" in page(operator, f"?tenant={tenant}")


@pytest.mark.parametrize(
    ("period", "requests"), [("today", 1), ("7", 2), ("30", 3), ("90", 4), ("nonsense", 2)]
)
def test_the_period_decides_what_counts(member: Client, friend: Tenant, period: str, requests: int) -> None:
    now = int(time.time())
    for days in (0, 6, 29, 89, 90):
        spend(friend, at=now - days * DAY)
    answer = member.get(f"/admin/?period={period}")
    assert answer.context["tiles"][0].figure == str(requests)


def test_keys_are_told_by_their_names(member: Client, friend: Tenant) -> None:
    key, _ = new_key(friend, name="laptop")
    spend(friend, at=int(time.time()), key_id=key.id)
    gone = uuid.uuid4()
    spend(friend, at=int(time.time()), key_id=gone)
    shown = page(member)
    assert "laptop (ak_" in shown
    assert f"deleted: {gone}" in shown


def test_limits_are_shown_with_their_bars(member: Client, friend: Tenant, stranger: Tenant) -> None:
    spend(friend, at=int(time.time()))
    with operator_scope():
        Limit.objects.create(tenant=friend, metric="tokens_per_day", amount=480, set_by="operator")
        Limit.objects.create(tenant=stranger, metric="tokens_per_day", amount=987_654)
    shown = page(member)
    assert "480 tokens per day (UTC), hard, set by the operator" in shown
    assert "120 (25%)" in shown
    assert "987,654" not in shown


def test_the_numbers_are_there_without_scripts(member: Client, friend: Tenant) -> None:
    spend(friend, at=int(time.time()), input_tokens=123_456, duration_ms=2_000, first_event_ms=300)
    shown = page(member)
    assert time.strftime("%Y-%m-%d", time.gmtime()) in shown
    assert "123,456" in shown
    assert "<details open>" in shown


def test_the_operator_sees_how_the_service_is(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(health._CHECKS, "worker", lambda: False)
    shown = page(operator)
    assert "worker: missing" in shown
    assert "Not ready." in shown
    assert all(queue in shown for queue in QUEUES)


def test_a_part_that_is_away_does_not_take_the_page_along(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> bool:
        raise ConnectionError("secret address")

    monkeypatch.setitem(health._CHECKS, "valkey", fail)
    shown = page(operator)
    assert "valkey: failed: ConnectionError" in shown
    assert "secret address" not in shown


def test_the_page_asks_as_often_for_much_as_for_little(
    operator: Client, member: Client, friend: Tenant
) -> None:
    def queries(browser: Client, query: str = "") -> int:
        with CaptureQueriesContext(connection) as captured:
            page(browser, query)
        return len(captured)

    asked: list[Any] = []
    for count in (1, 12):
        for number in range(count):
            key, _ = new_key(friend, name=f"key {count} {number}")
            spend(friend, at=int(time.time()) - number * DAY // 3, key_id=key.id, model=f"model {number}")
            with operator_scope():
                Limit.objects.create(tenant=friend, key=key, metric="tokens_per_day", amount=5)
        asked.append((queries(member), queries(operator), queries(operator, f"?tenant={friend.id}")))
    assert asked[0] == asked[1]
    assert max(asked[1]) <= 40


def ways(browser: Client) -> list[str]:
    groups = browser.get("/admin/").context["sidebar_navigation"]
    return [str(item["title"]) for group in groups for item in group["items"] if item["has_permission"]]


def test_the_ways_lead_everybody_to_what_is_theirs_and_no_further(member: Client, operator: Client) -> None:
    both = ["Dashboard", "Responses", "API keys", "Limits", "Tool policies", "Members", "Invitations"]
    assert [way for way in ways(member) if way in (*both, "Tenant settings")] == [*both, "Tenant settings"]
    mine = ["Tenants", "Backends", "Routes", "Conformance", "Operators"]
    assert not {*mine, "Playground"} & set(ways(member))
    assert [way for way in ways(operator) if way in both] == both
    assert ways(operator)[-5:] == mine


def test_nobody_else_comes_in(staff: Client, friend: Tenant) -> None:
    assert staff.get("/admin/").status_code == 302
    assert Client().get("/admin/").status_code == 302
