"""The supervisor starts and stops in order, restarts what it may, and names what crashed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from config.local.errors import LocalError
from config.local.supervisor import Supervisor, Watched
from tests.unit.local.programs import is_alive, python, wait_for

SLEEP = "import time; print('up', flush=True); time.sleep(60)"
CRASH = "import sys; print('out of luck', flush=True); sys.exit(7)"


@pytest.fixture
def supervisor() -> Iterator[Supervisor]:
    made = Supervisor()
    yield made
    made.stop()


def test_the_last_started_is_stopped_first(
    supervisor: Supervisor, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    children = [supervisor.start(python(tmp_path, SLEEP, name=name)) for name in ("one", "two", "three")]
    supervisor.stop()
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["three", "two", "one"]
    assert not any(is_alive(child.process.pid) for child in children)


def test_a_part_that_must_not_crash_ends_everything(supervisor: Supervisor, tmp_path: Path) -> None:
    supervisor.start(python(tmp_path, CRASH, name="PostgreSQL"))
    with pytest.raises(LocalError) as raised:
        supervisor.watch()
    assert "PostgreSQL ended with exit code 7" in str(raised.value)
    assert "out of luck" in str(raised.value)


def test_a_part_that_keeps_crashing_is_started_twice_more(
    supervisor: Supervisor, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    supervisor.start(python(tmp_path, CRASH, name="worker"), restarts=True)
    with pytest.raises(LocalError, match="3 times within 60 s"):
        supervisor.watch()
    assert capsys.readouterr().out.count("Starting worker again.") == 2
    assert (tmp_path / "worker.log").read_text().count("out of luck") == 3


def test_old_crashes_are_forgotten(supervisor: Supervisor, tmp_path: Path) -> None:
    watched = Watched(supervisor.start(python(tmp_path, SLEEP)), restarts=True)
    assert [watched.may_restart(float(at)) for at in (0, 50, 100, 150, 155)] == [
        True,
        True,
        True,
        True,
        False,
    ]


def test_a_crash_while_waiting_is_named(supervisor: Supervisor, tmp_path: Path) -> None:
    supervisor.start(python(tmp_path, CRASH, name="web"), restarts=True)
    with pytest.raises(LocalError, match="web ended with exit code 7"):
        supervisor.wait_until("The web server did not answer", lambda: False, 20)


def test_waiting_has_an_end(supervisor: Supervisor) -> None:
    with pytest.raises(LocalError, match="It did not come within 0 s"):
        supervisor.wait_until("It did not come", lambda: False, 0)


def test_a_command_returns_what_it_printed_this_time(supervisor: Supervisor, tmp_path: Path) -> None:
    (tmp_path / "part.log").write_text("from before\n")
    assert supervisor.run(python(tmp_path, "print('now')")) == "now\n"


def test_a_command_that_fails_is_named_with_its_last_words(supervisor: Supervisor, tmp_path: Path) -> None:
    with pytest.raises(LocalError, match=r"(?s)migrate ended with exit code 7.*out of luck"):
        supervisor.run(python(tmp_path, CRASH, name="migrate"))


def test_a_program_that_is_not_there_is_named(supervisor: Supervisor, tmp_path: Path) -> None:
    program = python(tmp_path, SLEEP, name="web")
    missing = type(program)(**{**{f: getattr(program, f) for f in program.__slots__}, "argv": ["/no/such"]})
    with pytest.raises(LocalError, match="web cannot be started: No such file"):
        supervisor.start(missing)


def test_a_stubborn_part_is_killed(
    supervisor: Supervisor, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
    child = supervisor.start(python(tmp_path, code, name="worker", grace=0.2))
    wait_for(lambda: child.program.log.read_text() == "up\n")
    supervisor.stop()
    assert "worker       killed" in capsys.readouterr().out
