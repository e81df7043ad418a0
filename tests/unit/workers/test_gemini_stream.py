"""Whatever an upstream of generateContent sends, its reader neither breaks nor depends on how the bytes are cut."""

import itertools
import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.plain import Json
from tests.unit.workers.builders import make_job
from workers.backends.gemini.framing import ObjectReader
from workers.backends.parts import Part, StateReport, Stop, SummaryDelta, TextDelta
from workers.backends.registry import adapter_for

Outcome = tuple[list[Part], dict[str, Any] | None]

REASONS = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    **dict.fromkeys(
        (
            "SAFETY",
            "RECITATION",
            "LANGUAGE",
            "BLOCKLIST",
            "PROHIBITED_CONTENT",
            "SPII",
            "ESCALATION",
            "MODEL_ARMOR",
        ),
        "content_filter",
    ),
    **dict.fromkeys(("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"), "content_filter"),
}
FAILURES = (
    "MALFORMED_FUNCTION_CALL",
    "UNEXPECTED_TOOL_CALL",
    "TOO_MANY_TOOL_CALLS",
    "MISSING_THOUGHT_SIGNATURE",
    "MALFORMED_RESPONSE",
    "OTHER",
    "NO_IMAGE",
    "IMAGE_OTHER",
    "PUP_LIMITED_DISABLED",
    "WHAT_COMES_NEXT_YEAR",
)


def outcome(*chunks: bytes) -> Outcome:
    stream = adapter_for("gemini").open_stream(make_job())
    parts = [part for chunk in chunks for part in stream.feed(chunk)]
    try:
        return parts + stream.close(), None
    except ProtocolError as error:
        return parts, error.to_plain()


def event(value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\r\n\r\n"


def answer(*parts: Json, finish: Any = "STOP") -> bytes:
    return event({"candidates": [{"content": {"parts": list(parts)}, "finishReason": finish}]})


@pytest.mark.parametrize(("reason", "stop"), REASONS.items())
def test_each_way_to_end_is_told(reason: str, stop: str) -> None:
    parts, error = outcome(answer({"text": "x"}, finish=reason))
    assert (parts[-1], error) == (Stop(stop), None)  # type: ignore[arg-type]


@pytest.mark.parametrize("reason", FAILURES)
def test_each_way_to_fail_is_told_after_what_was_said(reason: str) -> None:
    parts, error = outcome(answer({"text": "x"}, finish=reason))
    assert parts == [TextDelta("text", "x")]
    assert error is not None
    assert (error["type"], error["code"]) == ("model_error", "upstream_error")


@pytest.mark.parametrize(
    "reason", ["SAFETY", "OTHER", "BLOCKLIST", "JAILBREAK", "MODEL_ARMOR", "IMAGE_SAFETY"]
)
def test_a_blocked_prompt_was_filtered(reason: str) -> None:
    assert outcome(event({"promptFeedback": {"blockReason": reason}})) == ([Stop("content_filter")], None)


def test_the_state_of_reasoning_stands_with_it_where_it_can() -> None:
    parts, _ = outcome(answer({"text": "Hm.", "thought": True}, {"text": "Yes.", "thoughtSignature": "s"}))
    assert [type(part) for part in parts] == [SummaryDelta, StateReport, TextDelta, Stop]


garbage = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return strategy | garbage


part_fields = st.fixed_dictionaries(
    {},
    optional={
        "text": maybe(st.sampled_from(["", "a", "b\ud83d", "\udc4dc"])),
        "thought": maybe(st.just(True)),
        "thoughtSignature": maybe(st.sampled_from(["s1", "\ud800"])),
        "functionCall": maybe(
            st.fixed_dictionaries(
                {}, optional={"name": maybe(st.just("f")), "id": maybe(st.just("g")), "args": garbage}
            )
        ),
        "inlineData": garbage,
    },
)
candidate = st.fixed_dictionaries(
    {},
    optional={
        "index": maybe(st.just(0)),
        "content": maybe(st.fixed_dictionaries({"parts": maybe(st.lists(maybe(part_fields), max_size=3))})),
        "finishReason": maybe(st.sampled_from(["STOP", "MAX_TOKENS", "SAFETY", "OTHER"])),
        "logprobsResult": maybe(
            st.fixed_dictionaries({"chosenCandidates": maybe(st.lists(garbage)), "topCandidates": garbage})
        ),
    },
)
chunk = st.fixed_dictionaries(
    {},
    optional={
        "candidates": maybe(st.lists(maybe(candidate), max_size=2)),
        "usageMetadata": maybe(
            st.fixed_dictionaries({"promptTokenCount": garbage, "totalTokenCount": garbage})
        ),
        "promptFeedback": maybe(st.fixed_dictionaries({"blockReason": garbage})),
        "error": garbage,
    },
)


@given(
    chunks=st.lists(chunk, max_size=4), form=st.sampled_from(["events", "array", "objects"]), cuts=st.data()
)
def test_anything_in_any_place_is_read_the_same_however_it_is_cut(
    chunks: list[Json], form: str, cuts: st.DataObject
) -> None:
    told = [json.dumps(one).encode() for one in chunks]
    body = {
        "events": b"".join(b"data: " + one + b"\n\n" for one in told),
        "array": b"[" + b",\r\n".join(told) + b"]",
        "objects": b"\n".join(told),
    }[form]
    whole = outcome(body)
    for part in whole[0]:
        if isinstance(part, StateReport):
            orjson.dumps(part.state)
    at = sorted(cuts.draw(st.lists(st.integers(0, len(body)), max_size=4)))
    edges = [0, *at, len(body)]
    pieces = [body[start:end] for start, end in itertools.pairwise(edges)]
    assert repr(outcome(*pieces)) == repr(whole)


@given(st.lists(st.dictionaries(st.text(max_size=4), garbage, max_size=3), max_size=4), st.data())
def test_objects_are_found_whatever_is_in_them(objects: list[Json], data: st.DataObject) -> None:
    body = json.dumps(
        objects, ensure_ascii=data.draw(st.booleans()), indent=data.draw(st.none() | st.just(1))
    )
    raw = body.encode("utf-8", "replace")
    reader = ObjectReader()
    cut = data.draw(st.integers(0, len(raw)))
    found = reader.feed(raw[:cut]) + reader.feed(raw[cut:]) + reader.close()
    assert repr([json.loads(text) for text in found]) == repr(json.loads(raw))
    assert not reader.is_cut


@given(st.binary(max_size=60))
def test_no_bytes_break_the_reader(raw: bytes) -> None:
    assert outcome(raw) == outcome(*(raw[at : at + 1] for at in range(len(raw))))
