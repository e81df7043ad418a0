"""Starts parts in order, watches them, restarts those that may be restarted, stops them in order."""

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from config.local.children import Child, Program, start
from config.local.errors import LocalError
from config.local.signals import Deadline, StopRequested, pause

_CRASHES = 3
_CRASH_WINDOW = 60.0
_RESTART_DELAY = 1.0
_SAME_REQUEST = 1.0
_HURRIED_GRACE = 1.0


def say(text: str) -> None:
    """Print a line at once; a closed terminal is no reason to fail while stopping."""
    try:
        print(text, flush=True)
    except OSError:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - it lives as long as we do


@contextmanager
def step(name: str) -> Iterator[None]:
    """Print one line for a step that succeeded, with the seconds it took."""
    began = time.monotonic()
    yield
    say(f"{name:<12} ready ({time.monotonic() - began:.1f} s)")


@dataclass(slots=True)
class Watched:
    """A child with its rule: whether it is started again when it crashes, and when it crashed lately."""

    child: Child
    restarts: bool
    crashes: deque[float] = field(default_factory=deque)

    def may_restart(self, now: float) -> bool:
        """Count a crash at `now`; whether another start is worth it."""
        self.crashes.append(now)
        while self.crashes and now - self.crashes[0] > _CRASH_WINDOW:
            self.crashes.popleft()
        return self.restarts and len(self.crashes) < _CRASHES


class Supervisor:
    """The running parts, in the order in which they were started; they are stopped in the reverse order."""

    def __init__(self) -> None:
        self._watched: list[Watched] = []

    def start(self, program: Program, *, restarts: bool = False) -> Child:
        """Start a part and watch it from now on. Raises LocalError when it cannot be executed."""
        try:
            child = start(program)
        except OSError as error:
            raise LocalError(
                f"{program.name} cannot be started: {error.strerror} ({error.filename})."
            ) from None
        self._watched.append(Watched(child, restarts))
        return child

    def run(self, program: Program) -> str:
        """Run a command to its end and return what it printed. Raises LocalError when it fails."""
        printed = program.log.stat().st_size if program.log.exists() else 0
        child = start(program)
        try:
            while not child.ended:
                pause(0.2)
        finally:
            child.stop()
        if child.process.returncode != 0:
            raise LocalError(f"{program.name} {child.ending()}:\n{child.last_lines()}")
        return program.log.read_bytes()[printed:].decode("utf-8", "replace")

    def wait_until(self, what: str, ready: Callable[[], bool], seconds: float) -> None:
        """Wait for a condition while every part lives. Raises LocalError when one ends or time is over."""
        deadline = Deadline(seconds)
        while not ready():
            for watched in self._watched:
                if watched.child.ended:
                    raise LocalError(report(watched.child))
            if deadline.passed:
                raise LocalError(f"{what} within {seconds:.0f} s: see the logs in var/log.")
            pause(0.25)

    def watch(self) -> None:
        """Look after the parts until one ends for good (LocalError) or StopRequested is raised."""
        while True:
            pause(1.0)
            for watched in self._watched:
                if watched.child.ended:
                    self._handle_crash(watched)

    def _handle_crash(self, watched: Watched) -> None:
        crashed = watched.child
        crashed.kill()  # what it may have left of its process group
        if not watched.restarts:
            raise LocalError(f"{report(crashed)}\nNothing works without it: stopping everything.")
        if not watched.may_restart(time.monotonic()):
            raise LocalError(
                f"{report(crashed)}\n"
                f"That was {_CRASHES} times within {_CRASH_WINDOW:.0f} s: stopping everything."
            )
        say(f"{report(crashed)}\nStarting {crashed.name} again.")
        pause(_RESTART_DELAY)
        watched.child = start(crashed.program)

    def stop(self) -> None:
        """Stop every part, the last started first. Asked again, it no longer waits for the grace times."""
        patience = _Patience()
        while self._watched:
            child = self._watched.pop().child
            child.ask_to_stop()
            patience.wait(child)
            forced = not child.ended
            child.kill()
            say(f"{child.name:<12} {'killed' if forced else 'stopped'}")


class _Patience:
    """How long a part is waited for: its grace time, or a second once the user asks for the stop again."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._hurried = False

    def wait(self, child: Child) -> None:
        """Return when the part has ended, or has had its time."""
        asked = time.monotonic()
        while not child.ended and time.monotonic() - asked < self._grace(child):
            try:
                pause(0.2)
            except StopRequested:
                # One request may come as two signals: to the process group, and passed on by `make`.
                self._hurried = self._hurried or time.monotonic() - self._began > _SAME_REQUEST

    def _grace(self, child: Child) -> float:
        return min(child.program.grace, _HURRIED_GRACE) if self._hurried else child.program.grace


def report(child: Child) -> str:
    """What is said about a part that ended by itself."""
    return f"{child.name} {child.ending()}. The end of {child.program.log}:\n{child.last_lines()}"
