"""The whole service in front of a backend that speaks Messages: nothing that it needs back is lost on the way."""

from typing import Any

import pytest

from responses_api.models import Backend, Route
from responses_api.protocol.plain import Json
from responses_api.services import routing
from tests.support.chat import ToolCall, chat_calls
from tests.support.checks import checked_response, checked_stream, output_text, stored_response
from tests.support.client import Client
from tests.support.messages import (
    message_error,
    message_json,
    message_stream,
    redacted_block,
    text_block,
    thinking_block,
    tool_block,
)
from tests.support.upstream import ScriptedUpstream

MODEL = "thinker"
UPSTREAM_MODEL = "claude-opus-4-5"
INCLUDE = ["reasoning.encrypted_content"]
TOOLS = [
    {
        "type": "function",
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    }
]
THOUGHTS = [thinking_block("Need the tool. Ünd 🌍", "c2lnLTE="), redacted_block("EmwKAhgBEgy3va3pzix")]
CALL = tool_block("get_weather", {"city": "Oslo"}, id="toolu_r1")
EFFORT: Json = {"reasoning": {"effort": "medium"}}


@pytest.fixture
def thinker(backend: Backend, upstream: ScriptedUpstream) -> Backend:
    """The upstream as a backend of this kind, which serves `MODEL`."""
    made = Backend.objects.create(
        name="messages", kind="anthropic", base_url=upstream.base_url, api_key_env="TEST_UPSTREAM_KEY"
    )
    Route.objects.create(model=MODEL, backend=made, upstream_model=UPSTREAM_MODEL)
    routing.read_models()
    return made


def create(client: Client, *, stream: bool = False, **fields: Any) -> Json:
    """A response, checked as a stream or as JSON."""
    body: Json = {"model": MODEL, **fields}
    if stream:
        return checked_stream(client.read_stream(**body), client if body.get("store", True) else None)
    answer = client.create(**body)
    assert answer.status == 200, answer.body
    told: Json = answer.json()
    return checked_response(client, told) if body.get("store", True) else told


def sent(upstream: ScriptedUpstream, number: int = -1) -> list[Json]:
    messages: list[Json] = upstream.requests()[number].body["messages"]
    return messages


def answered(call_id: str = "toolu_r1") -> Json:
    return {"type": "function_call_output", "call_id": call_id, "output": "4C"}


# ---------------------------------------------------------------- state


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("stream", [False, True])
def test_a_tool_loop_that_stores_nothing_sends_back_what_was_thought_as_it_was(
    stream: bool, whole: bool, friend: Client, thinker: Backend, upstream: ScriptedUpstream
) -> None:
    make = message_json if whole else message_stream
    second = thinking_block("Once more.", "c2lnLTI=")
    upstream.reply("messages", body=make(*THOUGHTS, CALL, stop="tool_use"))
    upstream.reply(
        "messages",
        body=make(second, text_block("And Rome?"), tool_block("get_weather", {"city": "Rome"}, id="t2")),
    )
    upstream.reply("messages", body=make(text_block("4C in both.")))
    conversation: list[Json] = [{"role": "user", "content": "Oslo?"}]
    fields: Json = {"tools": TOOLS, "store": False, "include": INCLUDE, **EFFORT}
    for call_id in ("toolu_r1", "t2"):
        response = create(friend, stream=stream, input=conversation, **fields)
        reasoning = response["output"][0]
        assert reasoning["type"] == "reasoning"
        assert not any(secret in reasoning["encrypted_content"] for secret in ("c2lnLTE", "EmwKAhgB"))
        conversation += [*response["output"], answered(call_id)]
    assert output_text(create(friend, stream=stream, input=conversation, **fields)) == "4C in both."
    result = {"type": "tool_result", "content": [text_block("4C")]}
    assert sent(upstream) == [
        {"role": "user", "content": [text_block("Oslo?")]},
        {"role": "assistant", "content": [*THOUGHTS, CALL]},
        {"role": "user", "content": [{**result, "tool_use_id": "toolu_r1"}]},
        {
            "role": "assistant",
            "content": [
                second,
                text_block("And Rome?"),
                tool_block("get_weather", {"city": "Rome"}, id="t2"),
            ],
        },
        {"role": "user", "content": [{**result, "tool_use_id": "t2"}]},
    ]


