"""Which windows are counted when clocks differ, and for how long they are kept. Pure; times are unix seconds."""

from typing import Final

from tenants.windows import SECONDS, window

_LONGEST_MONTH: Final = 31 * 86_400
_SKEW_SECONDS: Final = 60
"""How far the clocks of two processes may be apart."""


def windows_about(kind: str, at: int) -> list[tuple[int, int]]:
    """The windows that a process may take for the present one."""
    return sorted({window(kind, at + skew) for skew in (-_SKEW_SECONDS, 0, _SKEW_SECONDS)})


def kept_seconds(kind: str) -> int:
    """How long the counters of a window are kept after they were raised last: until it is over everywhere, and what
    began in it has mostly been settled. What comes later finds no counter, and needs none.
    """
    return SECONDS.get(kind, _LONGEST_MONTH) + 5 * _SKEW_SECONDS
