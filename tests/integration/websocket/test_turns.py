"""Turns on one connection: each a response by the rules, in order, and a socket that outlives every error."""

import json
from typing import Any

import pytest

from tests.integration.websocket.conftest import Connect
from tests.support.chat import chat_error, chat_stream
from tests.support.checks import assert_unknown_to, output_text
from tests.support.client import Client
from tests.support.upstream import ScriptedUpstream
from tests.support.websocket import Socket


def test_a_response_comes_as_events_one_a_frame(socket: Socket) -> None:
    socket.create(input="Hello")
    response = socket.read_response()
    assert (response["status"], response["store"]) == ("completed", False)
    assert output_text(response) == "You said: Hello"


def test_a_stored_response_is_read_over_http_as_it_was_told(
    socket: Socket, friend: Client, stranger: Client
) -> None:
    socket.create(input="Hello", store=True)
    assert_unknown_to(stranger, socket.read_response(friend)["id"])


def test_two_messages_at_once_have_their_turns_one_after_the_other(
    socket: Socket, upstream: ScriptedUpstream
) -> None:
    body = chat_stream("one", " more")
    upstream.reply(body=body, pause_at=body.index(b" more") - 40)
    socket.create(input="first")
    socket.create(input="second")
    first = upstream.wait_request()
    first.wait_paused()
    assert len(upstream.requests()) == 1
    first.resume()
    assert output_text(socket.read_response()) == "one more"
    assert output_text(socket.read_response()) == "You said: second"


@pytest.mark.parametrize(
    ("frame", "param"),
    [
        ("{not json", None),
        ("", None),
        ("[]", None),
        ('"hi"', None),
        ("null", None),
        ("{}", "type"),
        ('{"type": "response.cancel"}', "type"),
        ('{"type": 7}', "type"),
        ("[" * 5000, None),
        (
            '{"type": "response.create", "model": "test-model", "input": ' + "[" * 900 + "]" * 900 + "}",
            None,
        ),
        ('{"type": "response.create", "model": "test-model", "input": "a\\u0000b"}', "input"),
        ('{"type": "response.create", "model": "test-model", "input": "\\ud800"}', None),
        (
            '{"type": "response.create", "model": "test-model", "input": "x", "background": true}',
            "background",
        ),
        ('{"type": "response.create", "model": "test-model", "input": "x", "background": "x"}', "background"),
        ('{"type": "response.create", "model": "test-model", "input": "x", "stream_id": "s"}', "stream_id"),
        ('{"type": "response.create", "model": "test-model", "input": "x", "generate": 1}', "generate"),
        ('{"type": "response.create", "model": "test-model", "input": "x", "temperature": 9}', "temperature"),
        ('{"type": "response.create", "model": "test-model"}', "input"),
        ('{"type": "response.create", "input": "x"}', "model"),
    ],
)
def test_a_message_that_cannot_be_served_gets_one_error_and_the_socket_goes_on(
    frame: str, param: str | None, socket: Socket, friend: Client, upstream: ScriptedUpstream
) -> None:
    socket.send(frame)
    envelope = socket.read_error()
    assert (envelope["status"], envelope["error"]["type"]) == (400, "invalid_request")
    assert envelope["error"]["code"]
    assert envelope["error"]["param"] == param
    assert upstream.requests() == []
    socket.create(input="still alive")
    assert output_text(socket.read_response()) == "You said: still alive"
    assert friend.get("/responses").json()["data"] == []


def test_a_binary_frame_is_an_error_in_its_turn(socket: Socket) -> None:
    socket.create(input="Hello")
    socket.send_bytes(b'{"type": "response.create"}')
    assert socket.read_response()["status"] == "completed"
    assert socket.read_error()["status"] == 400


def test_an_over_long_message_is_an_error(socket: Socket, settings: Any) -> None:
    settings.MAX_BODY_BYTES = 1000
    socket.create(input="x" * 1000)
    envelope = socket.read_error()
    assert (envelope["status"], envelope["error"]["code"]) == (413, "message_too_large")
    socket.create(input="short")
    assert output_text(socket.read_response()) == "You said: short"


