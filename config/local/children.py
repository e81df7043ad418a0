"""One child process: how it is started, asked to stop, and what is said about its end.

Every child has a session of its own, so that Ctrl-C in the terminal reaches the supervisor alone and the
order of the stop is kept. On Linux a child is also signalled by the kernel when the supervisor dies, whatever
killed it.
"""

import ctypes
import os
import pwd
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from config.local.signals import Deadline, unwatch

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


@dataclass(frozen=True, slots=True)
class Program:
    """What is run and how it is ended.

    `user` is who it runs as (None: as we do), `death_signal` what the kernel sends it should the supervisor
    die, `grace` the seconds between `stop_signal` and SIGKILL.
    """

    name: str
    argv: Sequence[str]
    log: Path
    env: Mapping[str, str]
    cwd: Path
    user: pwd.struct_passwd | None = None
    pass_fds: tuple[int, ...] = ()
    stop_signal: signal.Signals = signal.SIGTERM
    death_signal: signal.Signals = signal.SIGKILL
    grace: float = 10.0


@dataclass(slots=True)
class Child:
    """A running (or ended) program."""

    program: Program
    process: subprocess.Popen[bytes] = field(repr=False)

    @property
    def name(self) -> str:
        """The program's name."""
        return self.program.name

    @property
    def ended(self) -> bool:
        """Whether the process is gone (and reaped)."""
        return self.process.poll() is not None

    def ask_to_stop(self) -> None:
        """Send the program's stop signal."""
        if not self.ended:
            self.process.send_signal(self.program.stop_signal)

    def wait(self, deadline: Deadline) -> bool:
        """Wait for the end until the deadline; whether it came."""
        try:
            self.process.wait(deadline.left)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """End whatever is left of the process group, and reap the process."""
        with suppress(ProcessLookupError):  # raised when nothing is left: what we want
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """Ask, wait for the grace time, kill."""
        self.ask_to_stop()
        self.wait(Deadline(self.program.grace))
        self.kill()

    def ending(self) -> str:
        """How the process ended, in words."""
        code = self.process.returncode
        if code is None:
            return "is running"
        if code >= 0:
            return f"ended with exit code {code}"
        return f"was ended by {signal.Signals(-code).name}"

    def last_lines(self, count: int = 12) -> str:
        """The end of its log, indented, for a report."""
        return last_lines(self.program.log, count)


def last_lines(log: Path, count: int = 12) -> str:
    """The last lines of a log file, indented by two spaces."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 16_384))
        lines = file.read().decode("utf-8", "replace").splitlines()
    return "\n".join(f"  {line}" for line in lines[-count:])


def start(program: Program) -> Child:
    """Start a program with its output appended to its log. Raises OSError when it cannot be executed.

    Must be called on the main thread: the kernel's death signal is tied to the thread that forked.
    """
    user = program.user
    with program.log.open("ab") as log:
        process = subprocess.Popen(
            list(program.argv),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=program.cwd,
            env=dict(program.env),
            start_new_session=True,
            pass_fds=program.pass_fds,
            user=user.pw_uid if user else None,
            group=user.pw_gid if user else None,
            extra_groups=[] if user else None,
            # The death signal is lost by a change of user, so it is set after it: preexec_fn runs last.
            preexec_fn=_before_exec(program.death_signal),
        )
    return Child(program, process)


def _before_exec(death_signal: signal.Signals) -> Callable[[], None]:
    parent = os.getpid()

    def prepare() -> None:
        unwatch()
        if _libc is not None:
            _libc.prctl(_PR_SET_PDEATHSIG, int(death_signal))
            if os.getppid() != parent:  # it died before the call above
                os._exit(1)

    return prepare
