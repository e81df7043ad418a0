"""Signals as something that is waited for, never something that interrupts: the supervisor's only clock.

Stop signals and SIGCHLD are blocked and taken with `sigtimedwait`. So no code of the supervisor runs in a
signal handler, and the end of a child wakes it at once.
"""

import signal
import time

STOP_SIGNALS = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
_WATCHED = STOP_SIGNALS | {signal.SIGCHLD}


class StopRequested(Exception):
    """The user or the system asked the supervisor to stop."""


def watch() -> None:
    """Block the signals that `pause` takes; children must call `unwatch` between fork and exec."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)


def unwatch() -> None:
    """Let every signal through again."""
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def pause(seconds: float) -> None:
    """Wait so long, or less when a child ends. Raises StopRequested when a stop signal came by then."""
    taken = signal.sigtimedwait(_WATCHED, seconds)
    if taken is None or taken.si_signo == signal.SIGCHLD:
        return
    raise StopRequested


class Deadline:
    """A point in time so many seconds from now."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds until then, never below 0."""
        return max(0.0, self._end - time.monotonic())

    @property
    def passed(self) -> bool:
        """Whether it lies behind us."""
        return self.left == 0.0
