"""The windows that limits are counted in: the minutes, days and months of UTC. Pure; times are unix seconds."""

import calendar
import time
from typing import Final

MINUTE: Final = "minute"
DAY: Final = "day"
MONTH: Final = "month"

SECONDS: Final = {MINUTE: 60, DAY: 86_400}
"""How long a window is, of those that are all as long."""


def window(kind: str, at: int) -> tuple[int, int]:
    """The window that this second is in: its first second, and the first one after it."""
    if kind == MONTH:
        year, month, *_ = time.gmtime(at)
        following = (year + 1, 1) if month == 12 else (year, month + 1)
        return calendar.timegm((year, month, 1, 0, 0, 0)), calendar.timegm((*following, 1, 0, 0, 0))
    start = at - at % SECONDS[kind]
    return start, start + SECONDS[kind]


def window_of(metric: str, at: int) -> tuple[int, int] | None:
    """The window that a metric of limits is counted in. None for what is counted while it runs."""
    kind = metric.rpartition("_")[2]
    return window(kind, at) if kind in (MINUTE, DAY, MONTH) else None
