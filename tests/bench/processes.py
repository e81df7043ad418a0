"""The bench's own child processes: where their output goes, and when they are ready."""

import fcntl
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from config.local.children import Child, Program, start
from config.local.places import ROOT, VAR

FOLDER = VAR / "bench"
POLL_SECONDS = 0.1


class BenchError(Exception):
    """Something the bench needs could not be had; the message is for the person who runs it."""


@contextmanager
def only_bench() -> Iterator[None]:
    """Keep other benches of this project away while the block runs: they would share its data.

    Raises BenchError when one runs already.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BenchError("Another bench is running in this folder.") from None
        yield


@contextmanager
def child(name: str, command: Sequence[str], env: Mapping[str, str] | None = None) -> Iterator[Child]:
    """Run `command` in the project's folder while the block runs; its output is in var/bench/NAME.log."""
    log = FOLDER / f"{name}.log"
    log.unlink(missing_ok=True)
    running = start(Program(name, command, log, {**os.environ, **(env or {})}, ROOT))
    try:
        yield running
    finally:
        running.stop()


def wait_until(ready: Callable[[], bool], children: Sequence[Child], seconds: float) -> None:
    """Wait until `ready()`.

    Raises BenchError, with the end of the logs, when a child ends or `seconds` have passed before that.
    """
    deadline = time.monotonic() + seconds
    while not ready():
        if any(each.ended for each in children) or time.monotonic() > deadline:
            states = "\n".join(f"{each.name} {each.ending()}:\n{each.last_lines()}" for each in children)
            raise BenchError(f"Not ready within {seconds:.0f} s.\n{states}")
        time.sleep(POLL_SECONDS)


def answers(url: str) -> bool:
    """Whether a GET of `url` gives 200."""
    try:
        with urllib.request.urlopen(url, timeout=5) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False
