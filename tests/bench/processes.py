"""Starting and stopping the bench's own child processes; each one's output goes to a file under var/bench."""

import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "var" / "bench"
STOP_SECONDS = 10.0
POLL_SECONDS = 0.1


class BenchError(Exception):
    """Something the bench needs could not be had; the message is for the person who runs it."""


def free_port() -> int:
    """A TCP port of loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def child(
    name: str, command: Sequence[str], env: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run `command` from the project's root while the block runs; its output is in var/bench/NAME.log.

    It is stopped with SIGTERM, and killed with its group when that does not end it within `STOP_SECONDS`.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **(env or {})},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a child and whatever is left of its process group."""
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    try:
        os.killpg(process.pid, 9)
    except ProcessLookupError:
        return


def wait_until(
    name: str, ready: Callable[[], bool], process: subprocess.Popen[bytes], seconds: float
) -> None:
    """Wait until `ready()`.

    Raises BenchError, with the end of the log, when the process ends or `seconds` have passed before that.
    """
    deadline = time.monotonic() + seconds
    while not ready():
        if process.poll() is not None or time.monotonic() > deadline:
            log = (FOLDER / f"{name}.log").read_text(errors="replace")[-2000:]
            raise BenchError(
                f"{name} did not become ready within {seconds:.0f} s. The end of its log:\n{log}"
            )
        time.sleep(POLL_SECONDS)


def answers(url: str) -> bool:
    """Whether a GET of `url` gives 200."""
    try:
        with urllib.request.urlopen(url, timeout=5) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def listens(port: int) -> bool:
    """Whether something accepts connections on this port of loopback."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
