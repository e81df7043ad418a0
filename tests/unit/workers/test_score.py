"""The score: from it and the response alone every event of a stream comes back as it was sent, byte by byte."""

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from responses_api.conformance.stream import assert_stream
from responses_api.protocol import events
from responses_api.protocol.closing import closing
from responses_api.protocol.errors import ProtocolError, model_error
from responses_api.protocol.event_types import TERMINAL_TYPES, Dialect
from responses_api.protocol.fold import fold
from responses_api.protocol.obfuscation import padding
from responses_api.protocol.plain import Json
from responses_api.protocol.score import compose, perform
from responses_api.protocol.sse import DONE, decode, encode, frames_to_data, numbered_frame
from responses_api.protocol.truncation import Truncation
from tests.unit.workers.builders import base_snapshot, counting_ids
from tests.unit.workers.parts import fail
from tests.unit.workers.told import play
from workers.backends.parts import (
    AnnotationReport,
    CallDelta,
    Compacted,
    ForeignItem,
    Part,
    ReasoningDelta,
    RefusalDelta,
    StateReport,
    Stop,
    SummaryDelta,
    TextDelta,
    UsageReport,
)
from workers.emitter import Emitter

TEXTS = st.text(st.sampled_from('ab{}"\0\ud83d\ude00é🌍 '), max_size=4) | st.text(max_size=70)
KEYS = st.integers(0, 2)
LOGPROB: Json = {"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": []}
CITED: Json = {
    "type": "url_citation",
    "start_index": 0,
    "end_index": 1,
    "url": "https://a.test/",
    "title": "A",
}
FOREIGN: list[Json] = [
    {"type": "web_search_call", "id": "ws_1", "status": "in_progress"},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "a"}},
    {"type": "acme:note", "text": "a"},
]
PARTS: st.SearchStrategy[Part] = st.one_of(
    st.builds(TextDelta, KEYS, TEXTS, st.integers(0, 3).map(lambda count: (LOGPROB,) * count)),
    st.builds(RefusalDelta, KEYS, TEXTS),
    st.builds(ReasoningDelta, KEYS, TEXTS),
    st.builds(SummaryDelta, KEYS, TEXTS),
    st.builds(
        CallDelta,
        KEYS,
        st.sampled_from([None, "c_1", "c_2"]),
        st.sampled_from([None, "look"]),
        st.sampled_from(["", "{}", '{"a":', "1}", " ", "\ud83d", "x" * 60]),
    ),
    st.builds(AnnotationReport, KEYS, st.sampled_from([CITED, {"type": "file_citation"}])),
    st.builds(ForeignItem, KEYS.map(lambda key: ("item", key)), st.sampled_from(FOREIGN), st.booleans()),
    st.builds(StateReport, st.just({"signature": "s"})),
    st.builds(Compacted, st.just("All that was said.")),
    st.builds(UsageReport, st.integers(0, 9), st.integers(0, 9)),
    st.sampled_from([Stop("stop"), Stop("length")]),
)


ENDS = st.sampled_from([Emitter.finish, Emitter.cancel, fail])


def emitter_of(*, dialect: Dialect, padded: bool, background: bool, include: list[str]) -> Emitter:
    return Emitter(
        base_snapshot(background=background, include=include),
        new_id=counting_ids(),
        clock=lambda: 1_750_000_009,
        dialect=dialect,
        pad=partial(padding, "resp_1") if padded else None,
        seal=lambda kind, content: f"sealed {kind}",
        include=include,
        background=background,
    )


def told_again(final: Json, score: Json | None) -> bytes:
    """The stream from what is stored: both have been JSON in between."""
    return b"".join(perform(decode(encode(final)), decode(encode(score))))


