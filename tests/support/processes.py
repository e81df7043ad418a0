"""Child processes of tests: started in the project's root, their output kept, ended with all they started."""

import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STOP_SECONDS = 10.0


def free_port() -> int:
    """A TCP port of loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Child:
    """One program, which may be started again after it ended; its output is appended to one file."""

    def __init__(self, name: str, command: Sequence[str], *, env: Mapping[str, str], folder: Path) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        self._command = list(command)
        self._env = dict(env)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; it must not be running."""
        assert not self.running, f"{self.name} runs already"
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, cwd=ROOT, env=self._env, stdout=log, stderr=log, start_new_session=True
            )

    @property
    def running(self) -> bool:
        """Whether the process is alive."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """SIGKILL: it gets no chance to say or finish anything."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """SIGTERM, as an operator stops it; SIGKILL when that is not enough."""
        if self.running:
            os.kill(self.pid, signal.SIGTERM)
            try:
                assert self._process is not None
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.kill()

    def output(self, since: int = 0) -> str:
        """What it printed after the first `since` bytes."""
        if not self.log.exists():
            return ""
        with self.log.open("rb") as log:
            log.seek(since)
            return log.read().decode(errors="replace")

    def printed(self) -> int:
        """How many bytes it has printed."""
        return self.log.stat().st_size if self.log.exists() else 0

    def _end(self, how: signal.Signals) -> None:
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, how)
        self._process.wait(STOP_SECONDS)
