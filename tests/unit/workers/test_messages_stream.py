"""Messages answers as parts: what goes into the state, how a paused one goes on, how an answer has a form."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from responses_api.protocol.backend import BackendSpec
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.plain import Json
from tests.support.messages import (
    event,
    message_json,
    message_stream,
    redacted_block,
    text_block,
    thinking_block,
    tool_block,
)
from tests.unit.workers.messages import LOOK, OLDEST, body, job
from tests.unit.workers.server import Exchange, upstream
from tests.unit.workers.told import final, new_emitter, read_back
from workers.backends.answer import AnswerStream
from workers.backends.anthropic.stream import MessagesStream
from workers.backends.client import UpstreamClient
from workers.backends.credentials import by_variable
from workers.backends.errors import from_status
from workers.backends.parts import (
    CallDelta,
    Part,
    ReasoningDelta,
    StateReport,
    Stop,
    SummaryDelta,
    TextDelta,
    UsageReport,
)
from workers.backends.pausing import resumed
from workers.backends.registry import adapter_for, adapter_of

FORM: Json = {"format": {"type": "json_schema", "name": "a", "schema": {"type": "object", "properties": {}}}}
ASKED: Json = {"messages": [{"role": "user", "content": [text_block("hello")]}], "stream": True}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"encrypted": "Zm9v"}]}


def read(stream: AnswerStream, raw: bytes, cuts: int | None = None) -> list[Part]:
    pieces = [raw] if cuts is None else [raw[at : at + cuts] for at in range(0, len(raw), cuts)]
    return [part for piece in pieces for part in stream.feed(piece)] + stream.close()


def states(parts: list[Part]) -> list[Json]:
    return [part.state for part in parts if isinstance(part, StateReport)]


def said(parts: list[Part]) -> str:
    return "".join(part.text for part in parts if isinstance(part, TextDelta))


# ---------------------------------------------------------------- state

BLOCKS = [
    {**thinking_block("Ünder 🌍 thought."), "kind": "new"},
    redacted_block("RWx3"),
    thinking_block("", "c2lnLTI="),
]


@pytest.mark.parametrize("cuts", [None, 7])
def test_thinking_is_kept_as_it_was_told_block_by_block(cuts: int | None) -> None:
    for raw in (message_stream(*BLOCKS, text_block("42.")), message_json(*BLOCKS, text_block("42."))):
        parts = read(MessagesStream(), raw, cuts)
        assert states(parts) == BLOCKS
        kinds = [type(part) for part in parts if not isinstance(part, UsageReport)]
        assert kinds.index(TextDelta) > len(kinds) - 1 - kinds[::-1].index(StateReport)


def test_a_thought_that_was_cut_off_is_no_state() -> None:
    raw = message_stream(thinking_block("Hm."))
    stream = MessagesStream()
    parts = stream.feed(raw[: raw.index(b"event: content_block_stop")])
    assert [type(part) for part in parts if isinstance(part, ReasoningDelta)]
    with pytest.raises(ProtocolError):
        stream.close()
    assert states(parts) == []


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        ("claude-opus-5", SummaryDelta),
        ("claude-3-7-sonnet-20250219", ReasoningDelta),
        ("qwen3", ReasoningDelta),
    ],
)
def test_what_newer_models_tell_of_their_thinking_is_a_summary(model: str, kind: type[Part]) -> None:
    stream = adapter_for("anthropic").open_stream(job(model))
    told = {type(part) for part in read(stream, message_stream(thinking_block("Hm.")))}
    assert told == {kind, StateReport, UsageReport, Stop}


def test_lone_surrogates_are_mended_in_what_is_kept() -> None:
    raw = message_stream(thinking_block("Hm."), pieces=1).replace(b"Hm.", rb"H\ud800m")
    (state,) = states(read(MessagesStream(), raw))
    assert state["thinking"] == "H\ufffdm"


def test_input_that_is_nested_too_deeply_fails_the_answer() -> None:
    deep = b'{"a":' * 990 + b"1" + b"}" * 990
    raw = message_json(tool_block("look", {"a": "DEEP"})).replace(b'"DEEP"', deep)
    with pytest.raises(ProtocolError) as caught:
        read(MessagesStream(), raw)
    assert caught.value.type == "model_error"


# ---------------------------------------------------------------- pauses


def test_a_paused_message_goes_back_whole_and_what_follows_is_the_same_answer() -> None:
    stream = MessagesStream()
    blocks = [thinking_block("Search."), SEARCH, FOUND, text_block("So far.")]
    first = read(stream, message_stream(*blocks, stop="pause_turn", usage=(10, 4)))
    assert not [part for part in first if isinstance(part, Stop)]
    going_on = stream.resume(ASKED)
    assert going_on == {
        **ASKED,
        "messages": [*ASKED["messages"], {"role": "assistant", "content": blocks}],
    }
    assert not stream.finished
    rest = read(stream, message_stream(text_block("The end."), usage=(30, 6)), 5)
    assert rest[-1] == Stop("stop")
    assert said(first + rest) == "So far.The end."
    assert len({part.key for part in first + rest if isinstance(part, TextDelta)}) == 2
    assert [part for part in rest if isinstance(part, UsageReport)][-1].to_usage()["total_tokens"] == 50
    assert stream.resume(ASKED) is None


@pytest.mark.parametrize(
    ("thinking", "limits"),
    [({}, [60, 20, 1]), ({"thinking": {"type": "enabled", "budget_tokens": 30}}, [60, 31, 31])],
)
def test_the_parts_of_a_paused_answer_are_together_no_longer_than_it_may_be(
    thinking: Json, limits: list[int]
) -> None:
    stream, asked = MessagesStream(), {**ASKED, **thinking, "max_tokens": 100}
    for limit in limits:
        read(stream, message_stream(text_block("."), stop="pause_turn", usage=(10, 40)))
        again = stream.resume(asked)
        assert again is not None
        assert again["max_tokens"] == limit
        asked = again


def test_an_answer_that_is_paused_for_ever_fails() -> None:
    stream, told = MessagesStream(), message_stream(text_block("."), stop="pause_turn")

    def go_on_for_ever() -> None:
        while True:
            read(stream, told)
            assert stream.resume(ASKED) is not None

    with pytest.raises(ProtocolError) as caught:
        go_on_for_ever()
    assert caught.value.type == "model_error"
    assert "paused" in caught.value.message


@pytest.mark.parametrize("reasoning", ["raw", "none"])
async def test_the_client_asks_for_the_rest_within_the_same_answer(reasoning: str) -> None:
    answers = [
        message_stream(text_block("One, "), stop="pause_turn"),
        message_stream(text_block("two, "), stop="pause_turn"),
        message_stream(text_block("three.")),
    ]

    async def answer(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.piece(answers.pop(0))
        await exchange.end()

    async with upstream(answer) as server:
        asked = job(base_url=server.url, kind="anthropic", api_key_env="SPARROW_KEY")
        asked.backend["reasoning"] = reasoning
        async with UpstreamClient(secret=by_variable({"SPARROW_KEY": "sk"}.get)) as client:
            told = [parts async for parts in client.stream(asked)]
    parts = [part for some in told for part in some]
    assert told[0] == []
    assert said(parts) == "One, two, three."
    assert [part for part in parts if isinstance(part, Stop)] == [Stop("stop")]
    assert [len(sent["messages"]) for _, sent in server.requests] == [1, 2, 3]
    assert all(headers["x-api-key"] == "sk" for headers, _ in server.requests)
    assert server.requests[2][1]["messages"][1:] == [
        {"role": "assistant", "content": [text_block("One, ")]},
        {"role": "assistant", "content": [text_block("two, ")]},
    ]
    assert server.connections == 1


async def test_a_refusal_of_the_rest_ends_the_answer_as_what_it_is() -> None:
    paused = message_stream(text_block("One, "), stop="pause_turn")
    replies = [
        (200, paused),
        (529, b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'),
    ]

    async def answer(exchange: Exchange) -> None:
        status, told = replies.pop(0)
        await exchange.head(status)
        await exchange.piece(told)
        await exchange.end()

    async with upstream(answer) as server, UpstreamClient(secret=by_variable(lambda name: None)) as client:
        parts: list[Part] = []

        async def listen() -> None:
            async for some in client.stream(job(base_url=server.url, kind="anthropic")):
                parts.extend(some)

        with pytest.raises(ProtocolError) as caught:
            await listen()
    assert said(parts) == "One, "
    assert caught.value.code == "overloaded"


# ---------------------------------------------------------------- an answer that a tool takes


def formed(raw: bytes, cuts: int | None = None, **fields: Any) -> list[Part]:
    asked = job(OLDEST, text=FORM, **fields)
    return read(adapter_for("anthropic").open_stream(asked), raw, cuts)


ANSWER = body(OLDEST, text=FORM)["tools"][0]["name"]


@pytest.mark.parametrize("cuts", [None, 3])
def test_what_the_answering_tool_is_called_with_is_the_text(cuts: int | None) -> None:
    told = (text_block("Let me see."), tool_block(ANSWER, {"ok": True}))
    for raw in (message_stream(*told, stop="tool_use"), message_json(*told, stop="tool_use")):
        parts = formed(raw, cuts)
        assert said(parts).replace(" ", "") == '{"ok":true}'
        assert not [part for part in parts if isinstance(part, CallDelta)]
    assert said(formed(message_stream(tool_block(ANSWER), stop="tool_use"))) == "{}"


def test_a_function_may_be_called_instead_and_what_was_said_before_it_stays() -> None:
    raw = message_stream(text_block("Let me look."), tool_block("look"), stop="tool_use")
    parts = formed(raw, tools=[LOOK])
    kinds = [type(part) for part in parts if not isinstance(part, UsageReport)]
    assert said(parts) == "Let me look."
    assert kinds.index(CallDelta) > kinds.index(TextDelta)


@pytest.mark.parametrize("stop", ["end_turn", "max_tokens"])
@pytest.mark.parametrize("text", ["It is ok.", '{"ok": true}', '{"ok'])
def test_text_in_the_place_of_the_call_is_no_answer(text: str, stop: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        formed(message_stream(text_block(text), stop=stop))
    assert caught.value.type == "model_error"
    assert "text.format" in caught.value.message


def test_what_was_said_until_the_filter_stopped_it_is_told() -> None:
    assert said(formed(message_stream(text_block("I can"), stop="refusal"))) == "I can"


@pytest.mark.parametrize("model", ["qwen3", "claude-opus-5"])
def test_tools_that_are_emulated_are_called_through_the_form_of_the_answer(model: str) -> None:
    asked = job(model, kind="anthropic", tools=[LOOK])
    asked.backend["tools"] = "emulated"
    adapter = adapter_of(BackendSpec.from_plain(asked.backend))
    told = adapter.build(asked)
    turn = {"tool": "look", "arguments": {}}
    if "tools" in told:
        raw = message_stream(tool_block(told["tools"][0]["name"], turn), stop="tool_use")
    else:
        raw = message_stream(text_block(json.dumps(turn)))
    paused = adapter.open_stream(asked)
    read(paused, message_stream(text_block("{"), stop="pause_turn"))
    assert resumed(paused, ASKED) is not None
    parts = read(adapter.open_stream(asked), raw)
    assert [part.name for part in parts if isinstance(part, CallDelta) and part.name] == ["look"]
    assert parts[-1] == Stop("tool_calls")
    assert said(parts) == ""


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("status", "kind", "message", "code"),
    [
        (529, "overloaded_error", "Overloaded", "overloaded"),
        (429, "rate_limit_error", "Number of requests", "rate_limit_exceeded"),
        (
            400,
            "invalid_request_error",
            "prompt is too long: 215000 tokens > 200000 maximum",
            "context_length_exceeded",
        ),
        (
            400,
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
            "context_length_exceeded",
        ),
        (400, "invalid_request_error", "messages.1: tool_use ids must be unique", "upstream_rejected"),
        (400, "invalid_request_error", "Your credit balance is too low to access the API.", "upstream_error"),
        (401, "authentication_error", "invalid x-api-key", "upstream_error"),
        (404, "not_found_error", "model: claude-9", "upstream_error"),
        (413, "request_too_large", "Request exceeds the maximum size", "upstream_rejected"),
        (500, "api_error", "prompt is too long", "upstream_error"),
        (504, "timeout_error", "Request timed out", "upstream_timeout"),
    ],
)
def test_refusals_by_status(status: int, kind: str, message: str, code: str) -> None:
    raw = event("x", error={"type": kind, "message": message}).split(b"data: ")[1]
    error = from_status(status, {"retry-after": "30"}, raw)
    assert error.code == code
    assert "credit" not in error.message
    if code in ("overloaded", "rate_limit_exceeded"):
        assert error.retry_after == 30


# ---------------------------------------------------------------- whatever an upstream says

JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
NAMES = (
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "error",
)


def loosely(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """An object with some of the fields, each as it should be or anything else; now and then no object at all."""
    return JUNK | st.fixed_dictionaries({}, optional={name: each | JUNK for name, each in fields.items()})


TEXTS = st.sampled_from(["", "a", "{", '{"a":1}', "\ud800", "\x00"])
BLOCK = loosely(
    type=st.sampled_from(["text", "thinking", "redacted_thinking", "tool_use", "server_tool_use"]),
    text=TEXTS,
    thinking=TEXTS,
    signature=TEXTS,
    id=TEXTS,
    name=TEXTS,
    input=JUNK,
    citations=JUNK,
)
DELTA = loosely(
    type=st.sampled_from(
        ["text_delta", "thinking_delta", "signature_delta", "input_json_delta", "citations_delta"]
    ),
    text=TEXTS,
    thinking=TEXTS,
    signature=TEXTS,
    partial_json=TEXTS,
    stop_reason=st.sampled_from(["end_turn", "pause_turn", "max_tokens"]),
)
EVENT = loosely(
    type=st.sampled_from(NAMES),
    index=st.integers(0, 2),
    content_block=BLOCK,
    delta=DELTA,
    content=st.lists(BLOCK, max_size=2),
    message=loosely(usage=JUNK),
    usage=loosely(input_tokens=JUNK, output_tokens=JUNK, output_tokens_details=JUNK),
    error=JUNK,
)


@settings(max_examples=200, deadline=None)
@given(st.lists(EVENT, max_size=6), st.booleans(), st.booleans())
def test_no_json_breaks_the_reader_or_what_is_told(values: list[Any], is_whole: bool, has_form: bool) -> None:
    stream = MessagesStream(answer_tool="a" if has_form else None)
    emitter = new_emitter(seal=lambda kind, content: orjson.dumps(content).decode())
    emitter.start()
    chunks = [b"data: " + json.dumps(value).encode() + b"\n\n" for value in values]
    if is_whole and values:
        chunks = [json.dumps(values[0]).encode()]
    parts = [part for chunk in (*chunks, event("message_stop")) for part in stream.feed(chunk)]
    try:
        for part in parts + stream.close():
            emitter.feed(part)
        orjson.dumps(stream.resume(ASKED))
        emitter.finish()
    except ProtocolError as error:
        emitter.fail(error)
    assert final(read_back(emitter)) == emitter.response
