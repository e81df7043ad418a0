"""Small programs for these tests, and patience without fixed sleeps."""

import os
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

from config.local.children import Program


def python(folder: Path, code: str, *, name: str = "part", grace: float = 10.0) -> Program:
    """A Python program that logs to <name>.log in `folder`."""
    return Program(
        name=name,
        argv=[sys.executable, "-c", textwrap.dedent(code)],
        log=folder / f"{name}.log",
        env=os.environ,
        cwd=folder,
        grace=grace,
    )


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] not in ("Z", "X")


def wait_for(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    """Wait until something holds; fail when it does not in time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)
