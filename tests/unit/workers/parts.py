"""Parts of an answer, as adapters feed them: some, and any; who judges the calls, and the end of one that broke off."""

from hypothesis import strategies as st

from responses_api.protocol.admission import CallAdmission, call_admission
from responses_api.protocol.errors import model_error
from responses_api.protocol.plain import Json
from responses_api.protocol.request import parse_create
from workers.backends.parts import (
    CallDelta,
    Part,
    ReasoningDelta,
    RefusalDelta,
    SummaryDelta,
    TextDelta,
    UsageReport,
)
from workers.emitter import Emitter

LOOK: Json = {"type": "function", "name": "look"}
LAUNCH: Json = {"type": "function", "name": "launch"}
ANY_TEXT = st.text(st.sampled_from('ab{}"\0\ud83d\ude00é🌍 '), max_size=4)
KEYS = st.integers(0, 2)
ANY_PART: st.SearchStrategy[Part] = st.one_of(
    st.builds(TextDelta, KEYS, ANY_TEXT),
    st.builds(RefusalDelta, KEYS, ANY_TEXT),
    st.builds(ReasoningDelta, KEYS, ANY_TEXT),
    st.builds(SummaryDelta, KEYS, ANY_TEXT),
    st.builds(
        CallDelta,
        KEYS,
        st.sampled_from([None, "", "c_1", "c_2", "x" * 70]),
        st.sampled_from([None, "", "look"]),
        st.sampled_from(["", "{}", '{"a":', "1}", " ", "\ud83d"]),
    ),
    st.builds(UsageReport, st.integers(0, 9), st.integers(0, 9)),
)


def admission(**fields: object) -> CallAdmission:
    """What a request with these fields, and two functions, lets be called."""
    return call_admission(parse_create({"model": "m", "input": "hi", "tools": [LOOK, LAUNCH], **fields}))


def text(value: str) -> TextDelta:
    """A piece of text."""
    return TextDelta("content", value)


def call(key: int, call_id: str | None, name: str | None, arguments: str = "") -> CallDelta:
    """A piece of a call."""
    return CallDelta(key, call_id, name, arguments)


def fail(emitter: Emitter) -> None:
    """An end that is a failure."""
    emitter.fail(model_error("It broke."))
