"""The windows that limits are counted in: the minutes, days and months of UTC. Pure; times are unix seconds."""

import calendar
import time
from typing import Final

MINUTE: Final = "minute"
DAY: Final = "day"
MONTH: Final = "month"

_SECONDS: Final = {MINUTE: 60, DAY: 86_400}
_LONGEST_MONTH: Final = 31 * 86_400
_SKEW_SECONDS: Final = 60
"""How far the clocks of two processes may be apart."""


def window(kind: str, at: int) -> tuple[int, int]:
    """The window that this second is in: its first second, and the first one after it."""
    if kind == MONTH:
        year, month, *_ = time.gmtime(at)
        following = (year + 1, 1) if month == 12 else (year, month + 1)
        return calendar.timegm((year, month, 1, 0, 0, 0)), calendar.timegm((*following, 1, 0, 0, 0))
    start = at - at % _SECONDS[kind]
    return start, start + _SECONDS[kind]


def windows_about(kind: str, at: int) -> list[tuple[int, int]]:
    """The windows that a process may take for the present one."""
    return sorted({window(kind, at + skew) for skew in (-_SKEW_SECONDS, 0, _SKEW_SECONDS)})


def kept_seconds(kind: str) -> int:
    """How long the counters of a window are kept after they were raised last: until it is over everywhere, and what
    began in it has mostly been settled. What comes later finds no counter, and needs none.
    """
    return _SECONDS.get(kind, _LONGEST_MONTH) + 5 * _SKEW_SECONDS
