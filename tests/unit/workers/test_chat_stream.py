"""Whatever JSON an upstream puts into its answer, it is read without a fault and told in what can be carried."""

import contextlib
import json
import math
from typing import Any

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.plain import Json
from tests.unit.workers.builders import DONE, chunk
from tests.unit.workers.told import final, new_emitter, read_back
from workers.backends.chat_completions.stream import ChatStream
from workers.backends.parts import Part, TextDelta, UsageReport


def read(*chunks: bytes) -> list[Part]:
    stream = ChatStream()
    parts = [part for data in chunks for part in stream.feed(data)]
    return parts + stream.close()


def written(value: Any) -> bytes:
    """One event with any JSON, and with what some servers write for JSON: NaN, lone surrogates."""
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def usage_of(**usage: Any) -> UsageReport:
    (report,) = [part for part in read(written({"usage": usage}), DONE) if isinstance(part, UsageReport)]
    return report


# ---------------------------------------------------------------- figures


@pytest.mark.parametrize(
    "count", [1e30, 2**53 + 1, 10**400, math.inf, math.nan, -1, 2.5, True, "7", None, [7], {}]
)
def test_a_count_that_makes_no_sense_was_not_told(count: object) -> None:
    report = usage_of(prompt_tokens=count, completion_tokens=3, total_tokens=count)
    assert report == UsageReport(0, 3)
    assert usage_of(prompt_tokens_details={"cached_tokens": count}).cached_tokens == 0


@pytest.mark.parametrize(("count", "read_as"), [(0, 0), (7, 7), (7.0, 7), (2**53, 2**53)])
def test_a_whole_number_is_a_count(count: float, read_as: int) -> None:
    report = usage_of(prompt_tokens=count, total_tokens=5)
    assert (report.input_tokens, type(report.input_tokens), report.total_tokens) == (read_as, int, 5)


def logprobs_of(*tokens: Json) -> list[Json]:
    told = [{"index": 0, "delta": {"content": "a"}, "logprobs": {"content": list(tokens)}}]
    (delta,) = [part for part in read(written({"choices": told}), DONE) if isinstance(part, TextDelta)]
    return list(delta.logprobs)


@pytest.mark.parametrize(
    ("logprob", "told"),
    [(-0.5, -0.5), (0, 0.0), (-math.inf, -9999.0), (-(10**400), -9999.0), (-1e300, -9999.0)],
)
def test_a_log_probability_is_a_number_that_can_be_carried(logprob: float, told: float) -> None:
    (token,) = logprobs_of({"token": "a", "logprob": logprob})
    assert token == {"token": "a", "logprob": told, "bytes": [97], "top_logprobs": []}


def test_a_log_probability_that_is_no_number_was_not_told() -> None:
    assert logprobs_of({"token": "a", "logprob": math.nan}) == []
    (token,) = logprobs_of(
        {"token": "a", "logprob": -1, "top_logprobs": [{"token": "b", "logprob": math.nan}]}
    )
    assert token["top_logprobs"] == []


@pytest.mark.parametrize("octets", [[300], [-1], [0.5], ["a"], [True], [2**70], "a", None])
def test_bytes_that_are_none_are_told_from_the_token(octets: object) -> None:
    (token,) = logprobs_of({"token": "é", "logprob": -1, "bytes": octets})
    assert token["bytes"] == [195, 169]


# ---------------------------------------------------------------- what is too deep


@pytest.mark.parametrize("depth", [900, 1_020, 100_000])
def test_bottomless_nesting_never_breaks_the_reader(depth: int) -> None:
    deep = b'{"a":' * depth + b"1" + b"}" * depth
    call = b'data: {"choices":[{"delta":{"tool_calls":[{"id":"c","function":{"name":"f","arguments":%b}}]}}]}\n\n'
    for data in (call % deep, b'data: {"error":{"code":%b}}\n\n' % deep, b'data: {"x":%b}\n\n' % deep):
        stream = ChatStream()
        stream.feed(data + DONE)
        with contextlib.suppress(ProtocolError):
            stream.close()


