"""WebSockets over real connections, with the web server that production runs."""

import json
import struct
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

import openai
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect
from websockets.sync.connection import Connection

from responses_api.conformance.stream import check_messages, compare_with_get
from responses_api.protocol.event_types import TERMINAL_TYPES
from tests.e2e.web import StartWeb, resident
from tests.support.chat import chat_stream
from tests.support.checks import assert_unknown_to, output_text, stored_response
from tests.support.client import Client, Json, wait_until
from tests.support.frames import CLOSE, PING, TEXT, RawSocket, frame
from tests.support.oracle import assert_envelope, event_faults
from tests.support.service import Service
from tests.support.upstream import ScriptedUpstream

BEGUN = chat_stream("Hel", "lo", finish=None, usage=None, done=False)
WHOLE = chat_stream("one", " more")
PAUSE = WHOLE.index(b" more") - 40
LONG = [f"{number} " + "x" * 20_000 for number in range(1000)]


def open_socket(base_url: str, key: str | None, **options: Any) -> Connection:
    """A socket of the `websockets` library."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    url = base_url.replace("http", "ws", 1) + "/responses"
    return connect(url, additional_headers=headers, max_size=None, proxy=None, **options)


def ask(socket: Connection, **body: Any) -> None:
    socket.send(json.dumps(create(**body)))


def create(**body: Any) -> Json:
    return {"type": "response.create", "model": "test-model", "store": False, **body}


def read(socket: Connection) -> Json:
    message: Json = json.loads(socket.recv(timeout=20))
    return message


def read_event(socket: Connection, kind: str) -> Json:
    while (event := read(socket))["type"] != kind:
        assert event["type"] not in TERMINAL_TYPES | {"error"}, event
    return event


def read_response(socket: Connection, reader: Client | None = None) -> Json:
    """A whole response, checked by every rule; its final snapshot."""
    frames = [str(socket.recv(timeout=20))]
    while json.loads(frames[-1])["type"] not in TERMINAL_TYPES:
        assert "status" not in json.loads(frames[-1]), frames[-1]
        frames.append(str(socket.recv(timeout=20)))
    stream = check_messages(frames, validate=event_faults)
    assert not stream.violations, stream.violations
    assert stream.final is not None
    if reader is not None:
        assert not compare_with_get(stream.final, stored_response(reader, stream.final["id"]))
    return stream.final


def read_error(socket: Connection) -> Json:
    envelope = read(socket)
    assert_envelope(envelope)
    return envelope


def closed_with(socket: Connection) -> int:
    """The code that the server closes with, next."""
    with pytest.raises(ConnectionClosed) as closed:
        socket.recv(timeout=20)
    assert closed.value.rcvd is not None
    return closed.value.rcvd.code


def test_turns_over_a_real_connection(service: Service) -> None:
    with open_socket(service.base_url, service.friend.key) as socket:
        ask(socket, input="I am Alice.")
        first = read_response(socket)
        ask(socket, input="Who am I?", previous_response_id=first["id"], stream=True)
        assert output_text(read_response(socket)) == "You said: Who am I?"
        ask(socket, input="Keep this.", store=True)
        kept = read_response(socket, service.friend)
        socket.send("{not json")
        assert read_error(socket)["status"] == 400
    messages = service.upstream.requests()[1].body["messages"]
    assert [message["content"] for message in messages] == [
        "I am Alice.",
        "You said: I am Alice.",
        "Who am I?",
    ]
    assert_unknown_to(service.friend, first["id"])
    assert_unknown_to(service.stranger, kept["id"])


def test_the_official_client(app: openai.OpenAI, model: str) -> None:
    with app.responses.connect() as connection:
        connection.response.create(model=model, input="I am Alice.", store=False)
        first = None
        for event in connection:
            if event.type == "response.completed":
                first = event.response
                break
        assert first is not None
        assert first.output_text == "You said: I am Alice."
        connection.response.create(model=model, input="Who am I?", store=False, previous_response_id=first.id)
        deltas = []
        for event in connection:
            if event.type == "response.output_text.delta":
                deltas.append(event.delta)
            if event.type == "response.completed":
                break
    assert "".join(deltas) == "You said: Who am I?"


@pytest.mark.parametrize("key", [None, "ak_wrong"])
def test_a_handshake_is_refused_as_any_request_is(key: str | None, service: Service) -> None:
    with pytest.raises(InvalidStatus) as refused:
        open_socket(service.base_url, key)
    response = refused.value.response
    assert (response.status_code, response.headers["content-type"]) == (401, "application/json")
    assert (response.headers["www-authenticate"], response.headers["connection"]) == ("Bearer", "close")
    assert response.body is not None
    assert json.loads(response.body)["error"]["code"] == "invalid_api_key"


def test_a_handshake_elsewhere_is_404(service: Service) -> None:
    with pytest.raises(InvalidStatus) as refused:
        open_socket(service.base_url + "/nothing", service.friend.key)
    assert refused.value.response.status_code == 404


def test_a_handshake_tells_the_request_id_and_the_subprotocol(service: Service) -> None:
    key = f"openai-insecure-api-key.{service.friend.key}"
    with open_socket(service.base_url, None, subprotocols=["responses", key]) as socket:
        assert socket.subprotocol == "responses"
        assert socket.response is not None
        assert socket.response.headers["x-request-id"].startswith("req_")
        ask(socket, input="Hello")
        assert read_response(socket)["status"] == "completed"


def test_switched_off_it_is_426_and_http_goes_on(service: Service, start_web: StartWeb) -> None:
    web = start_web(ANTIPHON_WEBSOCKET="false")
    with pytest.raises(InvalidStatus) as refused:
        open_socket(web.name, service.friend.key)
    assert refused.value.response.status_code == 426
    assert refused.value.response.body is not None
    assert json.loads(refused.value.response.body)["error"]["code"] == "websocket_disabled"
    friend = Client(web.name, service.friend.key, "test-model")
    assert friend.create(input="Hello").status == 200
    assert "Traceback" not in web.output()


def test_large_messages_are_taken_larger_ones_refused_and_huge_ones_not_read(
    service: Service, start_web: StartWeb
) -> None:
    web = start_web(ANTIPHON_MAX_BODY_BYTES="4000000")
    with open_socket(web.name, service.friend.key) as socket:
        ask(socket, input="x" * 3_000_000)
        assert len(output_text(read_response(socket))) > 3_000_000
        ask(socket, input="x" * 4_000_000)
        assert read_error(socket)["status"] == 413
        ask(socket, input="x" * 8_000_000)
        assert closed_with(socket) == 1009
    with open_socket(web.name, service.friend.key) as socket:
        ask(socket, input="still alive")
        assert read_response(socket)["status"] == "completed"


@pytest.mark.parametrize("leave", [RawSocket.say_goodbye, RawSocket.close, RawSocket.abort])
@pytest.mark.parametrize("body", [b"", BEGUN], ids=["before the first token", "after it"])
def test_a_client_that_leaves_cancels_its_response(
    leave: Callable[[RawSocket], None], body: bytes, service: Service, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=body, end="hang")
    with RawSocket(service.base_url, service.friend.key) as socket:
        socket.send(json.dumps(create(input="Hello", store=True)))
        response_id = json.loads(socket.read_until(TEXT))["response"]["id"]
        request = upstream.wait_request()
        request.wait_paused()
        leave(socket)
        request.wait_closed(5)
    status = wait_until(lambda: _ended(service.friend, response_id), timeout=5, what="the response's end")
    assert status == "cancelled"


def _ended(client: Client, response_id: str) -> str | None:
    status: str = client.get(f"/responses/{response_id}").json()["status"]
    return None if status == "in_progress" else status


def test_fifty_connections_at_once(service: Service) -> None:
    with ExitStack() as opened:
        sockets = [opened.enter_context(open_socket(service.base_url, service.friend.key)) for _ in range(50)]
        for number, socket in enumerate(sockets):
            ask(socket, input=f"I am {number}")
        for number, socket in enumerate(sockets):
            assert output_text(read_response(socket)) == f"You said: I am {number}"


def test_a_client_that_reads_slowly_costs_little_and_learns_it(service: Service, start_web: StartWeb) -> None:
    web = start_web(ANTIPHON_UNSENT_BYTES="500000")
    before = resident(web)
    service.upstream.reply(body=chat_stream(*LONG, usage=None), chunks=range(0, 20_000_000, 20_000))
    with RawSocket(web.name, service.friend.key, receive_buffer=4096) as slow:
        slow.send(json.dumps(create(input="Tell me everything.")))
        service.upstream.wait_request().wait_answered(20)
        assert resident(web) - before < 30_000_000
        frames = [slow.read_until(TEXT)]
        while json.loads(frames[-1])["type"] not in TERMINAL_TYPES:
            frames.append(slow.read_until(TEXT))
        response = json.loads(frames[-1])["response"]
        assert (response["status"], response["error"]["code"]) == ("failed", "client_too_slow")
        slow.send(json.dumps(create(input="Briefly, please.")))
        assert json.loads(slow.read_until(TEXT))["type"] == "response.created"


def test_a_client_that_sends_and_never_reads_is_not_heard_for_ever(
    service: Service, start_web: StartWeb
) -> None:
    web = start_web(ANTIPHON_STUCK_SECONDS="1")
    before = resident(web)
    message = json.dumps(create(input="x", generate=False, instructions="x" * 100_000))
    with RawSocket(web.name, service.friend.key, receive_buffer=4096) as stuck, suppress(OSError):
        for _ in range(1_000):
            stuck.send(message)
        pytest.fail("a client that reads nothing was heard a thousand times")
    assert "nothing is read" in web.output()
    assert resident(web) - before < 50_000_000


def test_a_client_that_sends_faster_than_it_is_heard_costs_little(
    service: Service, start_web: StartWeb
) -> None:
    web = start_web()
    service.upstream.reply(body=WHOLE, pause_at=PAUSE)
    before = resident(web)
    with RawSocket(web.name, service.friend.key) as socket:
        socket.send(json.dumps(create(input="running")))
        service.upstream.wait_request().wait_paused()
        message = "x" * 200_000
        for _ in range(1_000):
            socket.send(message)
        service.upstream.wait_request().resume()
        while json.loads(socket.read_until(TEXT))["type"] != "response.completed":
            pass
    assert resident(web) - before < 50_000_000


def test_a_client_that_reads_nothing_for_too_long_is_dropped(service: Service, start_web: StartWeb) -> None:
    web = start_web(ANTIPHON_STUCK_SECONDS="0.5")
    body = chat_stream(*LONG[:400], finish=None, usage=None, done=False)
    service.upstream.reply(body=body, end="hang")
    with RawSocket(web.name, service.friend.key, receive_buffer=4096) as stuck:
        stuck.send(json.dumps(create(input="Tell me something.")))
        service.upstream.wait_request().wait_closed(20)
        assert "nothing is read" in web.output()
        stuck.wait_ended()


def test_only_a_pong_answers_a_ping(service: Service, start_web: StartWeb) -> None:
    web = start_web("--ping-interval", "1", "--ping-timeout", "4")
    upstream = service.upstream
    upstream.reply(body=BEGUN, end="hang")
    with (
        RawSocket(web.name, service.friend.key) as silent,
        RawSocket(web.name, service.stranger.key) as answering,
        RawSocket(web.name, service.stranger.key) as uploading,
    ):
        silent.send(json.dumps(create(input="Hello")))
        head, body = frame(TEXT, json.dumps(create(input="x" * 70_000)).encode())
        uploading.send_raw(head + body[:100])
        for number in range(3):
            answering.pong(answering.read_until(PING))
            uploading.read_until(PING)
            uploading.send_raw(body[100 + number : 101 + number])
        uploading.send_raw(body[103:])
        assert json.loads(uploading.read_until(TEXT))["type"] == "response.created"
        # It has sent a message meanwhile, but no pong.
        abandoned = upstream.wait_request()
        while not abandoned.peer_left:
            answering.pong(answering.read_until(PING))
        silent.wait_ended()
        answering.send("{not json")
        assert json.loads(answering.read_until(TEXT))["status"] == 400


def test_a_stopped_web_process_drains_its_connections(service: Service, start_web: StartWeb) -> None:
    web = start_web(ANTIPHON_DRAIN_SECONDS="15")
    service.upstream.reply(body=WHOLE, pause_at=PAUSE)
    service.upstream.reply(body=WHOLE, pause_at=PAUSE)
    with (
        open_socket(web.name, service.friend.key) as busy,
        open_socket(web.name, service.stranger.key) as idle,
        Client(web.name, service.stranger.key, "test-model").stream(input="Hi") as streamed,
    ):
        ask(busy, input="running", store=True)
        ask(busy, input="waiting")
        read_event(busy, "response.output_text.delta")
        streamed.read_event("response.output_text.delta")
        web.ask_to_stop()
        assert closed_with(idle) == 1012
        with pytest.raises(OSError, match="refused"):
            open_socket(web.name, service.friend.key)
        for number in (1, 2):
            service.upstream.wait_request(count=number).resume()
        response = read_event(busy, "response.completed")["response"]
        assert output_text(response) == "one more"
        envelope = read_error(busy)
        assert (envelope["status"], envelope["error"]["code"]) == (503, "overloaded")
        assert closed_with(busy) == 1012
        streamed.read_all()
        assert streamed.types[-1] == "response.completed"
    wait_until(lambda: not web.running, timeout=10, what="the web process's end")
    assert stored_response(service.friend, response["id"]) == response


def test_a_stopped_web_process_ends_by_the_rules_what_takes_too_long(
    service: Service, start_web: StartWeb
) -> None:
    web = start_web(ANTIPHON_DRAIN_SECONDS="0.2")
    service.upstream.reply(body=BEGUN, end="hang")
    service.upstream.reply(body=BEGUN, end="hang")
    with (
        open_socket(web.name, service.friend.key) as socket,
        Client(web.name, service.friend.key, "test-model").stream(input="Hi") as streamed,
    ):
        ask(socket, input="running")
        service.upstream.wait_request(count=2).wait_paused()
        streamed.read_event("response.output_text.delta")
        web.ask_to_stop()
        response = read_response(socket)
        assert (response["status"], response["error"]["code"]) == ("failed", "overloaded")
        assert closed_with(socket) == 1012
        streamed.read_all()
        assert streamed.types[-2:] == ["error", "response.failed"]
    for number in (1, 2):
        service.upstream.wait_request(count=number).wait_closed(10)
    wait_until(lambda: not web.running, timeout=10, what="the web process's end")


def test_a_connection_lasts_for_its_time(service: Service, start_web: StartWeb) -> None:
    web = start_web(ANTIPHON_WEBSOCKET_SECONDS="0.2")
    with RawSocket(web.name, service.friend.key) as socket:
        assert json.loads(socket.read_until(TEXT))["error"]["code"] == "websocket_connection_limit_reached"
        assert socket.read_until(CLOSE) == struct.pack("!H", 1000)
