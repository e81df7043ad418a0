"""Reasoning that a backend's row withholds: left out of the parts, and nothing else is."""

from typing import Any

import pytest

from responses_api.protocol.backend import BackendSpec
from tests.unit.workers.builders import make_job
from workers.backends.chat_completions.stream import ChatStream
from workers.backends.parts import Part, ReasoningDelta, StateReport, Stop, SummaryDelta, TextDelta
from workers.backends.withholding import as_shown

TOLD: list[Part] = [
    SummaryDelta("s", "A look."),
    ReasoningDelta("r", "Look it up."),
    StateReport({"signature": "c2ln"}),
    TextDelta("t", "4C"),
    ReasoningDelta("r", "Cold."),
]


class Thinker:
    """Reads an answer of one part a byte, and its end."""

    finished = False

    def feed(self, chunk: bytes) -> list[Part]:
        return [TOLD[number] for number in chunk]

    def close(self) -> list[Part]:
        self.finished = True
        return [SummaryDelta("s", "Done."), ReasoningDelta("r", "Done."), Stop("stop")]


def row(reasoning: str) -> BackendSpec:
    return BackendSpec.from_plain({**make_job().backend, "reasoning": reasoning})


@pytest.mark.parametrize(
    ("reasoning", "withheld"),
    [
        ("raw", ()),
        ("summary", (ReasoningDelta,)),
        ("none", (ReasoningDelta, SummaryDelta)),
        ("a word of a later version", (ReasoningDelta, SummaryDelta)),
    ],
)
@pytest.mark.parametrize("chunks", [[b"\x00\x01\x02\x03\x04"], [b"\x00", b"\x01\x02", b"", b"\x03\x04"]])
def test_it_leaves_out_what_the_row_withholds_and_nothing_else(
    reasoning: str, withheld: tuple[type[Any], ...], chunks: list[bytes]
) -> None:
    whole, shown = Thinker(), as_shown(Thinker(), row(reasoning))
    told = [part for chunk in chunks for part in whole.feed(chunk)] + whole.close()
    assert not shown.finished
    got = [part for chunk in chunks for part in shown.feed(chunk)] + shown.close()
    assert got == [part for part in told if not isinstance(part, withheld)]
    assert shown.finished


def test_an_answer_of_which_nothing_is_withheld_is_read_by_its_own_reader() -> None:
    stream = ChatStream()
    assert as_shown(stream, row("raw")) is stream
