"""How long things took, as counts: durations fall into slots, from which the median and its like can be told again.

Pure. Counts of any two times or places add up to the counts of both, which no percentile does.
"""

import math
from collections.abc import Sequence
from typing import Final

_LEAST_MS: Final = 10
_RATIO: Final = 1.5

# What is stored was counted by these: they never change.
BOUNDS_MS: Final = tuple(round(_LEAST_MS * _RATIO**step) for step in range(31))
"""Where each slot but the first begins, in milliseconds: from 10 to half an hour, each half as far again."""

SLOTS: Final = len(BOUNDS_MS) + 1
"""How many there are: below the first bound, between each two, and beyond the last."""


def percentile(counts: Sequence[int], share: float) -> int | None:
    """The milliseconds that `share` (0 … 1) of what was counted took at most; None where nothing was counted.

    It lies in the right slot, so it is right to a fifth or so.
    """
    total = sum(counts)
    if not total:
        return None
    wanted, seen = share * total, 0
    for slot, count in enumerate(counts):
        if count and seen + count >= wanted:
            return _within(slot, (wanted - seen) / count)
        seen += count
    return BOUNDS_MS[-1]


def _within(slot: int, share: float) -> int:
    """The place in a slot that `share` of its counts lie below, as if they were spread evenly by ratio."""
    if slot == 0:
        return round(BOUNDS_MS[0] * share)
    low = BOUNDS_MS[slot - 1]
    return round(low * math.pow(_RATIO, min(max(share, 0.0), 1.0)))
