"""The loop over each wire format: the second round reads the call and what came of it, with the state of the first."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from responses_api.models import Backend
from responses_api.services import routing
from tests.integration.tools.reading import TOOLS, receipts
from tests.support import messages, responses
from tests.support.abacus import Abacus
from tests.support.chat import ToolCall, chat_calls, chat_stream
from tests.support.checks import checked_response, checked_stream, output_text
from tests.support.client import Client, Json
from tests.support.gemini import call_part, gemini_stream, text_part
from tests.support.upstream import ScriptedUpstream

GIVEN = {"a": 2, "b": 3}
SIGNATURE = "c2lnLTE="


@dataclass(frozen=True)
class Format:
    """A wire format: how its two answers are told, and what of the second request tells the call and its output."""

    kind: str
    script: str
    first: bytes
    last: bytes
    told: Callable[[Any], Sequence[Any]]
    state: str = ""
    features: tuple[str, ...] = ()


def of_chat(body: Json) -> Sequence[Any]:
    call, output = body["messages"][-2:]
    function = call["tool_calls"][0]["function"]
    assert output["tool_call_id"] == call["tool_calls"][0]["id"]
    return function["name"], json.loads(function["arguments"]), output["content"]


def of_messages(body: Json) -> Sequence[Any]:
    call = body["messages"][-2]["content"][-1]
    output = body["messages"][-1]["content"][0]
    assert output["tool_use_id"] == call["id"]
    content = output["content"]
    return call["name"], call["input"], content if isinstance(content, str) else content[0]["text"]


def of_gemini(body: Json) -> Sequence[Any]:
    call = body["contents"][-2]["parts"][-1]["functionCall"]
    output = body["contents"][-1]["parts"][0]["functionResponse"]["response"]
    return call["name"], call["args"], str(next(iter(output.values())))


def of_responses(body: Json) -> Sequence[Any]:
    call, output = body["input"][-2:]
    assert output["call_id"] == call["call_id"]
    return call["name"], json.loads(call["arguments"]), output["output"]


FORMATS = [
    Format(
        "chat_completions",
        "chat",
        chat_calls(ToolCall("add", json.dumps(GIVEN))),
        chat_stream("It is 5."),
        of_chat,
    ),
    Format(
        "anthropic",
        "messages",
        messages.message_stream(
            messages.thinking_block("Add them.", SIGNATURE),
            messages.tool_block("add", GIVEN),
            stop="tool_use",
        ),
        messages.message_stream(messages.text_block("It is 5.")),
        of_messages,
        SIGNATURE,
    ),
    Format(
        "gemini",
        "gemini",
        gemini_stream(call_part("add", GIVEN, signature=SIGNATURE)),
        gemini_stream(text_part("It is 5.")),
        of_gemini,
        SIGNATURE,
    ),
    Format(
        "responses",
        "responses",
        responses.stream(
            responses.reasoning("sealed by the upstream"), responses.call("add", json.dumps(GIVEN))
        ),
        responses.stream(responses.message("It is 5.")),
        of_responses,
        "sealed by the upstream",
        ("encrypted_content",),
    ),
]


@pytest.fixture(params=FORMATS, ids=lambda wire: wire.kind)
def wire(request: pytest.FixtureRequest, abacus: Abacus, upstream: ScriptedUpstream) -> Format:
    """The format that the backend of this test speaks."""
    found: Format = request.param
    Backend.objects.update(kind=found.kind, native_features=found.features)
    routing.read_models()
    upstream.reply(found.script, body=found.first)
    upstream.reply(found.script, body=found.last)
    return found


@pytest.mark.parametrize("stream", [True, False])
def test_the_second_round_reads_the_call_its_output_and_the_state_of_the_first(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus, wire: Format, stream: bool
) -> None:
    body: Json = {"input": "2 + 3?", "tools": TOOLS, "reasoning": {"effort": "low"}}
    if stream:
        final = checked_stream(friend.read_stream(**body), friend)
    else:
        final = checked_response(friend, friend.create(**body).json())
    assert (final["status"], output_text(final)) == ("completed", "It is 5.")
    (receipt,) = receipts(final)
    assert (receipt["name"], json.loads(receipt["arguments"]), receipt["output"]) == ("add", GIVEN, "5")
    asked = upstream.requests()[1]
    assert tuple(wire.told(asked.body)) == ("add", GIVEN, "5")
    assert wire.state in json.dumps(asked.body)
    assert len(abacus.ran) == 1


def test_the_next_response_of_the_chain_reads_the_same(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus, wire: Format
) -> None:
    first = friend.create(input="2 + 3?", tools=TOOLS, reasoning={"effort": "low"}).json()
    second = list(upstream.requests()[1].body.items())
    upstream.reply(wire.script, body=wire.last)
    final = friend.create(
        input="Sure?", tools=TOOLS, reasoning={"effort": "low"}, previous_response_id=first["id"]
    ).json()
    assert final["status"] == "completed"
    asked = upstream.requests()[2].body
    for name, value in second:
        if name in ("messages", "contents", "input"):
            assert without_caching(asked[name][: len(value)]) == without_caching(value)


def without_caching(value: Any) -> Any:
    """What marks the end of what is cached moves on with the conversation."""
    if isinstance(value, dict):
        return {name: without_caching(inner) for name, inner in value.items() if name != "cache_control"}
    return [without_caching(inner) for inner in value] if isinstance(value, list) else value
