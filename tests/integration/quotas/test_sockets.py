"""Quotas over WebSocket: a refused turn is an error in its place, and the connection goes on."""

from collections.abc import Iterator

import pytest

from tenants import keys
from tenants.models import Limit, Tenant
from tenants.scoping import operator_scope
from tests.integration.quotas.conftest import SetLimit, open_reservations, rows, standings
from tests.support.asgi import AsgiServer
from tests.support.chat import chat_stream
from tests.support.checks import output_text
from tests.support.client import Client, wait_until
from tests.support.upstream import ScriptedUpstream
from tests.support.websocket import Socket


@pytest.fixture
def socket(server: AsgiServer, friend: Client) -> Iterator[Socket]:
    """A socket of the friend's."""
    with Socket(server, friend.key) as opened:
        yield opened


@pytest.mark.parametrize("store", [True, False])
def test_a_turn_without_room_is_refused_by_name_and_the_next_one_with_room_is_served(
    store: bool, socket: Socket, friend_tenant: Tenant, set_limit: SetLimit, upstream: ScriptedUpstream
) -> None:
    limit = set_limit("tokens_per_day", 2_000)
    socket.create(input="Hello", max_output_tokens=5_000, store=store)
    envelope = socket.read_error()
    assert (envelope["status"], envelope["error"]["type"]) == (429, "too_many_requests")
    assert envelope["error"]["code"] == "quota_exceeded"
    assert "The limit of 2000 tokens per day of the tenant has no room" in envelope["error"]["message"]
    assert "more than the whole limit" in envelope["error"]["message"]
    assert (upstream.requests(), rows(), open_reservations(friend_tenant.id)) == ([], [], 0)

    upstream.reply(body=chat_stream("Hi", usage=(90, 10)))
    socket.create(input="Hello", max_output_tokens=100, store=store)
    assert output_text(socket.read_response()) == "Hi"
    assert standings(friend_tenant)["tokens_per_day"].used == 100

    with operator_scope():
        Limit.objects.filter(id=limit.id).update(amount=150)
    keys.forget()
    socket.create(input="Hello", max_output_tokens=100, store=store)
    assert "100 used or reserved" in socket.read_error()["error"]["message"]
    assert len(rows()) == 1


def test_turns_of_a_connection_take_their_places_one_after_the_other(
    socket: Socket, friend_tenant: Tenant, set_limit: SetLimit
) -> None:
    set_limit("concurrent_responses", 1)
    for text in ("first", "second"):
        socket.create(input=text)
    assert [output_text(socket.read_response()) for _ in range(2)] == ["You said: first", "You said: second"]
    wait_until(lambda: not open_reservations(friend_tenant.id), timeout=10, what="the end")
    assert [row["status"] for row in rows()] == ["completed", "completed"]


def test_who_leaves_in_the_middle_of_a_turn_gives_back_what_was_not_used(
    socket: Socket, friend_tenant: Tenant, set_limit: SetLimit, upstream: ScriptedUpstream
) -> None:
    set_limit("tokens_per_day", 100_000)
    upstream.reply(body=chat_stream("Hel", "lo", finish=None, usage=None, done=False), end="hang")
    socket.create(input="Hello", max_output_tokens=5_000)
    socket.read_event("response.output_text.delta")
    assert standings(friend_tenant)["tokens_per_day"].reserved > 5_000
    socket.leave()
    wait_until(lambda: not open_reservations(friend_tenant.id), timeout=10, what="the settling")
    (row,) = rows()
    assert (row["status"], row["is_estimated"]) == ("cancelled", True)
    left = standings(friend_tenant)["tokens_per_day"]
    assert left.used == row["input_tokens"] + row["output_tokens"] < 20


def test_a_warm_up_is_a_request_and_costs_nothing(
    socket: Socket, friend_tenant: Tenant, set_limit: SetLimit, upstream: ScriptedUpstream
) -> None:
    for metric, amount in (("tokens_per_day", 1), ("cost_per_month", 1), ("requests_per_minute", 1_000)):
        set_limit(metric, amount)
    socket.create(input="You are in a shell.", generate=False)
    assert socket.read_response()["usage"]["total_tokens"] == 0
    wait_until(lambda: not open_reservations(friend_tenant.id), timeout=10, what="the settling")
    (row,) = rows()
    assert (row["status"], row["input_tokens"], row["output_tokens"]) == ("completed", 0, 0)
    assert (row["cost_nanos"], row["reserved_tokens"], row["reserved_nanos"]) == (0, 0, 0)
    held = standings(friend_tenant)
    assert (held["tokens_per_day"].used, held["cost_per_month"].used) == (0, 0)
    assert upstream.requests() == []
    socket.create(input="Hello")
    assert socket.read_error()["error"]["code"] == "quota_exceeded"
