"""A second attempt: what was told stays as it is, what follows joins it, and what does not fit is never mixed in."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from responses_api.conformance.stream import assert_stream
from responses_api.protocol.obfuscation import padding
from responses_api.protocol.plain import Json
from responses_api.protocol.sse import DONE, frames_to_data
from tests.unit.workers.builders import base_snapshot
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
from workers.emitter import Emitter
from workers.retelling import Diverged, Retelling

END = (UsageReport(7, 5), Stop("stop"))
LOGPROB: Json = {"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": []}


def ids(prefix_of_all: str) -> Callable[[str], str]:
    made = iter(range(1_000))
    return lambda prefix: f"{prefix}_{prefix_of_all}{next(made)}"


def emitter(new_id: Callable[[str], str]) -> Emitter:
    return Emitter(
        base_snapshot(background=True),
        new_id=new_id,
        clock=lambda: 9,
        pad=partial(padding, "resp_1"),
        seal=lambda item_type, content: f"{item_type}: {content}",
        include=["reasoning.encrypted_content"],
        background=True,
    )


def first_attempt(parts: Sequence[Part]) -> tuple[list[bytes], Json]:
    """The data of all events but the terminal one, and the final response."""
    first = emitter(ids("a"))
    first.start()
    for part in (*parts, *END):
        first.feed(part)
    first.finish()
    return list(frames_to_data(first.drain())), first.response


def second_attempt(told: Sequence[bytes], parts: Sequence[Part]) -> tuple[bytes, Json]:
    """What the second attempt tells, and how it ends. Raises `Diverged`, also where it stays behind."""
    retelling = Retelling(told, ids("b"))
    second = emitter(retelling.new_id)
    second.start()
    said = retelling.rest(second.drain())
    for part in (*parts, *END):
        for fitted in retelling.refit([part]):
            second.feed(fitted)
        said += retelling.rest(second.drain())
    second.finish()
    said += retelling.rest(second.drain())
    if retelling.is_behind:
        raise Diverged
    return said + second.terminal(), second.response


def stream_of(told: Sequence[bytes], said: bytes) -> list[Json]:
    """Both attempts as one stream, which keeps all invariants."""
    frames = [b"event: %b\ndata: %b\n\n" % (data.split(b'"', 4)[3], data) for data in told]
    return assert_stream(b"".join(frames) + said + DONE).events


def texts(response: Json) -> list[object]:
    return [
        item["arguments"] if item["type"] == "function_call" else item.get("content") or item.get("summary")
        for item in response["output"]
    ]


WORDS = st.text("ab é🌍\0", min_size=1, max_size=6)


@st.composite
def recut(draw: st.DrawFn, parts: Sequence[Part]) -> list[Part]:
    """The same answer as another attempt would tell it: cut otherwise, its calls under other ids."""
    cut: list[Part] = []
    for (kind, key), run in groupby(parts, key=lambda part: (type(part), getattr(part, "key", None))):
        group: list[Any] = list(run)
        whole = "".join(part.arguments if kind is CallDelta else part.text for part in group)
        if kind is CallDelta:
            cut.append(CallDelta(key, f"other_{key}", group[0].name, ""))
        while whole:
            size = draw(st.integers(1, len(whole)))
            piece, whole = whole[:size], whole[size:]
            cut.append(
                CallDelta(key, None, None, piece) if kind is CallDelta else replace(group[0], text=piece)
            )
    return cut


ANSWERS = st.lists(
    st.one_of(
        st.builds(lambda text: [TextDelta("t", text)], WORDS),
        st.builds(lambda text: [ReasoningDelta("r", text)], WORDS),
        st.builds(lambda text: [SummaryDelta("s", text)], WORDS),
        st.builds(
            lambda key: [
                CallDelta(key, f"c_{key}", "look", '{"a"'),
                CallDelta(key, None, None, ": 1"),
                CallDelta(key, None, None, "}"),
            ],
            st.integers(0, 999),
        ),
    ),
    min_size=1,
    max_size=6,
    unique_by=lambda group: (type(group[0]), getattr(group[0], "text", None) or group[0].key),
).map(lambda groups: [part for group in groups for part in group])


@given(ANSWERS, st.data())
def test_the_same_answer_is_gone_on_with_wherever_it_was_cut(parts: list[Part], data: st.DataObject) -> None:
    all_told, final = first_attempt(parts)
    told = all_told[: data.draw(st.integers(2, len(all_told)))]
    said, ended = second_attempt(told, data.draw(recut(parts)))
    events = stream_of(told, said)
    assert texts(ended) == texts(final)
    assert events[-1]["response"] == ended
    added = [event["item"]["id"] for event in events if event["type"] == "response.output_item.added"]
    first = [item["id"] for item in final["output"]]
    known = sum(b'"type":"response.output_item.added"' in event for event in told)
    assert added[:known] == first[:known]


def test_reasoning_of_which_nothing_may_be_told_is_gone_on_with_wherever_it_was_cut() -> None:
    signed = StateReport({"signature": "c2ln"})
    parts: list[Part] = [signed, TextDelta("t", "It is "), TextDelta("t", "4C"), signed, TextDelta("t", ".")]
    all_told, final = first_attempt(parts)
    assert [item["type"] for item in final["output"]] == ["reasoning", "message", "reasoning", "message"]
    again: list[Part] = [
        signed,
        TextDelta("t", "It"),
        TextDelta("t", " is 4"),
        TextDelta("t", "C"),
        signed,
        TextDelta("t", "."),
    ]
    for cut in range(2, len(all_told)):
        said, ended = second_attempt(all_told[:cut], again)
        stream_of(all_told[:cut], said)
        assert texts(ended) == texts(final)
        assert ended["output"][0]["encrypted_content"] == final["output"][0]["encrypted_content"]


@given(ANSWERS, ANSWERS, st.data())
def test_another_answer_is_gone_on_with_or_given_up_and_never_mixed(
    parts: list[Part], others: list[Part], data: st.DataObject
) -> None:
    all_told, _ = first_attempt(parts)
    told = all_told[: data.draw(st.integers(2, len(all_told)))]
    try:
        said, ended = second_attempt(told, others)
    except Diverged:
        return
    stream_of(told, said)
    _, alone = first_attempt(others)
    assert texts(ended) == texts(alone)


def test_calls_that_come_in_another_order_are_told_as_before() -> None:
    def deltas(first: str, second: str) -> list[Part]:
        return [
            CallDelta(0, first, "look", '{"a":'),
            CallDelta(1, second, "look", '{"b":'),
            CallDelta(0, None, None, "1}"),
            CallDelta(1, None, None, "2}"),
        ]

    all_told, final = first_attempt(deltas("c_1", "c_2"))
    one, two, three, four = deltas("x_1", "x_2")
    for count in range(2, len(all_told) + 1):
        said, ended = second_attempt(all_told[:count], [one, three, two, four])
        stream_of(all_told[:count], said)
        assert texts(ended) == texts(final)


def test_log_probabilities_that_were_told_stay() -> None:
    parts = [
        TextDelta("t", "a", (LOGPROB,)),
        TextDelta("t", "a", (LOGPROB,)),
        TextDelta("t", "a", (LOGPROB,)),
    ]
    all_told, final = first_attempt(parts)
    other = {**LOGPROB, "logprob": -0.6}
    said, ended = second_attempt(all_told[:6], [TextDelta("t", "aaa", (other, other, other))])
    stream_of(all_told[:6], said)
    told = [token["logprob"] for token in ended["output"][0]["content"][0]["logprobs"]]
    assert told == [-0.5, -0.6, -0.6]
    assert len(final["output"][0]["content"][0]["logprobs"]) == 3


@pytest.mark.parametrize(
    "other",
    [
        [TextDelta("t", "Goodbye")],
        [TextDelta("t", "Hel")],
        [ReasoningDelta("r", "Hello")],
        [CallDelta(0, "c_1", "look", "{}")],
        [],
    ],
)
def test_what_does_not_say_what_was_told_is_given_up(other: list[Part]) -> None:
    all_told, _ = first_attempt([TextDelta("t", "Hello"), TextDelta("t", " there")])
    with pytest.raises(Diverged):
        second_attempt(all_told[:7], other)
