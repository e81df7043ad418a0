"""A client that leaves: the upstream is closed within a second, whatever the moment and the manner of it."""

import time
from collections.abc import Callable

import pytest

from tests.support.chat import chat_stream
from tests.support.checks import checked_stream, output_text
from tests.support.client import Client, Exchange, wait_until
from tests.support.upstream import ScriptedUpstream
from tests.support.upstream_http import End, Request

BAR_SECONDS = 1.0
BEGUN = chat_stream("Hel", "lo", finish=None, usage=None, done=False)

Record = Callable[[str, object], None]
Leave = Callable[[Exchange], None]


@pytest.mark.parametrize("leave", [Exchange.close, Exchange.abort], ids=["close", "reset"])
def test_in_the_middle_of_a_stream(
    friend: Client, stranger: Client, upstream: ScriptedUpstream, leave: Leave, record_property: Record
) -> None:
    upstream.reply(body=BEGUN, end="hang")
    exchange = friend.stream(input="Hello")
    exchange.read_event("response.output_text.delta")
    with stranger.stream(input="I stay") as other:
        assert_closes(exchange, upstream.wait_request(), leave, record_property)
        other.read_all()
    assert output_text(checked_stream(other, stranger)) == "You said: I stay"
    response_id = exchange.events[0]["response"]["id"]
    status = wait_until(lambda: ended(friend, response_id), timeout=5, what="the end of the response")
    assert status == "cancelled"


@pytest.mark.parametrize("leave", [Exchange.close, Exchange.abort], ids=["close", "reset"])
@pytest.mark.parametrize("end", ["hang", "mute"])
def test_before_the_first_token(
    friend: Client, upstream: ScriptedUpstream, leave: Leave, end: End, record_property: Record
) -> None:
    upstream.reply(end=end)
    exchange = friend.stream(input="Hello")
    request = upstream.wait_request()
    request.wait_paused()
    assert_closes(exchange, request, leave, record_property)


@pytest.mark.parametrize(("body", "end"), [(BEGUN, "hang"), (b"", "mute")], ids=["begun", "mute"])
def test_while_it_waits_for_json(
    friend: Client, upstream: ScriptedUpstream, body: bytes, end: End, record_property: Record
) -> None:
    upstream.reply(body=body, end=end)
    exchange = friend.open("POST", "/responses", {"model": friend.model, "input": "Hello"})
    request = upstream.wait_request()
    request.wait_paused()
    assert_closes(exchange, request, Exchange.close, record_property)


def test_while_tokens_flow(friend: Client, upstream: ScriptedUpstream, record_property: Record) -> None:
    upstream.reply(body=BEGUN, end="drip", gap_ms=1)
    exchange = friend.stream(input="Hello")
    exchange.read_event("response.output_text.delta")
    assert_closes(exchange, upstream.wait_request(), Exchange.close, record_property)


def assert_closes(exchange: Exchange, request: Request, leave: Leave, record: Record) -> None:
    """The upstream's connection closes soon after the client has left, and not before."""
    assert not request.peer_left
    left_at = time.monotonic()
    leave(exchange)
    took = request.wait_closed(timeout=20) - left_at
    record("upstream closed after", f"{took * 1000:.0f} ms")
    assert 0 <= took < BAR_SECONDS


def ended(client: Client, response_id: str) -> str | None:
    """The status of a response that is over."""
    answer = client.get(f"/responses/{response_id}")
    status = answer.json().get("status")
    return None if status == "in_progress" else str(status)