def test_too_many_values_are_an_error(socket: Socket) -> None:
    socket.send('{"type": "response.create", "input": [' + "0," * 1_000_001 + "0]}")
    assert socket.read_error()["status"] == 413


def test_an_unknown_model_is_an_error(socket: Socket) -> None:
    socket.create(input="Hello", model="no-such-model")
    envelope = socket.read_error()
    assert (envelope["status"], envelope["error"]["code"]) == (404, "model_not_found")


def test_what_http_clients_send_does_no_harm(socket: Socket) -> None:
    socket.create(
        input="Hello",
        stream=True,
        stream_options={"include_obfuscation": "?"},
        background=False,
        client_metadata={"x": "y"},
        stream_id=None,
        generate=None,
    )
    assert output_text(socket.read_response()) == "You said: Hello"


def test_an_upstream_that_refuses_is_an_error_with_its_status_and_its_wait(
    socket: Socket, upstream: ScriptedUpstream
) -> None:
    upstream.reply(status=429, headers={"retry-after": "9"}, body=chat_error("slow down"))
    socket.create(input="Hello")
    envelope = socket.read_error()
    assert (envelope["status"], envelope["error"]["type"]) == (429, "too_many_requests")
    assert envelope["headers"] == {"Retry-After": "9"}
    socket.create(input="again")
    assert output_text(socket.read_response()) == "You said: again"


def test_an_upstream_that_breaks_off_fails_the_response_and_not_the_socket(
    socket: Socket, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_stream("Hel", finish=None, usage=None, done=False), end="cut")
    socket.create(input="Hello")
    response = socket.read_response()
    assert (response["status"], output_text(response)) == ("failed", "Hel")
    socket.create(input="again")
    assert socket.read_response()["status"] == "completed"


def test_beyond_the_queue_a_message_is_refused_at_once(
    socket: Socket, upstream: ScriptedUpstream, settings: Any
) -> None:
    settings.WEBSOCKET_QUEUE = 2
    body = chat_stream("one", " more")
    upstream.reply(body=body, pause_at=body.index(b" more") - 40)
    socket.create(input="running")
    socket.read_event("response.output_text.delta")
    for text in ("second", "third", "too much"):
        socket.create(input=text)
    envelope = socket.read_error()
    assert (envelope["status"], envelope["error"]["code"]) == (429, "websocket_queue_full")
    upstream.wait_request().resume()
    socket.read_event("response.completed")
    assert [output_text(socket.read_response()) for _ in range(2)] == ["You said: second", "You said: third"]


def test_many_bytes_fill_the_queue_as_many_messages_do(
    socket: Socket, upstream: ScriptedUpstream, settings: Any
) -> None:
    settings.MAX_BODY_BYTES = 4000
    body = chat_stream("one", " more")
    upstream.reply(body=body, pause_at=body.index(b" more") - 40)
    socket.create(input="running")
    socket.read_event("response.output_text.delta")
    socket.create(input="x" * 3000)
    socket.create(input="x" * 3000)
    assert socket.read_error()["error"]["code"] == "websocket_queue_full"
    upstream.wait_request().resume()
    socket.read_event("response.completed")
    assert len(output_text(socket.read_response())) == len("You said: ") + 3000


def test_many_sockets_at_once_each_hear_their_own_response(connect: Connect, friend: Client) -> None:
    sockets = [connect(friend) for _ in range(50)]
    for number, socket in enumerate(sockets):
        socket.create(input=f"I am {number}")
    for number, socket in enumerate(sockets):
        assert output_text(socket.read_response()) == f"You said: I am {number}"


def test_a_client_of_openais_family_reads_its_event_names(
    connect: Connect, friend: Client, upstream: ScriptedUpstream
) -> None:
    for headers, name in (
        ({}, "response.reasoning.delta"),
        ({"originator": "codex"}, "response.reasoning_text.delta"),
    ):
        upstream.reply(
            body=b'data: {"choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}\n\n' + chat_stream("Hi")
        )
        socket = connect(friend, headers=headers)
        socket.create(input="Hello")
        kinds = [json.loads(socket.read())["type"] for _ in range(5)]
        assert name in kinds