# ---------------------------------------------------------------- any JSON anywhere

ANY_TEXT = st.text(st.sampled_from('ab{}"\0\ud83d\ude00é '), max_size=4) | st.sampled_from(
    ["stop", "length", "error", "look", "c_1", "{}", '{"a":1}', "429", "9" * 5_000]
)
NUMBERS = st.one_of(
    st.integers(),
    st.floats(),
    st.sampled_from([2**53, 2**64, 10**30, 10**400, 1e30, math.inf, -math.inf, math.nan]),
)
ANY_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | NUMBERS | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=6,
)


def loosely(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """An object with some of these fields, each as it should be or, now and then, any JSON at all."""
    return st.fixed_dictionaries(
        {}, optional={name: st.one_of(field, field, field, ANY_JSON) for name, field in fields.items()}
    )


def some(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(st.one_of(strategy, strategy, strategy, ANY_JSON), max_size=2)


TOKEN = loosely(token=ANY_TEXT, logprob=NUMBERS, bytes=some(NUMBERS))
LOGPROBS = loosely(
    content=some(loosely(token=ANY_TEXT, logprob=NUMBERS, bytes=some(NUMBERS), top_logprobs=some(TOKEN)))
)
FUNCTION = loosely(name=ANY_TEXT, arguments=ANY_TEXT)
PIECE = loosely(text=ANY_TEXT, refusal=ANY_TEXT, thinking=some(loosely(text=ANY_TEXT)), summary=ANY_TEXT)
MESSAGE = loosely(
    content=ANY_TEXT | some(PIECE),
    refusal=ANY_TEXT,
    reasoning=ANY_TEXT,
    reasoning_content=ANY_TEXT,
    reasoning_details=some(PIECE),
    tool_calls=some(loosely(index=st.integers(0, 2), id=ANY_TEXT, function=FUNCTION)),
    function_call=FUNCTION,
)
ERROR = loosely(message=ANY_TEXT, code=ANY_TEXT | NUMBERS, type=ANY_TEXT, status=ANY_TEXT | NUMBERS)
DETAILS = loosely(cached_tokens=NUMBERS, reasoning_tokens=NUMBERS)
USAGE = loosely(
    prompt_tokens=NUMBERS,
    completion_tokens=NUMBERS,
    total_tokens=NUMBERS,
    prompt_tokens_details=DETAILS,
    completion_tokens_details=DETAILS,
)
CHOICE = loosely(
    index=st.just(0),
    delta=MESSAGE,
    message=MESSAGE,
    logprobs=LOGPROBS,
    finish_reason=ANY_TEXT,
    usage=USAGE,
    error=ERROR,
)
CHUNK = loosely(choices=some(CHOICE), usage=USAGE) | loosely(
    choices=some(CHOICE), error=ERROR, object=ANY_TEXT
)


@settings(max_examples=200, deadline=None)
@given(st.lists(CHUNK | ANY_JSON, max_size=4), st.sampled_from([b"", b"event: error\n"]), st.booleans())
@example([{"choices": [{"index": 0, "delta": {"reasoning_details": [{"n": -(10**400)}]}}]}], b"", False)
def test_no_json_breaks_the_reader_or_what_is_told(values: list[Any], head: bytes, is_whole: bool) -> None:
    emitter, stream = new_emitter(), ChatStream()
    emitter.start()
    chunks = [head + written(value) for value in values]
    if is_whole and values:
        chunks = [written(values[0]).removeprefix(b"data: ")]
    parts = [part for data in [*chunks, chunk(finish="stop"), DONE] for part in stream.feed(data)]
    try:
        for part in parts + stream.close():
            emitter.feed(part)
        emitter.finish()
    except ProtocolError as error:
        emitter.fail(error)
    events = read_back(emitter)
    told = json.dumps(final(events), allow_nan=False)
    assert "\\u0000" not in told
    assert orjson.loads(orjson.dumps(final(events))) == final(events) == emitter.response
