"""What real clients send is taken as it is meant, and what they need is there."""

import re
from typing import Any

import pytest

from tests.support.chat import DONE, ToolCall, chat_calls, chat_json, chat_stream, chunk, frame
from tests.support.checks import checked_response, checked_stream, output_text
from tests.support.client import Client, Json
from tests.support.upstream import ScriptedUpstream

FUNCTION: Json = {"type": "function", "name": "shell", "parameters": {"type": "object", "properties": {}}}
PIXEL = "data:image/png;base64,iVBORw0KGgo="


def input_items(client: Client, response: Json) -> list[Json]:
    """The response's own input, oldest first."""
    items: list[Json] = client.get(f"/responses/{response['id']}/input_items?order=asc&limit=100").json()[
        "data"
    ]
    return items


def test_messages_without_a_type_and_with_strings_are_kept_as_items_with_parts(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    parts = [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]
    given = [
        {"role": "system", "content": "S"},
        {"role": "user", "content": parts},
        {"role": "assistant", "content": "c"},
        {"type": "message", "role": "assistant", "phase": "final_answer", "content": "d"},
        {"type": None, "role": "user", "content": "e", "status": None, "id": None},
    ]
    response = checked_response(friend, friend.create(input=given).json())
    sent = upstream.wait_request().body["messages"]
    assert [(message["role"], message["content"]) for message in sent] == [
        ("system", "S"),
        ("user", "ab"),
        ("assistant", "c"),
        ("assistant", "d"),
        ("user", "e"),
    ]
    kept = input_items(friend, response)
    assert {(item["type"], item["status"]) for item in kept} == {("message", "completed")}
    assert [[part["text"] for part in item["content"]] for item in kept] == [
        ["S"],
        ["a", "b"],
        ["c"],
        ["d"],
        ["e"],
    ]
    assert [item.get("phase") for item in kept] == [None, None, None, "final_answer", None]
    assert len({item["id"] for item in kept}) == 5


EVERY_NULL: Any = dict.fromkeys(
    [
        *("previous_response_id", "tools", "tool_choice", "metadata", "text", "temperature", "top_p"),
        *(
            "presence_penalty",
            "frequency_penalty",
            "parallel_tool_calls",
            "stream_options",
            "max_output_tokens",
        ),
        *("max_tool_calls", "reasoning", "safety_identifier", "prompt_cache_key", "instructions"),
        *("top_logprobs", "store", "stream", "truncation", "background", "include", "service_tier", "user"),
        "conversation",
    ]
)


def test_nulls_everywhere_mean_the_defaults_and_reach_no_upstream(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    plain = friend.create(input="Hello").json()
    response = checked_response(friend, friend.create(input="Hello", **EVERY_NULL).json())
    changing = ("id", "created_at", "completed_at", "output")
    assert {**response, **{name: plain[name] for name in changing}} == plain
    defaults = {"tools": [], "tool_choice": "auto", "metadata": {}, "truncation": "disabled", "store": True}
    defaults |= {"parallel_tool_calls": True, "background": False, "presence_penalty": 0.0, "top_logprobs": 0}
    assert defaults.items() <= response.items()
    first, second = upstream.requests()
    assert first.body == second.body
    assert None not in second.body.values()


# As coding agents and the well-known libraries write them, at their most talkative.
REQUESTS: list[tuple[str, Json]] = [
    (
        "a coding agent",
        {
            "instructions": "You are a coding agent.",
            "input": [
                {
                    "type": "message",
                    "role": "developer",
                    "content": [{"type": "input_text", "text": "rules"}],
                },
                {
                    "type": "message",
                    "role": "user",
                    "content": [{"type": "input_text", "text": "list files"}],
                },
                {"type": "reasoning", "summary": [], "content": None, "encrypted_content": None},
                {
                    "type": "function_call",
                    "name": "shell",
                    "arguments": "{}",
                    "call_id": "call_1",
                    "id": "fc_theirs",
                },
                {"type": "function_call_output", "call_id": "call_1", "output": "a.txt"},
            ],
            "tools": [{**FUNCTION, "strict": False, "defer_loading": True}],
            "tool_choice": "auto",
            "parallel_tool_calls": False,
            "reasoning": {"effort": "medium", "summary": "auto", "context": "x"},
            "store": False,
            "include": ["reasoning.encrypted_content"],
            "service_tier": None,
            "prompt_cache_key": "0199-session",
            "text": {"verbosity": "low"},
            "client_metadata": {"x-turn": "1"},
        },
    ),
    (
        "an agents library",
        {
            "include": [],
            "input": [
                {"content": "hi", "role": "user"},
                {
                    "id": "msg_of_another_server",
                    "type": "message",
                    "role": "assistant",
                    "status": "completed",
                    "phase": None,
                    "content": [
                        {"type": "output_text", "text": "hello", "logprobs": None, "annotations": []}
                    ],
                },
                {"content": "go on", "role": "user", "status": "completed"},
            ],
            "metadata": None,
            "conversation": None,
            "context_management": None,
            "top_logprobs": None,
            "truncation": None,
            "user": None,
        },
    ),
    (
        "a parsing library",
        {
            "input": [
                {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
                {
                    "type": "function_call",
                    "call_id": "call_1",
                    "name": "shell",
                    "arguments": "{}",
                    "parsed_arguments": {},
                    "status": "completed",
                },
                {
                    "type": "function_call_output",
                    "call_id": "call_1",
                    "output": [],
                    "status": None,
                    "id": None,
                },
                {"role": "assistant", "content": [{"type": "output_text", "text": "done"}]},
                {"role": "user", "content": "again"},
            ],
            "text": {
                "format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}, "strict": True}
            },
            "max_output_tokens": 100,
            "generate": True,
            "some_future_field": {"deep": [1]},
        },
    ),
]


@pytest.mark.parametrize(("name", "body"), REQUESTS)
@pytest.mark.parametrize("accept", ["application/json", "*/*", "text/event-stream"])
def test_the_requests_of_real_clients_are_answered(
    name: str, body: Json, accept: str, friend: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_stream("Fine", "."), always=True)
    reader = friend if body.get("store") is not False else None
    sent = {"model": friend.model, **body, "stream": True}
    with friend.open("POST", "/responses", sent, {"accept": accept}) as exchange:
        exchange.read_all()
    assert output_text(checked_stream(exchange, reader)) == "Fine."
    answer = friend.request("POST", "/responses", {**sent, "stream": False}, {"accept": accept})
    assert (answer.status, output_text(answer.json())) == (200, "Fine.")


def test_what_clients_read_is_always_there(friend: Client, upstream: ScriptedUpstream) -> None:
    thought = frame(chunk({"reasoning_content": "Hm"}))
    call = {"index": 0, "id": "call_9", "function": {"name": "shell", "arguments": "{}"}}
    said = frame(chunk({"content": "Look:"})) + frame(chunk({"tool_calls": [call]}))
    upstream.reply(body=thought + said + frame(chunk({}, finish="tool_calls")) + DONE)
    exchange = friend.read_stream(input="Hello", tools=[FUNCTION])
    response = checked_stream(exchange, friend)
    reasoning, message, made = response["output"]
    prefixes = (("resp", response), ("rs", reasoning), ("msg", message), ("fc", made))
    assert all(re.fullmatch(prefix + r"_[0-9a-f]{44}", made["id"]) for prefix, made in prefixes)
    assert {item["status"] for item in response["output"]} == {"completed"}
    assert (reasoning["summary"], "encrypted_content" in reasoning, "phase" in message) == ([], False, False)
    assert message["content"][0]["annotations"] == []
    done = [event["item"] for event in exchange.events if event["type"] == "response.output_item.done"]
    assert done == response["output"]
    created = exchange.events[0]["response"]
    assert created.keys() == response.keys()
    assert (created["status"], created["output"], created["usage"]) == ("in_progress", [], None)


def test_items_come_back_with_or_without_what_we_gave_them(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_calls(ToolCall("shell", "{}", "call_1"), text="Look:"))
    first = friend.create(input="Hello", tools=[FUNCTION]).json()
    answer = {"type": "function_call_output", "call_id": "call_1", "output": "x"}
    bare = [
        {name: value for name, value in item.items() if name not in ("id", "status")}
        for item in first["output"]
    ]
    for items in (first["output"], bare):
        second = friend.create(
            input=[{"role": "user", "content": "Hello"}, *items, answer], tools=[FUNCTION]
        ).json()
        checked_response(friend, second)
        kept = input_items(friend, second)[1:3]
        for sent, stored in zip(first["output"], kept, strict=True):
            assert {**stored, "id": sent["id"]} == sent or sent["type"] == "message"
            assert stored["id"] != sent["id"]
    one, two = upstream.requests()[1:]
    assert one.body == two.body


def test_neither_tools_nor_settings_nor_instructions_are_inherited(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_json("ok"), always=True)
    settings: Json = {"temperature": 0.2, "max_output_tokens": 50, "reasoning": {"effort": "low"}}
    first = friend.create(
        input="a", instructions="Old.", tools=[FUNCTION], tool_choice="auto", **settings
    ).json()
    second = checked_response(friend, friend.create(input="b", previous_response_id=first["id"]).json())
    body = upstream.requests()[1].body
    assert {"tools", "tool_choice", "temperature", "max_tokens", "reasoning_effort"}.isdisjoint(body)
    assert [message["content"] for message in body["messages"]] == ["a", "ok", "b"]
    assert (second["tools"], second["temperature"], second["instructions"]) == ([], 1.0, None)


def test_an_image_and_a_tool_loop_stay_in_the_chain(friend: Client, upstream: ScriptedUpstream) -> None:
    upstream.reply(body=chat_json(calls=[ToolCall("shell", '{"city": "Cork"}', "call_w")]))
    image = {"type": "input_image", "image_url": "https://img.test.invalid/a%20b.png?x=1&y=2", "detail": None}
    asked = [{"role": "user", "content": [{"type": "input_text", "text": "weather?"}, image]}]
    first = friend.create(input=asked, tools=[FUNCTION]).json()
    answer = {"type": "function_call_output", "call_id": "call_w", "output": "11C"}
    second = friend.create(input=[answer], previous_response_id=first["id"], tools=[FUNCTION]).json()
    third = friend.create(input="and tomorrow?", previous_response_id=second["id"]).json()
    assert checked_response(friend, third)["previous_response_id"] == second["id"]
    messages = upstream.requests()[-1].body["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "assistant", "user"]
    assert messages[0]["content"] == [
        {"type": "text", "text": "weather?"},
        {"type": "image_url", "image_url": {"url": image["image_url"]}},
    ]
    assert (messages[1]["tool_calls"][0]["id"], messages[2]["content"]) == ("call_w", "11C")


@pytest.mark.parametrize(
    ("part", "param"),
    [
        ({"type": "input_image", "file_id": "file_1"}, "input[0].content[0].file_id"),
        ({"type": "input_image"}, "input[0].content[0].image_url"),
        ({"type": "input_image", "image_url": None}, "input[0].content[0].image_url"),
        ({"type": "input_image", "image_url": {"href": PIXEL}}, "input[0].content[0].image_url"),
        ({"type": "input_image", "image_url": "data:image/png,x"}, "input[0].content[0].image_url"),
        ({"type": "input_image", "image_url": PIXEL, "detail": "huge"}, "input[0].content[0].detail"),
        ({"type": "acme:part"}, "input[0].content[0].type"),
    ],
)
def test_an_image_that_is_none_is_refused_and_never_dropped(
    part: Json, param: str, friend: Client, upstream: ScriptedUpstream
) -> None:
    answer = friend.create(
        input=[{"role": "user", "content": [part, {"type": "input_text", "text": "what?"}]}]
    )
    assert (answer.status, answer.error["param"]) == (400, param)
    assert upstream.requests() == []


def test_an_image_in_the_shape_of_chat_completions_is_taken(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    image = {"type": "input_image", "image_url": {"url": PIXEL}}
    response = friend.create(input=[{"role": "user", "content": [image]}]).json()
    checked_response(friend, response)
    assert upstream.wait_request().body["messages"][0]["content"][0]["image_url"] == {"url": PIXEL}
    assert input_items(friend, response)[0]["content"][0]["image_url"] == PIXEL


def test_metadata_counts_characters_and_stays_here(
    friend: Client, stranger: Client, upstream: ScriptedUpstream
) -> None:
    metadata = {f"k{place:02}": "v" for place in range(15)} | {"é" * 64: "ü" * 512}
    response = checked_response(friend, friend.create(input="x", metadata=metadata).json())
    assert response["metadata"] == metadata
    assert "metadata" not in upstream.wait_request().body
    assert stranger.get(f"/responses/{response['id']}").status == 404
    faults: list[Any] = [
        {**metadata, "one": "more"},
        {"k": "v" * 513},
        {"k" * 65: "v"},
        {"k": 1},
        {"k": None},
        {"k": {}},
        [],
    ]
    for odd in faults:
        refused = friend.create(input="x", metadata=odd)
        assert (refused.status, refused.error["param"].partition(".")[0]) == (400, "metadata")


TOKEN = {"token": "Hi", "logprob": -0.5, "bytes": [72, 105], "top_logprobs": []}


@pytest.mark.parametrize("fields", [{"include": ["message.output_text.logprobs"]}, {"top_logprobs": 2}, {}])
def test_log_probabilities_are_told_to_those_who_ask(
    fields: Json, friend: Client, upstream: ScriptedUpstream
) -> None:
    choice = {"index": 0, "delta": {"content": "Hi"}, "finish_reason": None}
    told = {**chunk({}), "choices": [{**choice, "logprobs": {"content": [TOKEN]}} if fields else choice]}
    upstream.reply(body=frame(told) + frame(chunk({}, finish="stop")) + DONE)
    exchange = friend.read_stream(input="Hello", **fields)
    response = checked_stream(exchange, friend)
    expected: list[Any] = [TOKEN] if fields else []
    assert response["output"][0]["content"][0]["logprobs"] == expected
    assert exchange.read_event("response.output_text.delta")["logprobs"] == expected
    body = upstream.wait_request().body
    assert (body.get("logprobs"), body.get("top_logprobs")) == (
        True if fields else None,
        fields.get("top_logprobs"),
    )
    kept = friend.get(f"/responses/{response['id']}?include[]=message.output_text.logprobs").json()
    assert kept == response


@pytest.mark.parametrize(
    "value", ["web_search_call.action.sources", "file_search_call.results", "x", None, 5]
)
def test_an_include_that_the_schema_does_not_have_is_refused_with_those_it_has(
    value: Any, friend: Client
) -> None:
    answer = friend.create(input="x", include=["reasoning.encrypted_content", value])
    assert (answer.status, answer.error["param"]) == (400, "include[1]")
    if value == "x":
        assert "message.output_text.logprobs" in answer.error["message"]
