"""Calls of the service's own tools are taken out of an answer, whole, however its upstream cuts and orders them."""

from collections.abc import Sequence
from typing import Any

import pytest

from workers.backends.parts import CallDelta, Part, Stop, TextDelta, UsageReport
from workers.collecting import Collector
from workers.tools.citing import Citing


def collector(number: int = 0, told: UsageReport | None = None) -> Collector:
    def summed(report: UsageReport) -> UsageReport:
        return report if told is None else told.plus(report)

    return Collector({"add"}, number, collected=[], summed=summed, citing=Citing())


def collected(parts: Sequence[Part], *, number: int = 0) -> tuple[list[Any], list[tuple[str, str]]]:
    reading = collector(number)
    passed = [*reading.take(parts), *reading.rest()]
    return passed, [(call.name, str(call.arguments)) for call in reading.calls]


@pytest.mark.parametrize(
    "parts",
    [
        (CallDelta(0, "c", "add", '{"a": 1}'),),
        (CallDelta(0, "c", "add", ""), CallDelta(0, None, None, '{"a"'), CallDelta(0, None, None, ": 1}")),
        (CallDelta(0, None, None, '{"a": '), CallDelta(0, "c", None, ""), CallDelta(0, None, "add", "1}")),
        (CallDelta(0, "c", "add", '{"a": 1}'), CallDelta(0, "c", "add", '{"a": 1}')),
    ],
)
def test_a_call_is_whole_in_any_order_of_its_pieces(parts: Sequence[Part]) -> None:
    assert collected(parts) == ([], [("add", '{"a": 1}')])


def test_others_pass_with_what_was_held_of_them() -> None:
    parts = (CallDelta(0, None, None, "{"), CallDelta(1, "d", "add", "{}"), CallDelta(0, "c", "mail", "}"))
    assert collected(parts) == ([parts[0], parts[2]], [("add", "{}")])


def test_a_call_that_is_never_named_is_left_to_whoever_is_behind() -> None:
    assert collected((CallDelta(0, "c", None, "{"),)) == ([CallDelta(0, "c", None, "{")], [])


def test_parts_of_another_round_are_not_taken_for_those_of_the_first() -> None:
    parts = (TextDelta("t", "x"), CallDelta(0, "c", "mail", "{}"))
    passed, _ = collected(parts, number=1)
    assert [part.key for part in passed] == [(1, "t"), (1, 0)]


def test_the_stop_waits_and_the_usage_is_that_of_all_rounds() -> None:
    reading = collector(1, UsageReport(10, 5))
    passed = reading.take([UsageReport(20, 7), Stop("tool_calls")])
    assert list(passed) == [UsageReport(30, 12, total_tokens=42)]
    assert (reading.stop, reading.usage, reading.is_usage_last) == (
        Stop("tool_calls"),
        UsageReport(20, 7),
        True,
    )