def test_a_chain_keeps_it_too_and_no_other_tenant_or_model_gets_it(
    friend: Client, stranger: Client, thinker: Backend, upstream: ScriptedUpstream
) -> None:
    upstream.reply("messages", body=message_stream(*THOUGHTS, CALL, stop="tool_use"))
    first = create(friend, input="Oslo?", tools=TOOLS, include=INCLUDE, **EFFORT)
    following: Json = {"input": [answered()], "previous_response_id": first["id"], "tools": TOOLS}
    create(friend, **following, **EFFORT)
    assert sent(upstream)[1]["content"] == [*THOUGHTS, CALL]
    asked = upstream.requests()[-1].body
    assert asked["thinking"]["type"] == "enabled"
    assert "Need the tool" not in str([block for block in sent(upstream)[0]["content"]])
    # Another model reads the conversation without it.
    friend.create(**following)
    assert "Need the tool" not in str(upstream.requests()[-1].body)
    replayed = [{"role": "user", "content": "Oslo?"}, *first["output"], answered()]
    refused = stranger.create(model=MODEL, input=replayed, tools=TOOLS)
    assert (refused.status, refused.error["param"]) == (400, "input[1].encrypted_content")


def test_what_another_backend_called_goes_on_here_without_thinking(
    friend: Client, thinker: Backend, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_calls(ToolCall("get_weather", '{"city": "Oslo"}', "functions.get_weather:0")))
    first = friend.create(input="Oslo?", tools=TOOLS).json()
    answer = answered("functions.get_weather:0")
    create(friend, input=[answer], previous_response_id=first["id"], tools=TOOLS, **EFFORT)
    request = upstream.requests()[-1].body
    assert "thinking" not in request
    (call,) = request["messages"][1]["content"]
    assert call["input"] == {"city": "Oslo"}
    assert request["messages"][2]["content"][0]["tool_use_id"] == call["id"]


# ---------------------------------------------------------------- pauses


@pytest.mark.parametrize("stream", [False, True])
def test_a_paused_answer_goes_on_within_the_same_response(
    stream: bool, friend: Client, thinker: Backend, upstream: ScriptedUpstream
) -> None:
    upstream.reply("messages", body=message_stream(text_block("One, "), stop="pause_turn", usage=(10, 4)))
    upstream.reply("messages", body=message_stream(text_block("two."), usage=(14, 2)))
    response = create(friend, stream=stream, input="Count.")
    assert response["status"] == "completed"
    assert output_text(response) == "One, two."
    assert response["usage"]["input_tokens"] == 24
    assert response["usage"]["output_tokens"] == 6
    assert len(response["output"]) == 1
    assert [message["role"] for message in sent(upstream)] == ["user", "assistant"]
    assert stored_response(friend, response["id"])["status"] == "completed"


# ---------------------------------------------------------------- the rest


def test_the_credential_and_the_version_go_in_the_headers_of_this_format(
    friend: Client, thinker: Backend, upstream: ScriptedUpstream
) -> None:
    create(friend, input="Hello")
    request = upstream.requests()[-1]
    assert request.path == "/v1/messages"
    assert request.headers["x-api-key"]
    assert request.headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in request.headers


@pytest.mark.parametrize("stream", [False, True])
def test_what_is_sent_the_reference_takes_and_what_comes_is_an_answer(
    stream: bool, friend: Client, thinker: Backend, upstream: ScriptedUpstream
) -> None:
    """The actor refuses what the published reference refuses."""
    first = create(friend, stream=stream, input="get_weather, please", tools=TOOLS, **EFFORT)
    assert [item["type"] for item in first["output"]] == ["reasoning", "function_call"]
    told = answered(first["output"][1]["call_id"])
    second = create(
        friend, stream=stream, input=[told], previous_response_id=first["id"], tools=TOOLS, **EFFORT
    )
    assert output_text(second) == "The tool returned: 4C"
    third = create(
        friend, input="The code word is plum. What is the code word?", previous_response_id=second["id"]
    )
    assert output_text(third) == "plum"
    form = {"format": {"type": "json_schema", "name": "a", "schema": TOOLS[0]["parameters"]}}
    assert output_text(create(friend, input="Where?", text=form)) == '{"city": "San Francisco"}'
    cut = create(friend, input="Count from 1 to 90", max_output_tokens=20)
    assert cut["incomplete_details"] == {"reason": "max_output_tokens"}
    forced = create(
        friend, input="x", tools=TOOLS, tool_choice={"type": "function", "name": "get_weather"}, **EFFORT
    )
    assert forced["output"][0]["type"] == "function_call"


