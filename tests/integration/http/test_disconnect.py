"""A client that leaves: the upstream is closed at once, and what was told is kept as cancelled."""

import pytest

from tests.support.asgi import AsgiExchange
from tests.support.chat import chat_stream
from tests.support.checks import assert_unknown_to, stored_response
from tests.support.client import Client, Exchange, Json, wait_until
from tests.support.upstream import ScriptedUpstream

BEGUN = chat_stream("Hel", "lo", finish=None, usage=None, done=False)
CLOSED_SECONDS = 1.0


def leave(exchange: Exchange) -> None:
    assert isinstance(exchange, AsgiExchange)
    exchange.close()
    exchange.wait_returned()


def cancelled(client: Client) -> Json:
    """The one response of this client, once its end is stored."""
    (response,) = wait_until(
        lambda: client.get("/responses").json()["data"], timeout=5, what="a stored end", every=0.01
    )
    assert response["status"] == "cancelled"
    return stored_response(client, response["id"])


def test_leaving_a_stream_before_the_first_token(
    friend: Client, stranger: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(end="hang")
    exchange = friend.stream(input="Hello")
    request = upstream.wait_request()
    request.wait_paused()
    leave(exchange)
    request.wait_closed(CLOSED_SECONDS)
    response = cancelled(friend)
    assert (response["output"], response["error"]) == ([], None)
    assert_unknown_to(stranger, response["id"])


def test_leaving_a_stream_after_the_first_token_keeps_what_was_told(
    friend: Client, stranger: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=BEGUN, end="hang")
    exchange = friend.stream(input="Hello")
    exchange.read_until(lambda seen: b'"lo"' in seen.raw)
    leave(exchange)
    upstream.wait_request().wait_closed(CLOSED_SECONDS)
    response = cancelled(friend)
    assert_unknown_to(stranger, response["id"])
    (item,) = response["output"]
    assert (item["status"], item["content"][0]["text"]) == ("incomplete", "Hello")
    answer = friend.create(input="Go on", previous_response_id=response["id"])
    assert answer.error["code"] == "previous_response_not_found"


@pytest.mark.parametrize("body", [b"", BEGUN])
def test_leaving_a_json_request(body: bytes, friend: Client, upstream: ScriptedUpstream) -> None:
    upstream.reply(body=body, end="hang")
    exchange = friend.open("POST", "/responses", {"model": friend.model, "input": "Hello"})
    request = upstream.wait_request()
    request.wait_paused()
    leave(exchange)
    request.wait_closed(CLOSED_SECONDS)
    cancelled(friend)


def test_leaving_an_upstream_that_has_not_even_answered(friend: Client, upstream: ScriptedUpstream) -> None:
    upstream.reply(end="mute")
    exchange = friend.stream(input="Hello")
    request = upstream.wait_request()
    leave(exchange)
    request.wait_closed(CLOSED_SECONDS)
    cancelled(friend)


def test_one_client_that_leaves_does_not_disturb_the_others(
    friend: Client, stranger: Client, upstream: ScriptedUpstream
) -> None:
    body = chat_stream("one", " two")
    upstream.reply(body=body, pause_at=body.index(b" two") - 40, always=True)
    leaving, staying = friend.stream(input="Hello"), stranger.stream(input="Hello")
    for exchange in (leaving, staying):
        exchange.read_event("response.output_text.delta")
    leave(leaving)
    cancelled(friend)
    for request in upstream.requests():
        request.resume()
    staying.read_all()
    assert staying.types[-1] == "response.completed"


def test_leaving_what_is_not_stored_leaves_nothing(friend: Client, upstream: ScriptedUpstream) -> None:
    upstream.reply(body=BEGUN, end="hang")
    exchange = friend.stream(input="Hello", store=False)
    exchange.read_event("response.output_text.delta")
    response_id = exchange.events[0]["response"]["id"]
    leave(exchange)
    upstream.wait_request().wait_closed(CLOSED_SECONDS)
    assert_unknown_to(friend, response_id)


def test_leaving_before_the_request_is_complete_asks_nothing(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    exchange = friend.open("POST", "/responses", (b'{"model": "test-', b"model", b"never sent"))
    assert isinstance(exchange, AsgiExchange)
    exchange.close()
    exchange.wait_returned()
    assert upstream.requests() == []
