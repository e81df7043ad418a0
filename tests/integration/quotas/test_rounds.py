"""Rounds of tool calls: each is charged, and none begins that a limit has no room for."""

from typing import Any

import pytest

from tenants.models import Tenant
from tests.integration.quotas.conftest import SetLimit, open_reservations, rows, standings
from tests.integration.tools.reading import TOOLS, add, call, receipts
from tests.support.abacus import Abacus
from tests.support.chat import chat_calls, chat_stream
from tests.support.checks import checked_response
from tests.support.client import Client, wait_until
from tests.support.forms import upload
from tests.support.upstream import ScriptedUpstream

WIDE = 1_000_000


def the_row() -> dict[str, Any]:
    (row,) = rows()
    return row


def test_the_row_is_the_sum_of_the_rounds_and_so_are_the_counters(
    friend: Client,
    friend_tenant: Tenant,
    upstream: ScriptedUpstream,
    abacus: Abacus,
    set_limit: SetLimit,
) -> None:
    set_limit("tokens_per_day", WIDE)
    set_limit("cost_per_day", 1_000 * WIDE)
    upstream.reply(body=chat_calls(add(1, 1), usage=(100, 20)))
    upstream.reply(body=chat_calls(add(2, 2), usage=(150, 20)))
    upstream.reply(body=chat_stream("2 and 4", usage=(200, 10)))
    final = checked_response(friend, friend.create(input="Add", tools=TOOLS).json())
    assert final["usage"]["input_tokens"] == 450
    row = the_row()
    assert (row["input_tokens"], row["output_tokens"], row["is_estimated"]) == (450, 50, False)
    assert row["cost_nanos"] == 450 * 1_000 + 50 * 2_000
    standing = standings(friend_tenant)["tokens_per_day"]
    assert (standing.used, standing.reserved) == (500, 0)
    assert open_reservations(friend_tenant.id) == 0


def test_what_is_held_grows_before_each_round(
    friend: Client,
    friend_tenant: Tenant,
    upstream: ScriptedUpstream,
    abacus: Abacus,
    set_limit: SetLimit,
) -> None:
    set_limit("tokens_per_day", WIDE)
    upstream.reply(body=chat_calls(call("hold", 1, 1), usage=(100, 20)))
    body = chat_stream("2", usage=(200, 10))
    upstream.reply(body=body, pause_at=1)
    with friend.stream(input="Add", tools=TOOLS, max_output_tokens=100) as exchange:
        assert abacus.begun.acquire(timeout=5)
        before = standings(friend_tenant)["tokens_per_day"].reserved
        abacus.gate.set()
        request = upstream.wait_request(count=2)
        request.wait_paused()
        after = standings(friend_tenant)["tokens_per_day"].reserved
        request.resume()
        exchange.read_all()
    assert after >= before + 50
    row = the_row()
    assert row["reserved_tokens"] == after
    assert row["input_tokens"] + row["output_tokens"] <= after


def test_a_file_that_is_named_by_its_id_is_held_for_in_each_round(
    friend: Client,
    friend_tenant: Tenant,
    upstream: ScriptedUpstream,
    abacus: Abacus,
    set_limit: SetLimit,
) -> None:
    size = 20_000
    file_id = upload(friend, b"%PDF-" + bytes(size - 5), "paper.pdf").json()["id"]
    asked = {"role": "user", "content": [{"type": "input_file", "file_id": file_id}]}
    set_limit("tokens_per_day", WIDE)
    upstream.reply(body=chat_calls(add(1, 1), usage=(size, 20)))
    upstream.reply(body=chat_stream("2", usage=(size, 10)))
    final = checked_response(friend, friend.create(input=[asked], tools=TOOLS, max_output_tokens=100).json())
    assert final["usage"]["total_tokens"] == 2 * size + 30
    assert the_row()["reserved_tokens"] >= 2 * size + 30
    assert standings(friend_tenant)["tokens_per_day"].used == 2 * size + 30


def test_without_room_for_another_round_the_response_fails_with_what_it_had(
    friend: Client,
    friend_tenant: Tenant,
    upstream: ScriptedUpstream,
    abacus: Abacus,
    set_limit: SetLimit,
) -> None:
    set_limit("tokens_per_day", 4_000)
    upstream.reply(body=chat_calls(add(1, 1), usage=(2_500, 100)))
    exchange = friend.read_stream(input="Add", tools=TOOLS, max_output_tokens=200)
    final = exchange.events[-1]["response"]
    assert (final["status"], final["error"]["code"]) == ("failed", "quota_exceeded")
    (told,) = [event for event in exchange.events if event["type"] == "error"]
    assert told["error"]["type"] == "too_many_requests"
    assert receipts(final)[0]["output"] == "2"
    assert len(upstream.requests()) == 1
    assert standings(friend_tenant)["tokens_per_day"].used == 2_600
    assert the_row()["error_code"] == "quota_exceeded"


@pytest.mark.parametrize("which", [0, 1])
def test_a_round_whose_backend_told_nothing_is_counted(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus, which: int
) -> None:
    usages: list[Any] = [(100, 20), (200, 10)]
    usages[which] = None
    upstream.reply(body=chat_calls(add(1, 1), usage=usages[0]))
    upstream.reply(body=chat_stream("It is two.", usage=usages[1]))
    final = checked_response(friend, friend.create(input="Add", tools=TOOLS).json())
    row, told = the_row(), usages[1 - which]
    assert final["usage"]["input_tokens"] == told[0]
    assert row["is_estimated"]
    assert told[0] + 5 < row["input_tokens"] < told[0] + 400
    assert told[1] < row["output_tokens"] < told[1] + 40


def test_a_response_that_is_left_while_a_tool_runs_is_charged_its_rounds_so_far(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    upstream.reply(body=chat_calls(call("meet", 1, 1), usage=(100, 20)))
    with friend.stream(input="Add", tools=TOOLS) as exchange:
        exchange.read_event("response.created")
        assert abacus.begun.acquire(timeout=5)
    wait_until(rows, timeout=5, what="the row")
    row = the_row()
    assert (row["status"], row["input_tokens"], row["output_tokens"]) == ("cancelled", 100, 20)
    assert not row["is_estimated"]