def test_a_conversation_is_compacted_and_truncated_as_anywhere(
    friend: Client, thinker: Backend, upstream: ScriptedUpstream
) -> None:
    upstream.reply("messages", body=message_stream(thinking_block("Hm."), text_block("They met.")))
    asked: Json = {"model": MODEL, "input": [{"role": "user", "content": "Hello"}]}
    compacted = friend.request("POST", "/responses/compact", asked).json()
    assert compacted["output"][-1]["type"] == "compaction"
    going_on = create(friend, input=[*compacted["output"], {"role": "user", "content": "Go on"}])
    assert going_on["status"] == "completed"
    assert "They met." in str(sent(upstream))
    Route.objects.filter(model=MODEL).update(context_window=60)
    routing.read_models()
    long = [{"role": "user", "content": "word " * 40}, {"role": "assistant", "content": "I see."}]
    told = create(friend, input=[*long, {"role": "user", "content": "Hello"}], truncation="auto")
    assert told["antiphon:truncation"]["dropped_turns"] == 1
    assert len(sent(upstream)) == 1


@pytest.mark.parametrize(
    ("status", "kind", "message", "expected", "code"),
    [
        (529, "overloaded_error", "Overloaded", 503, "overloaded"),
        (429, "rate_limit_error", "Slow down", 429, "rate_limit_exceeded"),
        (
            400,
            "invalid_request_error",
            "prompt is too long: 9 tokens > 8 maximum",
            400,
            "context_length_exceeded",
        ),
        (401, "authentication_error", "invalid x-api-key sk-upstream-secret", 500, "upstream_error"),
    ],
)
def test_refusals_reach_the_client_as_what_they_are(
    status: int,
    kind: str,
    message: str,
    expected: int,
    code: str,
    friend: Client,
    thinker: Backend,
    upstream: ScriptedUpstream,
) -> None:
    upstream.reply(
        "messages", body=message_error(kind, message), status=status, headers={"retry-after": "30"}
    )
    answer = friend.create(model=MODEL, input="Hello")
    assert (answer.status, answer.error["code"]) == (expected, code)
    assert answer.headers.get("retry-after") == ("30" if expected in (429, 503) else None)
    assert b"sk-upstream" not in answer.body


@pytest.mark.parametrize("end", ["close", "reset"])
def test_a_stream_that_is_cut_off_is_a_failure(
    end: Any, friend: Client, stranger: Client, thinker: Backend, upstream: ScriptedUpstream
) -> None:
    whole = message_stream(CALL, stop="tool_use")
    upstream.reply("messages", body=whole[: whole.index(b"event: content_block_stop")], end=end)
    response = create(friend, stream=True, input="Oslo?", tools=TOOLS)
    assert response["status"] == "failed"
    assert [item["status"] for item in response["output"]] == ["incomplete"]
    assert stored_response(friend, response["id"])["status"] == "failed"
    assert stranger.get(f"/responses/{response['id']}").status == 404


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"temperature": 1.5}, "temperature"),
        ({"top_logprobs": 2}, "top_logprobs"),
        ({"presence_penalty": 1}, "presence_penalty"),
        ({"text": {"format": {"type": "json_object"}}}, "text.format.type"),
        (
            {"tools": [{"type": "function", "name": "a", "parameters": {"type": "string"}}]},
            "tools[0].parameters",
        ),
    ],
)
def test_what_the_format_cannot_carry_is_refused_before_anything_is_sent(
    fields: Json, param: str, friend: Client, thinker: Backend, upstream: ScriptedUpstream
) -> None:
    answer = friend.create(model=MODEL, input="Hello", **fields)
    assert (answer.status, answer.error["code"], answer.error["param"]) == (400, "unsupported_value", param)
    assert upstream.requests() == []
    assert friend.get("/responses").json()["data"] == []
