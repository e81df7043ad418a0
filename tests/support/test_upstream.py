"""The scripted upstream does what scripts say: otherwise every test that leans on it proves nothing."""

import json
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.support.chat import ToolCall, chat_calls, chat_json, chat_stream
from tests.support.client import Answer, Client, Exchange
from tests.support.upstream import ScriptedUpstream

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"location": {"type": "string"}}},
    },
}


@pytest.fixture
def upstream() -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream(actor=True) as started:
        yield started


def ask(upstream: ScriptedUpstream, model: str = "m", **body: object) -> Exchange:
    messages = [{"role": "user", "content": "Hello there"}]
    sent = {"model": model, "messages": messages, **body}
    return Client(upstream.base_url).open("POST", "/chat/completions", sent)


def answer(upstream: ScriptedUpstream, model: str = "m", **body: object) -> Answer:
    with ask(upstream, model, **body) as exchange:
        return exchange.answer()


def test_it_sends_the_bytes_of_the_script_and_records_the_request(upstream: ScriptedUpstream) -> None:
    body = chat_stream("Hel", "lo")
    upstream.reply(body=body, headers={"x-request-id": "r1"}, status=201)
    got = answer(upstream, stream=True)
    assert (got.status, got.body, got.headers["x-request-id"]) == (201, body, "r1")
    request = upstream.wait_request("m")
    assert request.body["messages"][0]["content"] == "Hello there"
    assert request.path == "/v1/chat/completions"


def test_it_cuts_the_body_where_told(upstream: ScriptedUpstream) -> None:
    upstream.reply(body=b"abcdef", chunks=[2, 5])
    upstream.reply(body=b"abc", chunks="every-byte")
    with ask(upstream) as first:
        first.read_all()
    with ask(upstream) as second:
        second.read_all()
    assert [chunk.data for chunk in first.chunks] == [b"ab", b"cde", b"f"]
    assert [chunk.data for chunk in second.chunks] == [b"a", b"b", b"c"]


def test_scripts_of_other_models_stay_untouched(upstream: ScriptedUpstream) -> None:
    upstream.reply(model="one", body=b"for one")
    upstream.reply(model="two", body=b"for two")
    upstream.reply(model="two", body=b"always two", always=True)
    assert answer(upstream, "two").body == b"for two"
    assert answer(upstream, "two").body == b"always two"
    assert answer(upstream, "one").body == b"for one"


def test_a_cut_body_has_no_end(upstream: ScriptedUpstream) -> None:
    upstream.reply(body=b"abc", end="cut")
    with ask(upstream) as exchange, pytest.raises(ConnectionError, match="in the middle"):
        exchange.read_all()
    assert exchange.raw == b"abc"


def test_a_reset_arrives_as_a_reset(upstream: ScriptedUpstream) -> None:
    upstream.reply(body=b"abc", end="reset")
    with ask(upstream) as exchange, pytest.raises(ConnectionResetError):
        exchange.read_all()


@pytest.mark.parametrize("end", ["hang", "drip"])
def test_it_sees_the_peer_leave_an_endless_reply(upstream: ScriptedUpstream, end: str) -> None:
    upstream.reply(body=b"abc", end=end)  # type: ignore[arg-type]
    with ask(upstream) as exchange:
        assert exchange.read_chunk() == b"abc"
        request = upstream.wait_request()
        request.wait_paused()
        assert not request.peer_left
    assert request.wait_closed() >= request.arrived_at


def test_a_mute_upstream_sends_nothing_at_all(upstream: ScriptedUpstream) -> None:
    upstream.reply(end="mute")
    with ask(upstream) as exchange:
        request = upstream.wait_request()
        request.wait_paused()
        with pytest.raises(TimeoutError):
            exchange.read_head(timeout=0.05)
        exchange.abort()
    request.wait_closed()


def test_a_paused_reply_goes_on_when_resumed(upstream: ScriptedUpstream) -> None:
    upstream.reply(body=b"abcdef", pause_at=3)
    with ask(upstream) as exchange:
        assert exchange.read_chunk() == b"abc"
        request = upstream.wait_request()
        request.wait_paused()
        request.resume()
        assert exchange.read_all() == b"abcdef"


def test_a_connection_serves_one_request_after_another(upstream: ScriptedUpstream) -> None:
    upstream.reply(body=b"one")
    upstream.reply(body=b"two")
    with ask(upstream) as exchange:
        exchange.read_all()
        exchange.peer.sendall(b"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}")
        again = Exchange(exchange.peer)
        assert again.read_all() == b"two"


def test_a_stopped_upstream_leaves_no_connection_open() -> None:
    with ScriptedUpstream(actor=True) as upstream:
        idle = socket.create_connection(("127.0.0.1", urlsplit(upstream.base_url).port or 0), timeout=10)
        upstream.reply(end="mute")
        asked = ask(upstream)
        upstream.wait_request().wait_paused()
    with idle, asked:
        assert idle.recv(1) == b""
        with pytest.raises(ConnectionError):
            asked.answer(timeout=10)


def test_the_actor_calls_a_tool_and_then_tells_its_result(upstream: ScriptedUpstream) -> None:
    message = answer(upstream, tools=[TOOL]).json()["choices"][0]["message"]
    call = message["tool_calls"][0]
    assert json.loads(call["function"]["arguments"]) == {"location": "San Francisco"}
    result = {"role": "tool", "tool_call_id": call["id"], "content": "12 degrees"}
    messages = [{"role": "user", "content": "?"}, message, result]
    text = answer(upstream, tools=[TOOL], messages=messages).json()["choices"][0]["message"]["content"]
    assert text == "The tool returned: 12 degrees"


def test_the_actor_streams_usage_only_when_asked(upstream: ScriptedUpstream) -> None:
    assert b'"usage"' not in answer(upstream, stream=True).body
    got = answer(upstream, stream=True, stream_options={"include_usage": True}, max_tokens=2)
    assert b'"usage"' in got.body
    assert b'"finish_reason": "length"' in got.body


def test_without_the_actor_an_unscripted_request_is_refused() -> None:
    with ScriptedUpstream() as upstream:
        got = answer(upstream)
    assert got.status == 500
    assert "no script" in got.error["message"]


def test_builders_tell_the_same_call_as_a_stream_and_as_json() -> None:
    call = ToolCall("get_weather", '{"location": "Paris"}', call_id="call_9", pieces=4)
    chunks = [json.loads(line[6:]) for line in chat_calls(call).split(b"\n\n") if b"tool_calls" in line]
    deltas = [c["choices"][0]["delta"]["tool_calls"][0] for c in chunks if c["choices"][0]["delta"]]
    assert "".join(d["function"]["arguments"] for d in deltas) == call.arguments
    whole = json.loads(chat_json(calls=[call]))["choices"][0]
    assert whole["finish_reason"] == "tool_calls"
    assert whole["message"]["tool_calls"][0]["function"]["arguments"] == call.arguments
