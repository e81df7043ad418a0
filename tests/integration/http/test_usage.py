"""`/v1/usage` and `/v1/limits`: a key's own tenant, and nobody else's."""

import time
import uuid
from typing import Any

import pytest

from tenants.keys import forget, issue_key, new_key
from tenants.models import ApiKey, Limit, Tenant
from tenants.rollup import roll_up
from tenants.scoping import operator_scope
from tests.integration.fixtures import client
from tests.integration.tenants.ledger import NOON, spend
from tests.support.asgi import AsgiServer
from tests.support.client import Client, Json

DAY = 86_400
PERIOD = "start=2026-11-30&end=2026-12-01"
MIDNIGHT = NOON - NOON % DAY


@pytest.fixture
def caller(server: AsgiServer, friend_tenant: Tenant) -> Client:
    """A client of the friend's; no worker and no backend is needed."""
    return client(server, issue_key(friend_tenant, name="test"))


def usage(caller: Client, query: str = PERIOD) -> Json:
    answer = caller.get(f"/usage?{query}")
    assert answer.status == 200, answer.json()
    found: Json = answer.json()
    return found


def refused(caller: Client, query: str) -> Json:
    answer = caller.get(f"/usage?{query}")
    assert answer.status == 400
    return answer.error


def limit_of(tenant: Tenant, **columns: Any) -> Limit:
    with operator_scope():
        limit: Limit = Limit.objects.create(tenant=tenant, **columns)
    forget()
    return limit


def test_usage_is_told_by_the_day_unless_asked_otherwise(caller: Client, friend_tenant: Tenant) -> None:
    spend(friend_tenant, cached_tokens=3, reasoning_tokens=4, cost_nanos=1_500_000_001)
    spend(friend_tenant, status="failed", cost_nanos=0)
    for _ in range(2):
        assert usage(caller) == {
            "object": "usage",
            "start": MIDNIGHT,
            "end": MIDNIGHT + DAY,
            "group_by": ["day"],
            "currency": "USD",
            "data": [
                {
                    "object": "usage.bucket",
                    "start": MIDNIGHT,
                    "end": MIDNIGHT + DAY,
                    "model": None,
                    "key": None,
                    "requests": 2,
                    "errors": 1,
                    "input_tokens": 200,
                    "cached_tokens": 3,
                    "output_tokens": 40,
                    "reasoning_tokens": 4,
                    "cost": "1.500000001",
                    "cost_nanos": 1_500_000_001,
                }
            ],
            "has_more": False,
            "next_page": None,
        }
        roll_up()


def test_a_stranger_sees_nothing(caller: Client, stranger_tenant: Tenant) -> None:
    spend(stranger_tenant)
    assert usage(caller)["data"] == []
    assert usage(caller, f"{PERIOD}&key={uuid.UUID(int=1)}")["data"] == []
    assert usage(caller, f"{PERIOD}&group_by=model")["data"] == []


def test_groups_and_filters(caller: Client, friend_tenant: Tenant) -> None:
    key = uuid.uuid4()
    spend(friend_tenant, model="a")
    spend(friend_tenant, model="b", key_id=key, at=NOON + 3600)
    by_hour = usage(caller, f"{PERIOD}&group_by=hour,model&group_by[]=key")
    assert by_hour["group_by"] == ["hour", "model", "key"]
    assert [(bucket["start"], bucket["model"]) for bucket in by_hour["data"]] == [
        (NOON, "a"),
        (NOON + 3600, "b"),
    ]
    assert by_hour["data"][1]["key"] == str(key)
    assert [one["model"] for one in usage(caller, f"{PERIOD}&group_by=model&key={key}")["data"]] == ["b"]
    assert usage(caller, f"{PERIOD}&group_by=model&model=a")["data"][0]["end"] == MIDNIGHT + DAY


def test_pages_follow_each_other(caller: Client, friend_tenant: Tenant) -> None:
    for model in ("a", "b", "c"):
        spend(friend_tenant, model=model)
    query, told = f"{PERIOD}&group_by=day,model&limit=2", []
    page = usage(caller, query)
    while True:
        told += [bucket["model"] for bucket in page["data"]]
        if not page["has_more"]:
            break
        page = usage(caller, f"{query}&page={page['next_page']}")
    assert told == ["a", "b", "c"]
    assert page["next_page"] is None


def test_the_last_month_up_to_now_is_meant_without_a_period(caller: Client, friend_tenant: Tenant) -> None:
    now = int(time.time())
    spend(friend_tenant, at=now)
    spend(friend_tenant, at=now - 29 * DAY)
    spend(friend_tenant, at=now - 31 * DAY)
    assert [bucket["requests"] for bucket in usage(caller, "")["data"]] == [1, 1]


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("start=yesterday", "start"),
        ("start=1796040000000", "start"),
        ("end=2026-13-01", "end"),
        ("start=2026-12-01&end=2026-11-01", "end"),
        ("start=2020-01-01&end=2026-01-01", "start"),
        ("start=2026-01-01&end=2026-03-01&group_by=hour", "start"),
        ("group_by=week", "group_by"),
        ("group_by=day,hour", "group_by"),
        ("key=laptop", "key"),
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("page=nonsense", "page"),
        ("page=WzFd&group_by=model", "page"),
        ("page=W10&group_by=day", "page"),
        ("bucket_width=1d", "bucket_width"),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_name(caller: Client, query: str, param: str) -> None:
    assert refused(caller, query)["param"] == param


def test_limits_are_told_with_where_they_stand(caller: Client, friend_tenant: Tenant) -> None:
    now = int(time.time())
    spend(friend_tenant, at=now, cost_nanos=600)
    limit = limit_of(friend_tenant, metric="cost_per_day", amount=1000, set_by="operator", is_hard=False)
    answer = caller.get("/limits").json()
    assert (answer["object"], answer["currency"]) == ("list", "USD")
    assert answer["data"] == [
        {
            "object": "limit",
            "id": str(limit.id),
            "scope": "tenant",
            "model": None,
            "metric": "cost_per_day",
            "kind": "soft",
            "set_by": "operator",
            "amount": 1000,
            "used": 600,
            "reserved": 0,
            "remaining": 400,
            "resets_at": now - now % DAY + DAY,
        }
    ]


def test_limits_of_other_keys_and_tenants_are_not_told(
    caller: Client, friend_tenant: Tenant, stranger_tenant: Tenant
) -> None:
    other, _ = new_key(friend_tenant, name="other")
    limit_of(friend_tenant, metric="tokens_per_day", amount=5, key=other)
    limit_of(stranger_tenant, metric="tokens_per_day", amount=6)
    assert caller.get("/limits").json()["data"] == []
    with operator_scope():
        own = ApiKey.objects.get(name="test")
    limit_of(friend_tenant, metric="tokens_per_day", amount=7, key=own, model="m")
    (told,) = caller.get("/limits").json()["data"]
    assert (told["scope"], told["model"], told["amount"], told["remaining"]) == ("key", "m", 7, 7)


@pytest.mark.parametrize("path", ["/usage", "/limits"])
def test_a_key_without_the_scope_is_refused(caller: Client, path: str) -> None:
    with operator_scope():
        ApiKey.objects.update(scopes=["responses:read"])
    forget()
    answer = caller.get(path)
    assert answer.status == 403
    assert "usage:read" in answer.error["message"]
