"""Continuing on a connection: what is not stored lives in its memory, and there alone."""

from typing import Any

import pytest

from tests.integration.websocket.conftest import Connect
from tests.support.chat import ToolCall, chat_calls, chat_error, chat_stream, chunk, frame
from tests.support.checks import assert_unknown_to, output_text, stored_response
from tests.support.client import Client, Json
from tests.support.upstream import ScriptedUpstream
from tests.support.websocket import Socket

CALL = {"type": "function_call_output", "call_id": "call_1", "output": "12 degrees"}
TOOL = {"type": "function", "name": "get_weather", "parameters": {"type": "object"}}


def heard(upstream: ScriptedUpstream) -> list[str]:
    """What the last request to the upstream held, oldest first."""
    return [message["content"] for message in upstream.requests()[-1].body["messages"]]


def ask(socket: Socket, text: str, **body: Any) -> Json:
    """One whole turn."""
    socket.create(input=text, **body)
    return socket.read_response()


def assert_gone(socket: Socket, response_id: str) -> None:
    """The response cannot be continued, as if it had never been."""
    socket.create(input="go on", previous_response_id=response_id)
    envelope = socket.read_error()
    assert (envelope["status"], envelope["error"]["code"]) == (400, "previous_response_not_found")
    assert envelope["error"]["param"] == "previous_response_id"
    assert response_id in envelope["error"]["message"]


def test_turns_that_are_not_stored_continue_each_other(socket: Socket, upstream: ScriptedUpstream) -> None:
    first = ask(socket, "I am Alice.")
    second = ask(socket, "I am 30.", previous_response_id=first["id"])
    third = ask(socket, "Who am I?", previous_response_id=second["id"])
    assert third["previous_response_id"] == second["id"]
    assert heard(upstream) == [
        "I am Alice.",
        "You said: I am Alice.",
        "I am 30.",
        "You said: I am 30.",
        "Who am I?",
    ]


def test_what_is_remembered_is_nowhere_else(
    socket: Socket, connect: Connect, friend: Client, stranger: Client
) -> None:
    first = ask(socket, "I am Alice.")
    for other in (connect(friend), connect(stranger)):
        assert_gone(other, first["id"])
    for client in (friend, stranger):
        assert_unknown_to(client, first["id"])
    assert ask(socket, "Go on", previous_response_id=first["id"])["status"] == "completed"


def test_a_strangers_stored_response_cannot_be_continued(
    socket: Socket, connect: Connect, stranger: Client
) -> None:
    theirs = ask(connect(stranger), "Mine", store=True)
    assert_gone(socket, theirs["id"])


def test_only_the_latest_is_remembered(socket: Socket) -> None:
    first = ask(socket, "one")
    ask(socket, "two")
    assert_gone(socket, first["id"])


def test_a_stored_response_takes_the_place_of_one_that_is_not(
    socket: Socket, connect: Connect, friend: Client
) -> None:
    first = ask(socket, "one")
    second = ask(socket, "two", store=True)
    assert_gone(socket, first["id"])
    for either in (socket, connect(friend)):
        assert ask(either, "on", previous_response_id=second["id"])["status"] == "completed"


def test_an_unstored_turn_on_top_of_a_stored_one_is_remembered(
    socket: Socket, upstream: ScriptedUpstream, friend: Client
) -> None:
    first = ask(socket, "one", store=True)
    second = ask(socket, "two", previous_response_id=first["id"])
    ask(socket, "three", previous_response_id=second["id"])
    assert heard(upstream) == ["one", "You said: one", "two", "You said: two", "three"]
    assert_unknown_to(friend, second["id"])


def test_nothing_is_stored_on_top_of_what_is_not(socket: Socket) -> None:
    first = ask(socket, "one")
    socket.create(input="two", previous_response_id=first["id"], store=True)
    envelope = socket.read_error()
    assert (envelope["status"], envelope["error"]["param"]) == (400, "store")
    assert_gone(socket, first["id"])


@pytest.mark.parametrize(
    "body",
    [
        {"input": [CALL | {"call_id": "call_missing"}]},
        {"input": "x", "temperature": 9},
        {"input": "x", "model": "no-such-model"},
        {"input": "x", "background": True},
        {"input": "x", "stream_id": "s"},
    ],
    ids=lambda body: next(reversed(body)),
)
def test_a_continuation_that_is_refused_evicts_what_it_named(body: Json, socket: Socket) -> None:
    first = ask(socket, "one")
    socket.create(previous_response_id=first["id"], **body)
    assert socket.read_error()["status"] in (400, 404)
    assert_gone(socket, first["id"])
    assert ask(socket, "still alive")["status"] == "completed"


def test_an_upstream_that_refuses_evicts_too(socket: Socket, upstream: ScriptedUpstream) -> None:
    first = ask(socket, "one")
    upstream.reply(status=500, body=chat_error("broken"))
    socket.create(input="two", previous_response_id=first["id"])
    assert socket.read_error()["status"] == 500
    assert_gone(socket, first["id"])


def test_a_continuation_that_breaks_off_evicts_too(socket: Socket, upstream: ScriptedUpstream) -> None:
    first = ask(socket, "one")
    upstream.reply(body=chat_stream("Hel", finish=None, usage=None, done=False), end="cut")
    assert ask(socket, "two", previous_response_id=first["id"])["status"] == "failed"
    assert_gone(socket, first["id"])


def test_a_failure_that_named_nothing_evicts_nothing(socket: Socket, upstream: ScriptedUpstream) -> None:
    first = ask(socket, "one")
    socket.create(input=[CALL])
    assert socket.read_error()["status"] == 400
    socket.send("{not json")
    assert socket.read_error()["status"] == 400
    upstream.reply(body=chat_stream("Hel", finish=None, usage=None, done=False), end="cut")
    assert ask(socket, "elsewhere")["status"] == "failed"
    assert ask(socket, "on", previous_response_id=first["id"])["status"] == "completed"