@given(
    st.lists(PARTS, max_size=14),
    ENDS,
    st.sampled_from(["open", "openai"]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([[], ["reasoning.encrypted_content"]]),
)
def test_whatever_an_emitter_told_comes_back_as_it_was(
    parts: list[Part],
    end: Callable[[Emitter], None],
    dialect: Dialect,
    padded: bool,
    background: bool,
    include: list[str],
) -> None:
    emitter = emitter_of(dialect=dialect, padded=padded, background=background, include=include)
    play(emitter, parts, end)
    final, score = emitter.response, emitter.score()
    assert score is not None
    assert told_again(final, score) == emitter.drain() + emitter.terminal()


@given(st.lists(PARTS, min_size=1, max_size=10), st.data())
def test_a_stream_that_broke_off_anywhere_comes_back_with_the_end_that_it_got(
    parts: list[Part], data: st.DataObject
) -> None:
    emitter = emitter_of(dialect="open", padded=False, background=True, include=[])
    emitter.start()
    try:
        for part in parts:
            emitter.feed(part)
    except ProtocolError as error:
        emitter.fail(error)
    all_told = [decode(event) for event in frames_to_data(emitter.drain())]
    told = all_told[: data.draw(st.integers(3, len(all_told)))]
    if told[-1]["type"] == "error":
        told.pop()
    broken = model_error("It broke.")
    so_far = fold(told)
    assert so_far is not None
    final = {**so_far, "status": "failed", "error": broken.snapshot_error()}
    rest = [*closing(told, "open"), events.error(broken.payload())]
    score = compose([*told, *rest], final, dialect="open")
    numbered = [{**event, "sequence_number": place} for place, event in enumerate([*told, *rest])]
    again = [decode(event) for event in frames_to_data(told_again(final, score))]
    assert again[:-1] == numbered
    assert again[-1]["type"] in TERMINAL_TYPES
    assert again[-1]["response"] == final


def test_what_was_found_out_on_the_way_is_told_when_it_was() -> None:
    emitter = emitter_of(dialect="open", padded=True, background=True, include=[])
    emitter.start()
    emitter.feed(TextDelta("t", "Hello"))
    emitter.truncated(Truncation(4, 2, 100, 200))
    emitter.feed(TextDelta("t", " there"))
    emitter.finish()
    final, score = emitter.response, emitter.score()
    assert final["antiphon:truncation"]["dropped_items"] == 4
    assert told_again(final, score) == emitter.drain() + emitter.terminal()


def test_a_score_holds_no_text_and_a_sign_a_delta() -> None:
    emitter = emitter_of(dialect="open", padded=True, background=False, include=[])
    emitter.start()
    for word in ("Grey ", "heron ", "w" * 100, "!"):
        emitter.feed(TextDelta("t", word))
    emitter.finish()
    assert emitter.score() == {"dialect": "open", "signs": "^>+[ef(100)a.];", "padded": True}


@pytest.mark.parametrize("background", [True, False])
def test_a_response_from_before_there_were_scores_is_told_in_whole_texts(background: bool) -> None:
    emitter = emitter_of(dialect="openai", padded=False, background=background, include=[])
    emitter.start()
    for part in (
        SummaryDelta("s", "short"),
        ReasoningDelta("r", "hm"),
        TextDelta("t", "Hel", (LOGPROB,)),
        TextDelta("t", "lo", (LOGPROB,)),
        CallDelta(0, "c_1", "look", '{"a":'),
        CallDelta(0, "c_1", "look", "1}"),
        RefusalDelta("f", "no"),
    ):
        emitter.feed(part)
    emitter.fail(model_error("It broke."))
    raw = told_again(emitter.response, None if background else {"dialect": "openai"})
    stream = assert_stream(raw + DONE)
    assert stream.final == emitter.response
    assert [event["delta"] for event in stream.events if event["type"].endswith("text.delta")][-1] == "Hello"


def test_what_tells_another_response_is_no_score_of_it() -> None:
    emitter = emitter_of(dialect="open", padded=False, background=False, include=[])
    emitter.start()
    emitter.feed(TextDelta("t", "Hello"))
    emitter.finish()
    told = [decode(event) for event in frames_to_data(emitter.drain())]
    other = decode(encode(emitter.response).replace(b"Hello", b"Hello there"))
    assert compose(told, other, dialect="open") is None
    assert numbered_frame("x", b'{"a":1}', 7) == b'event: x\ndata: {"a":1,"sequence_number":7}\n\n'
