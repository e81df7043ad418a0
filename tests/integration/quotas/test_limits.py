"""Limits, from outside: what is refused and how, what is held while a response runs, what stays when it has ended."""

import time
from typing import Any

import pytest
from django.core import mail

from responses_api.models import Backend, Response, Route
from responses_api.services import routing
from tenants.models import AuditEvent, Tenant
from tenants.scoping import operator_scope
from tenants.windows import window_of
from tests.integration.quotas.conftest import (
    VALKEY,
    SetLimit,
    open_reservations,
    principal_of,
    rows,
    standings,
)
from tests.support.chat import chat_stream
from tests.support.client import Client, wait_until
from tests.support.forms import upload
from tests.support.upstream import ScriptedUpstream

BEGUN = chat_stream("Hel", "lo there", finish=None, usage=None, done=False)
REFUSALS = [
    ("requests_per_minute", "rate_limit_exceeded", "0 requests per minute of the tenant"),
    ("tokens_per_minute", "rate_limit_exceeded", "0 tokens per minute of the tenant"),
    ("tokens_per_day", "quota_exceeded", "0 tokens per day of the tenant"),
    ("tokens_per_month", "quota_exceeded", "0 tokens per month of the tenant"),
    ("cost_per_day", "quota_exceeded", "0.00 USD per day of the tenant"),
    ("cost_per_month", "quota_exceeded", "0.00 USD per month of the tenant"),
    ("concurrent_responses", "concurrency_exceeded", "0 responses at the same time of the tenant"),
]


@pytest.mark.parametrize(("metric", "code", "named"), REFUSALS)
@pytest.mark.parametrize("store", [True, False])
def test_a_limit_without_room_refuses_by_its_name_and_leaves_no_trace(
    metric: str,
    code: str,
    named: str,
    store: bool,
    friend: Client,
    stranger: Client,
    friend_tenant: Tenant,
    set_limit: SetLimit,
    upstream: ScriptedUpstream,
) -> None:
    set_limit(metric, 0)
    asked_at = time.time()
    answer = friend.create(input="Hello", store=store)
    answered_at = time.time()
    assert (answer.status, answer.error["type"], answer.error["code"]) == (429, "too_many_requests", code)
    assert f"The limit of {named} has no room" in answer.error["message"]
    wait = int(answer.headers["retry-after"])
    if metric == "concurrent_responses":
        assert wait == 1
    else:
        ends = {span[1] for moment in (asked_at, answered_at) if (span := window_of(metric, int(moment)))}
        assert any(end - answered_at - 1 <= wait <= end - asked_at + 1 for end in ends) or wait == 1
    assert (upstream.requests(), rows(), open_reservations(friend_tenant.id)) == ([], [], 0)
    with operator_scope():
        assert not Response.objects.exists()
    assert standings(friend_tenant)[metric].used == 0
    assert stranger.create(input="Hello", store=store).status == 200


def test_the_last_request_with_room_is_served_and_the_next_is_not(
    friend: Client, friend_tenant: Tenant, set_limit: SetLimit
) -> None:
    set_limit("requests_per_minute", 2)
    wait_for_a_fresh_minute()
    answers = [friend.create(input="Hello") for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 429]
    left = [answer.headers["x-ratelimit-remaining-requests"] for answer in answers]
    assert left == ["1", "0", "0"]
    assert {answer.headers["x-ratelimit-limit-requests"] for answer in answers} == {"2"}
    assert 0 <= int(answers[0].headers["x-ratelimit-reset-requests"].removesuffix("s")) <= 60
    assert len(rows()) == 2


def test_a_stream_tells_where_its_limits_stand(friend: Client, set_limit: SetLimit) -> None:
    set_limit("tokens_per_minute", 100_000)
    with friend.stream(input="Hello") as exchange:
        exchange.read_all()
    assert exchange.headers["x-ratelimit-limit-tokens"] == "100000"
    assert 0 < int(exchange.headers["x-ratelimit-remaining-tokens"]) < 100_000
    assert "x-ratelimit-limit-requests" not in exchange.headers


