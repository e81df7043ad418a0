"""A tool that runs while its response ends: its call is ended with it, at once, and the receipt says so."""

from collections.abc import Callable
from typing import Any

import pytest

from responses_api.protocol.server_tools import MCP_CALL
from tenants.keys import revoke_key
from tenants.models import ApiKey, Tenant
from tenants.scoping import tenant_scope
from tests.integration.tools.reading import TOOLS, call, receipts
from tests.support.abacus import Abacus
from tests.support.chat import chat_calls, chat_error, chat_stream
from tests.support.checks import assert_unknown_to, checked_stream, stored_response
from tests.support.client import Client, Json, wait_until
from tests.support.upstream import ScriptedUpstream
from tests.support.websocket import Socket
from workers.runtime import process_runtime

ENDED_SECONDS = 3.0


def until_ended(client: Client, response_id: str) -> Json:
    def look() -> Json | None:
        found = stored_response(client, response_id)
        return None if found["status"] in ("queued", "in_progress") else found

    found = wait_until(look, timeout=ENDED_SECONDS, what="the end of the response", every=0.02)
    assert isinstance(found, dict)
    return found


@pytest.fixture
def running(friend: Client, upstream: ScriptedUpstream, abacus: Abacus) -> Callable[..., str]:
    """A background response whose tool runs; returns its id."""
    upstream.reply(body=chat_calls(call("meet", 1, 1)))

    def begin() -> str:
        response = friend.create(input="Meet", tools=TOOLS, background=True).json()
        assert abacus.begun.acquire(timeout=5)
        return str(response["id"])

    return begin


def test_a_cancel_ends_the_call(
    friend: Client, stranger: Client, abacus: Abacus, running: Callable[..., str]
) -> None:
    response_id = running()
    assert friend.request("POST", f"/responses/{response_id}/cancel").status == 200
    final = until_ended(friend, response_id)
    assert (final["status"], receipts(final)[0]["status"]) == ("cancelled", "incomplete")
    assert abacus.ended == ["cancelled"]
    assert abacus.closed == 1
    assert_unknown_to(stranger, response_id)


def test_a_client_that_leaves_ends_the_call(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    upstream.reply(body=chat_calls(call("meet", 1, 1)))
    with friend.stream(input="Meet", tools=TOOLS) as exchange:
        created = exchange.read_event("response.created")
        assert abacus.begun.acquire(timeout=5)
    final = until_ended(friend, created["response"]["id"])
    assert (final["status"], receipts(final)[0]["status"]) == ("cancelled", "incomplete")
    wait_until(lambda: abacus.ended, timeout=ENDED_SECONDS, what="the end of the call")
    assert abacus.ended == ["cancelled"]


def test_a_key_that_is_revoked_ends_the_call(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    upstream.reply(body=chat_calls(call("meet", 1, 1)))
    with friend.stream(input="Meet", tools=TOOLS) as exchange:
        exchange.read_until(lambda seen: b"mcp_call.in_progress" in seen.raw)
        with tenant_scope(friend_tenant.id):
            revoke_key(ApiKey.objects.get())
        exchange.read_all()
    final = exchange.events[-1]["response"]
    assert (final["status"], final["error"]["code"]) == ("failed", "invalid_api_key")
    assert abacus.ended == ["cancelled"]


def test_a_socket_that_is_closed_ends_the_call(
    socket: Socket, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    upstream.reply(body=chat_calls(call("meet", 1, 1)))
    socket.create(input="Meet", tools=TOOLS)
    assert abacus.begun.acquire(timeout=5)
    socket.leave()
    wait_until(lambda: abacus.ended, timeout=ENDED_SECONDS, what="the end of the call")
    assert abacus.ended == ["cancelled"]


def test_a_turn_of_a_socket_tells_every_step(
    socket: Socket, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    upstream.reply(body=chat_calls(call("add", 1, 1)))
    upstream.reply(body=chat_stream("2"))
    socket.create(input="Add", tools=TOOLS)
    final = socket.read_response()
    assert [item["type"] for item in final["output"]][1] == MCP_CALL


def test_a_worker_that_is_stopped_ends_the_call_and_says_so(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    upstream.reply(body=chat_calls(call("meet", 1, 1)))
    runtime = process_runtime()
    with friend.stream(input="Meet", tools=TOOLS) as exchange:
        response_id = exchange.read_event("response.created")["response"]["id"]
        assert abacus.begun.acquire(timeout=5)
        runtime._loop.call_soon_threadsafe(runtime._running[response_id].stop)
        exchange.read_all()
    final = checked_stream(exchange, friend)
    assert (final["status"], final["error"]["code"]) == ("failed", "worker_lost")
    assert (receipts(final)[0]["status"], abacus.ended) == ("incomplete", ["cancelled"])


def test_a_server_that_is_slow_to_list_leaves_no_stream_without_a_sign_of_life(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus, settings: Any
) -> None:
    settings.START_SECONDS = 0.05
    abacus.opens = "hold"
    upstream.reply(body=chat_error("x"), status=500)
    with friend.stream(input="Hello", tools=TOOLS) as exchange:
        exchange.read_event("response.in_progress")
        abacus.gate.set()
        exchange.read_all()
    final = checked_stream(exchange, friend)
    assert (final["status"], [item["type"] for item in final["output"]]) == (
        "failed",
        ["antiphon:mcp_list_tools"],
    )