def test_a_tool_loop_without_storage(socket: Socket, upstream: ScriptedUpstream) -> None:
    upstream.reply(body=chat_calls(ToolCall("get_weather", '{"place": "Rome"}')))
    first = ask(socket, "How is the weather?", tools=[TOOL])
    call_id = first["output"][0]["call_id"]
    socket.create(input=[CALL | {"call_id": call_id}], previous_response_id=first["id"], tools=[TOOL])
    assert output_text(socket.read_response()) == "The tool returned: 12 degrees"


@pytest.mark.parametrize("include", [[], ["reasoning.encrypted_content"]], ids=["hidden", "shown"])
def test_a_tool_loop_keeps_the_state_of_reasoning_whether_or_not_it_is_shown(
    include: list[str], socket: Socket, upstream: ScriptedUpstream
) -> None:
    thought = frame(chunk({"reasoning_content": "Look it up."}))
    upstream.reply(body=thought + chat_calls(ToolCall("get_weather", "{}")))
    socket.create(input="How is the weather?", tools=[TOOL], include=include)
    done = socket.read_event("response.output_item.done")["item"]
    first = socket.read_event("response.completed")["response"]
    for reasoning in (done, first["output"][0]):
        assert reasoning["type"] == "reasoning"
        assert ("encrypted_content" in reasoning) == bool(include)
    call_id = first["output"][1]["call_id"]
    socket.create(input=[CALL | {"call_id": call_id}], previous_response_id=first["id"], tools=[TOOL])
    assert socket.read_response()["status"] == "completed"
    assistant = upstream.requests()[-1].body["messages"][1]
    assert assistant["reasoning_content"] == "Look it up."


def test_a_call_that_was_cut_short_is_left_out_as_in_a_stored_chain(
    socket: Socket, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_calls(ToolCall("get_weather", '{"pla'), finish="length"))
    first = ask(socket, "How is the weather?", tools=[TOOL])
    assert first["status"] == "incomplete"
    ask(socket, "Never mind.", previous_response_id=first["id"])
    assert heard(upstream) == ["How is the weather?", "Never mind."]


def test_a_history_that_is_too_large_says_so(socket: Socket, settings: Any) -> None:
    first = ask(socket, "x" * 3000)
    second = ask(socket, "one", previous_response_id=first["id"])
    settings.MAX_CONTEXT_BYTES = 1000
    third = ask(socket, "two", previous_response_id=second["id"])
    socket.create(input="three", previous_response_id=third["id"])
    error = socket.read_error()["error"]
    assert (error["code"], error["param"]) == ("context_length_exceeded", "previous_response_id")


def test_warming_up_says_nothing_and_can_be_continued(
    socket: Socket, upstream: ScriptedUpstream, friend: Client
) -> None:
    warm = ask(socket, "You are in a shell.", generate=False, instructions="Be brief.")
    assert (warm["status"], warm["output"], warm["usage"]["total_tokens"]) == ("completed", [], 0)
    assert upstream.requests() == []
    assert_unknown_to(friend, warm["id"])
    ask(socket, "Hello", previous_response_id=warm["id"])
    assert heard(upstream) == ["You are in a shell.", "Hello"]


def test_warming_up_needs_no_input(socket: Socket, upstream: ScriptedUpstream) -> None:
    socket.create(input=[], generate=False, tools=[TOOL])
    warm = socket.read_response()
    assert output_text(ask(socket, "Hello", previous_response_id=warm["id"])) == "You said: Hello"


def test_what_was_warmed_up_and_stored_is_continued_everywhere(
    socket: Socket, friend: Client, stranger: Client
) -> None:
    socket.create(input="Background.", generate=False, store=True)
    warm = socket.read_response(friend)
    assert ask(socket, "Hello", previous_response_id=warm["id"], store=True)["status"] == "completed"
    answer = friend.create(input="Hello", previous_response_id=warm["id"])
    assert stored_response(friend, answer.json()["id"])["previous_response_id"] == warm["id"]
    assert_unknown_to(stranger, warm["id"])


def test_what_cannot_be_asked_cannot_be_warmed_up(socket: Socket) -> None:
    for body in ({"model": "no-such-model"}, {"previous_response_id": "resp_gone"}, {"input": [CALL]}):
        socket.create(**{"input": "x", "generate": False, **body})
        assert socket.read_error()["status"] in (400, 404)


def test_a_compacted_connection_goes_on_from_its_window(socket: Socket, upstream: ScriptedUpstream) -> None:
    first = ask(socket, "I am Alice.")
    upstream.reply(body=chat_stream("Alice greeted."))
    trigger: Json = {"type": "compaction_trigger"}
    socket.create(input=[trigger], previous_response_id=first["id"])
    compacted = socket.read_response()
    assert [item["type"] for item in compacted["output"]] == ["compaction"]
    assert compacted["usage"]["total_tokens"] == 12
    ask(socket, "Who am I?", previous_response_id=compacted["id"])
    alice, summary, question = heard(upstream)
    assert (alice, question) == ("I am Alice.", "Who am I?")
    assert "Alice greeted." in summary


def test_a_turn_whose_compaction_item_does_not_open_leaves_the_socket_usable(socket: Socket) -> None:
    item = {"type": "compaction", "encrypted_content": "gAAAAABpM0Yj-7Zr"}
    socket.create(input=[item])
    error = socket.read_error()["error"]
    assert (error["code"], error["param"]) == ("invalid_encrypted_content", "input[0].encrypted_content")
    assert ask(socket, "Hello")["status"] == "completed"