def test_without_limits_nothing_is_told_and_nothing_is_kept(friend: Client, friend_tenant: Tenant) -> None:
    answer = friend.create(input="Hello")
    assert not [name for name in answer.headers if name.startswith("x-ratelimit")]
    assert VALKEY.keys(f"*{friend_tenant.id}*") == []


@pytest.mark.parametrize("store", [True, False])
def test_what_is_reserved_becomes_what_was_used(
    store: bool, friend: Client, friend_tenant: Tenant, set_limit: SetLimit, upstream: ScriptedUpstream
) -> None:
    for metric in ("tokens_per_minute", "tokens_per_day", "tokens_per_month"):
        set_limit(metric, 1_000_000)
    for metric in ("cost_per_day", "cost_per_month"):
        set_limit(metric, 10**12)
    set_limit("concurrent_responses", 5)
    upstream.reply(body=BEGUN, pause_at=len(BEGUN), end="hang")
    exchange = friend.stream(input="Hello", max_output_tokens=100, store=store)
    exchange.read_event("response.output_text.delta")
    held = standings(friend_tenant)
    assert (held["concurrent_responses"].reserved, held["tokens_per_day"].used) == (1, 0)
    assert 100 < held["tokens_per_day"].reserved < 500
    assert held["cost_per_day"].reserved > 100 * 2000
    exchange.close()
    wait_until(lambda: not open_reservations(friend_tenant.id), timeout=10, what="the end")
    upstream.reply(body=chat_stream("Hi", usage=(1000, 50)))
    assert friend.create(input="Hello", store=store).status == 200
    ended, (left, answered) = standings(friend_tenant), rows()
    tokens = left["input_tokens"] + left["output_tokens"] + 1050
    assert (left["status"], answered["cost_nanos"]) == ("cancelled", 1_100_000)
    for metric in ("tokens_per_minute", "tokens_per_day", "tokens_per_month"):
        assert (ended[metric].used, ended[metric].reserved) == (tokens, 0)
    assert ended["cost_per_month"].used == left["cost_nanos"] + 1_100_000
    assert (ended["concurrent_responses"].used, ended["concurrent_responses"].reserved) == (0, 0)


def test_a_running_response_takes_its_place_until_it_has_ended(
    friend: Client, set_limit: SetLimit, upstream: ScriptedUpstream
) -> None:
    set_limit("concurrent_responses", 1)
    upstream.reply(body=BEGUN, end="hang")
    with friend.stream(input="Hello") as running:
        running.read_event("response.output_text.delta")
        refused = friend.create(input="Hello")
        assert (refused.status, refused.headers["retry-after"]) == (429, "1")
        waiting = friend.create(input="Hello", background=True)
        assert waiting.status == 429
    wait_until(lambda: friend.create(input="Hello").status == 200, timeout=10, what="room")


def test_an_answer_whose_length_is_left_open_is_cut_where_its_quota_ends(
    friend: Client, set_limit: SetLimit, upstream: ScriptedUpstream
) -> None:
    set_limit("tokens_per_day", 4_000)
    upstream.reply(body=chat_stream("Hi", finish="length"))
    response = friend.create(input="Hello").json()
    assert upstream.requests()[-1].body["max_tokens"] == 1_000
    assert (response["status"], response["max_output_tokens"]) == ("incomplete", None)
    assert response["incomplete_details"] == {"reason": "max_output_tokens"}
    upstream.reply(body=chat_stream("Hi"))
    assert friend.create(input="Hello", max_output_tokens=50).status == 200
    assert upstream.requests()[-1].body["max_tokens"] == 50


