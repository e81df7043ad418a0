"""The servers of a test run: started once, gone with the run, even with one that was killed."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

from config.local.places import ROOT
from tests.support.cluster import with_database
from tests.unit.local.programs import is_alive, wait_for

START = """
    import os, signal, sys
    from contextlib import ExitStack
    from pathlib import Path
    from urllib.parse import urlsplit
    from tests.support.cluster import DATABASE_VARIABLE, start_missing
    stack = ExitStack()
    start_missing(stack)
    folder = Path(urlsplit(os.environ[DATABASE_VARIABLE]).query.removeprefix("host=")).parent
    print(folder, int((folder / "postgres" / "postmaster.pid").read_text().split()[0]), flush=True)
    if sys.argv[1] == "close":
        stack.close()
    else:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def run(end: str) -> tuple[Path, int]:
    """Start the servers in a process of their own that ends in one of two ways: their folder, PostgreSQL's pid."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("ANTIPHON_TEST_")}
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(START), end],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stdout, ended.stderr
    folder, pid = ended.stdout.split()
    return Path(folder), int(pid)


def test_nothing_is_left_of_a_run() -> None:
    folder, pid = run("close")
    assert not folder.exists()
    assert not is_alive(pid)


def test_a_killed_run_loses_its_servers_at_once_and_its_folder_to_the_next() -> None:
    folder, pid = run("kill")
    wait_for(lambda: not is_alive(pid))
    assert folder.exists()
    run("close")
    assert not folder.exists()


def test_a_worker_has_a_valkey_number_of_its_own() -> None:
    assert with_database("redis://:secret@127.0.0.1:7000/0", 3) == "redis://:secret@127.0.0.1:7000/3"
    assert with_database("redis://127.0.0.1:7000", 1) == "redis://127.0.0.1:7000/1"
