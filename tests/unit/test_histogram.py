"""Percentiles told of counts."""

import pytest

from tenants.histogram import BOUNDS_MS, SLOTS, percentile


def _counts(**slots: int) -> list[int]:
    counts = [0] * SLOTS
    for name, count in slots.items():
        counts[int(name.removeprefix("slot"))] = count
    return counts


def test_nothing_counted_has_no_percentile() -> None:
    assert percentile([0] * SLOTS, 0.5) is None
    assert percentile([], 0.5) is None


def test_what_is_in_one_slot_is_told_within_it() -> None:
    low, high = BOUNDS_MS[9], BOUNDS_MS[10]
    for share in (0.01, 0.5, 0.95, 1.0):
        told = percentile(_counts(slot10=7), share)
        assert told is not None
        assert low <= told <= high + 1


def test_the_share_decides_the_slot() -> None:
    counts = _counts(slot3=90, slot20=10)
    assert percentile(counts, 0.5) == pytest.approx(BOUNDS_MS[2] * 1.25, rel=0.15)
    beyond = percentile(counts, 0.95)
    assert beyond is not None
    assert BOUNDS_MS[19] <= beyond <= BOUNDS_MS[20]


def test_the_shortest_and_the_longest_are_told_too() -> None:
    assert percentile(_counts(slot0=4), 0.5) == 5
    assert percentile(_counts(**{f"slot{SLOTS - 1}": 1}), 0.5) == pytest.approx(BOUNDS_MS[-1] * 1.25, rel=0.1)