def test_limits_of_a_key_and_of_a_model_hold_for_these_alone(
    friend: Client, friend_tenant: Tenant, set_limit: SetLimit, backend: Backend
) -> None:
    Route.objects.create(model="other-model", backend=backend)
    routing.read_models()
    set_limit("requests_per_minute", 0, model="other-model")
    assert friend.create(input="Hello").status == 200
    refused = friend.create(input="Hello", model="other-model")
    assert "of the tenant, for the model 'other-model' has no room" in refused.error["message"]
    key_id = principal_of(friend_tenant).key_id
    set_limit("requests_per_minute", 0, key_id=key_id)
    assert "of the key has no room" in friend.create(input="Hello").error["message"]


def test_a_limit_set_later_knows_what_was_used_before(
    friend: Client, friend_tenant: Tenant, set_limit: SetLimit, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_stream("Hi", usage=(1000, 50)))
    assert friend.create(input="Hello").status == 200
    set_limit("tokens_per_month", 1_060)
    assert standings(friend_tenant)["tokens_per_month"].used == 1_050
    refused = friend.create(input="Hello", max_output_tokens=16)
    assert "1050 used or reserved" in refused.error["message"]


def test_a_lost_valkey_is_counted_anew(
    friend: Client, friend_tenant: Tenant, set_limit: SetLimit, upstream: ScriptedUpstream
) -> None:
    set_limit("tokens_per_day", 100_000)
    set_limit("concurrent_responses", 2)
    upstream.reply(body=chat_stream("Hi", usage=(1000, 50)))
    assert friend.create(input="Hello", max_output_tokens=16).status == 200
    BODY = chat_stream("first", " second", usage=(10, 2))
    upstream.reply(body=BODY, pause_at=BODY.index(b" second") - 40)
    waiting = friend.create(input="Hello", max_output_tokens=16, background=True).json()
    request = upstream.wait_request(count=2)
    request.wait_paused()
    before = standings(friend_tenant)
    VALKEY.delete(*VALKEY.keys(f"antiphon:quota:*{friend_tenant.id}*"))
    after = standings(friend_tenant)
    assert {metric: (held.used, held.reserved) for metric, held in after.items()} == {
        metric: (held.used, held.reserved) for metric, held in before.items()
    }
    assert after["concurrent_responses"].reserved == 1
    request.resume()
    wait_until(lambda: len(rows()) == 2, timeout=10, what=f"the end of {waiting['id']}")
    wait_until(lambda: not open_reservations(friend_tenant.id), timeout=10, what="its settling")
    assert standings(friend_tenant)["tokens_per_day"].used == 1_062


def test_a_soft_limit_lets_pass_and_is_told_once(
    friend: Client, friend_tenant: Tenant, set_limit: SetLimit
) -> None:
    set_limit("requests_per_minute", 1, is_hard=False)
    wait_for_a_fresh_minute()
    assert [friend.create(input="Hello").status for _ in range(3)] == [200] * 3

    def told() -> list[Any]:
        with operator_scope():
            return list(AuditEvent.objects.filter(action="limit.soft_reached"))

    (event,) = wait_until(told, timeout=10, what="the audit event")
    assert (event.tenant_id, event.actor) == (friend_tenant.id, "Antiphon")
    assert event.subject == "1 requests per minute of the tenant"
    assert mail.outbox == []  # the friend has no owner


def wait_for_a_fresh_minute() -> None:
    """What a test does must not fall into two minutes."""
    if time.time() % 60 > 50:
        wait_until(lambda: time.time() % 60 < 50, timeout=15, what="the next minute")


def test_a_file_that_is_named_by_its_id_counts_as_much_as_its_content(
    friend: Client, set_limit: SetLimit, upstream: ScriptedUpstream
) -> None:
    file_id = upload(friend, b"%PDF-" + bytes(50_000), "paper.pdf").json()["id"]
    asked = {"role": "user", "content": [{"type": "input_file", "file_id": file_id}]}
    set_limit("tokens_per_minute", 40_000)
    answer = friend.create(input=[asked], max_output_tokens=16)
    assert (answer.status, answer.error["code"]) == (429, "rate_limit_exceeded")
    assert upstream.requests() == []
    set_limit("tokens_per_day", 60_000)
    assert friend.create(input="Hello", max_output_tokens=16).status == 200
