"""A program of the service under test: started, killed and started again, its output kept for the report."""

from config.local.children import Child, Program, start


class Process:
    """One program that a test may end and start again; its output is appended to one file."""

    def __init__(self, program: Program) -> None:
        self.name = program.name
        self.log = program.log
        self._program = program
        self._child: Child | None = None
        self._wanted = False

    @property
    def running(self) -> bool:
        """Whether it is alive."""
        return self._child is not None and not self._child.ended

    @property
    def pid(self) -> int:
        """The process's id; it must have been started."""
        assert self._child is not None
        return self._child.process.pid

    @property
    def crashed(self) -> bool:
        """Whether it has ended though nobody asked it to."""
        return self._wanted and not self.running

    def start(self) -> None:
        """Start it; it must not be running."""
        assert not self.running, f"{self.name} runs already"
        self._wanted = True
        self._child = start(self._program)

    def stop(self) -> None:
        """SIGTERM, as an operator stops it; SIGKILL when that is not enough."""
        self._wanted = False
        if self._child is not None:
            self._child.stop()

    def ask_to_stop(self) -> None:
        """SIGTERM, without waiting for the end."""
        self._wanted = False
        assert self._child is not None
        self._child.ask_to_stop()

    def kill(self) -> None:
        """SIGKILL: it gets no chance to say or finish anything."""
        self._wanted = False
        assert self._child is not None
        self._child.kill()

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
