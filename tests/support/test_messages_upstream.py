"""The scripted upstream speaks Messages as Anthropic's own client understands it, and the adapter reads the same bytes.

What the client makes of a reply is held against what the adapter makes of it: both must have heard the same.
"""

import json
from collections.abc import Iterator
from typing import Any

import anthropic
import pytest

from tests.support.chat import Json
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
from tests.unit.workers.messages import job
from workers.backends.anthropic.stream import MessagesStream
from workers.backends.parts import CallDelta, Part, ReasoningDelta, StateReport, TextDelta, UsageReport
from workers.backends.registry import adapter_for

MODEL = "upstream-claude"
WEATHER: Json = {
    "name": "get_weather",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
ASKED: Json = {"role": "user", "content": "Weather?"}
ANSWERS: dict[str, list[Json]] = {
    "text": [text_block("Hello, wörld 🌍.")],
    "two calls": [
        text_block("Let me look."),
        tool_block("get_weather", {"city": "Oslo"}, id="toolu_01"),
        tool_block("list_all", {}, id="toolu_02"),
    ],
    "thinking": [
        thinking_block("Need the tool."),
        redacted_block("EmwKAhgB"),
        tool_block("get_weather", {"city": "Oslo"}),
    ],
}


@pytest.fixture
def upstream() -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream(actor=True) as started:
        yield started


@pytest.fixture
def client(upstream: ScriptedUpstream) -> Iterator[anthropic.Anthropic]:
    url = upstream.base_url.removesuffix("/v1")
    with anthropic.Anthropic(base_url=url, api_key="sk-test", max_retries=0) as made:
        yield made


def ask(client: anthropic.Anthropic, *, stream: bool = False, **fields: Any) -> anthropic.types.Message:
    """What the client makes of the answer, streamed or whole."""
    asked: Json = {"model": MODEL, "max_tokens": 4000, "messages": [ASKED], **fields}
    if not stream:
        whole: anthropic.types.Message = client.messages.create(**asked)
        return whole
    with client.messages.stream(**asked) as answer:
        return answer.get_final_message()


def heard(raw: bytes) -> tuple[list[Part], Json]:
    """What the adapter makes of the same bytes, and the same as the blocks of a message."""
    stream = MessagesStream()
    parts = [part for at in range(len(raw)) for part in stream.feed(raw[at : at + 1])] + stream.close()
    told: Json = {"text": "", "thinking": "", "states": [], "calls": {}}
    for part in parts:
        if isinstance(part, TextDelta):
            told["text"] += part.text
        elif isinstance(part, ReasoningDelta):
            told["thinking"] += part.text
        elif isinstance(part, StateReport):
            told["states"].append(part.state)
        elif isinstance(part, CallDelta):
            call = told["calls"].setdefault(part.key, {"id": None, "name": None, "arguments": ""})
            call["id"], call["name"] = call["id"] or part.call_id, call["name"] or part.name
            call["arguments"] += part.arguments
    return parts, told


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("kind", ANSWERS)
def test_the_client_and_the_adapter_hear_the_same(
    kind: str, stream: bool, client: anthropic.Anthropic, upstream: ScriptedUpstream
) -> None:
    blocks = ANSWERS[kind]
    stop = "tool_use" if kind != "text" else "end_turn"
    make = message_stream if stream else message_json
    raw = make(*blocks, stop=stop, usage=(11, 7))
    upstream.reply("messages", body=raw)
    message = ask(client, stream=stream)
    assert [block.to_dict() for block in message.content] == blocks
    assert message.stop_reason == stop
    parts, told = heard(raw)
    assert told["text"] == "".join(block.text for block in message.content if block.type == "text")
    assert told["states"] == [block for block in blocks if "thinking" in block["type"]]
    assert [
        {
            "type": "tool_use",
            "id": call["id"],
            "name": call["name"],
            "input": json.loads(call["arguments"] or "{}"),
        }
        for call in told["calls"].values()
    ] == [block for block in blocks if block["type"] == "tool_use"]
    usage = [part for part in parts if isinstance(part, UsageReport)][-1]
    assert (usage.input_tokens, usage.output_tokens) == (
        message.usage.input_tokens,
        message.usage.output_tokens,
    )


@pytest.mark.parametrize("stream", [True, False])
def test_a_tool_loop_with_thinking_goes_round(stream: bool, client: anthropic.Anthropic) -> None:
    thinking = {"type": "enabled", "budget_tokens": 2000}
    first = ask(client, stream=stream, tools=[WEATHER], thinking=thinking)
    assert [block.type for block in first.content] == ["thinking", "tool_use"]
    call = first.content[1]
    assert call.type == "tool_use"
    assert call.input == {"city": "San Francisco"}
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "4C"}
    talk = [ASKED, {"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
    second = ask(client, stream=stream, tools=[WEATHER], thinking=thinking, messages=talk)
    said = second.content[-1]
    assert said.type == "text"
    assert said.text == "The tool returned: 4C"
    assert second.stop_reason == "end_turn"


def test_the_client_calls_where_the_adapter_does(
    client: anthropic.Anthropic, upstream: ScriptedUpstream
) -> None:
    ask(client)
    assert upstream.wait_request().path == "/v1" + adapter_for("anthropic").path(job())


@pytest.mark.parametrize(
    ("status", "kind", "expected"),
    [
        (400, "invalid_request_error", anthropic.BadRequestError),
        (401, "authentication_error", anthropic.AuthenticationError),
        (429, "rate_limit_error", anthropic.RateLimitError),
        (529, "overloaded_error", anthropic.InternalServerError),
    ],
)
def test_errors_are_the_clients_errors(
    status: int,
    kind: str,
    expected: type[anthropic.APIStatusError],
    client: anthropic.Anthropic,
    upstream: ScriptedUpstream,
) -> None:
    upstream.reply("messages", body=message_error(kind, "No."), status=status)
    with pytest.raises(expected) as caught:
        ask(client)
    assert caught.value.status_code == status
    assert caught.value.body == json.loads(message_error(kind, "No."))


CALLED = [ASKED, {"role": "assistant", "content": [tool_block("get_weather", {"city": "Oslo"})]}]


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"messages": [{"role": "assistant", "content": "Hi."}]}, "first message"),
        ({"messages": [{"role": "user", "content": " "}]}, "non-whitespace"),
        ({"messages": [*CALLED, ASKED]}, "tool_result"),
        ({"thinking": {"type": "enabled", "budget_tokens": 4000}}, "budget_tokens"),
        ({"tool_choice": {"type": "auto"}}, "tool_choice"),
        ({"tools": [{"name": "a", "input_schema": {}}]}, "input_schema"),
    ],
)
def test_it_refuses_what_the_reference_does(fields: Json, word: str, client: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.BadRequestError, match=word):
        ask(client, **fields)
