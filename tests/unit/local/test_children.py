"""A child is in nobody's way when it must go, and says how it went."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from config.local.children import Program, start
from config.local.places import ROOT
from config.local.probe import status_of
from config.local.signals import Deadline
from tests.unit.local.programs import is_alive, python, wait_for


def test_it_says_the_exit_code(tmp_path: Path) -> None:
    child = start(python(tmp_path, "import sys; print('last words'); sys.exit(3)"))
    assert child.wait(Deadline(10))
    assert child.ending() == "ended with exit code 3"
    assert child.last_lines() == "  last words"


def test_it_names_the_signal(tmp_path: Path) -> None:
    child = start(python(tmp_path, "import time; time.sleep(60)"))
    os.kill(child.process.pid, signal.SIGKILL)
    assert child.wait(Deadline(10))
    assert child.ending() == "was ended by SIGKILL"


def test_it_is_killed_with_its_group_when_it_does_not_stop(tmp_path: Path) -> None:
    stubborn = """
        import signal, subprocess, sys, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        print(grandchild.pid, flush=True)
        time.sleep(60)
    """
    child = start(python(tmp_path, stubborn, grace=0.2))
    wait_for(lambda: child.program.log.read_text().strip() != "")
    grandchild = int(child.program.log.read_text())
    child.stop()
    assert child.ending() == "was ended by SIGKILL"
    wait_for(lambda: not is_alive(grandchild))


def test_it_does_not_hear_a_signal_to_our_process_group(tmp_path: Path) -> None:
    child = start(python(tmp_path, "import time; time.sleep(60)"))
    assert os.getpgid(child.process.pid) != os.getpgid(0)
    child.stop()
    assert child.ending() == "was ended by SIGTERM"


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's death signal is Linux's")
def test_it_goes_when_its_parent_is_killed(tmp_path: Path) -> None:
    parent = f"""
        import os, signal, sys
        from pathlib import Path
        from config.local.children import Program, start
        sleeper = [sys.executable, "-c", "import time; time.sleep(60)"]
        log = Path({str(tmp_path / "log")!r})
        child = start(Program("sleeper", sleeper, log, os.environ, Path("/")))
        print(child.process.pid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(parent)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ended.returncode == -signal.SIGKILL
    wait_for(lambda: not is_alive(int(ended.stdout)))


def test_a_program_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        start(Program("ghost", ["/no/such/program"], tmp_path / "log", {}, tmp_path))


def test_a_server_that_is_not_there_has_no_status() -> None:
    assert status_of("http://127.0.0.1:9/") is None
