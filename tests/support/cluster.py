"""The PostgreSQL and Valkey of a test run: a pytest plugin, loaded by `-p` before Django's settings are.

One embedded pair per run, started by the process that the user started, on a temporary directory, stopped at
the end of the run, whatever its outcome (by the kernel, should the run be killed). Workers of pytest-xdist
inherit its addresses; each has a database of its own (pytest-django makes it) and a Valkey database number of
its own. Published messages (PUBLISH) know no database numbers: channel names must be unique to a test.

ANTIPHON_TEST_DATABASE_URL and ANTIPHON_TEST_VALKEY_URL name servers to be used instead.
"""

import os
import secrets
import shutil
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

from config.local.children import start
from config.local.errors import LocalError
from config.local.places import lock, short_parent, unprivileged_user
from config.local.postgres import Postgres
from config.local.valkey import Valkey, free_port

DATABASE_VARIABLE = "ANTIPHON_TEST_DATABASE_URL"
VALKEY_VARIABLE = "ANTIPHON_TEST_VALKEY_URL"

_PREFIX = "antiphon-test-"
_LOCK = "run.lock"

# Tests may lose everything in a power cut.
_UNSAFE_AND_FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, object, object]:
    """Start what is missing and tell the settings, ahead of pytest-django, which reads them in this hook."""
    stack = ExitStack()
    early_config.add_cleanup(stack.close)
    start_missing(stack)
    number = _worker_number()
    valkey = with_database(os.environ[VALKEY_VARIABLE], number)
    os.environ["DATABASE_URL"] = os.environ[DATABASE_VARIABLE]
    os.environ["VALKEY_URL"] = os.environ["CELERY_BROKER_URL"] = valkey
    os.environ["EMAIL_URL"] = "smtp://127.0.0.1:9"  # nobody is there; tests in this process read an outbox
    os.environ["SECRET_KEY"] = "a key for tests, at least fifty characters long, never used elsewhere"
    return (yield)


def start_missing(stack: ExitStack) -> None:
    """Start the embedded servers that no variable names; their end is the stack's."""
    directory: Path | None = None
    if DATABASE_VARIABLE not in os.environ:
        directory = _temporary_directory(stack)
        os.environ[DATABASE_VARIABLE] = _start_postgres(directory, stack)
        stack.callback(os.environ.pop, DATABASE_VARIABLE, None)
    if VALKEY_VARIABLE not in os.environ:
        directory = directory or _temporary_directory(stack)
        os.environ[VALKEY_VARIABLE] = _start_valkey(directory, stack)
        stack.callback(os.environ.pop, VALKEY_VARIABLE, None)


def with_database(url: str, number: int) -> str:
    """A Valkey URL with its database number replaced."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{number}"))


def _worker_number() -> int:
    """0 for a run without xdist, n + 1 for worker gw<n>."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    return int(worker.removeprefix("gw")) + 1 if worker.startswith("gw") else 0


def _temporary_directory(stack: ExitStack) -> Path:
    parent = short_parent(unprivileged_user())
    _remove_what_killed_runs_left(parent)
    path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
    path.chmod(0o755)  # as root, PostgreSQL runs as another user, who must get to its socket
    stack.callback(shutil.rmtree, path, ignore_errors=True)
    stack.enter_context(lock(path / _LOCK))
    return path


def _remove_what_killed_runs_left(parent: Path) -> None:
    """Remove directories of runs that ended without a chance to do so: nobody holds their lock any more."""
    for path in parent.glob(f"{_PREFIX}*"):
        # One that another run removes meanwhile is gone, as it should be.
        with suppress(LocalError, FileNotFoundError):
            if path.stat().st_uid == os.geteuid() and (path / _LOCK).exists():
                with lock(path / _LOCK):
                    shutil.rmtree(path, ignore_errors=True)


def _start_postgres(directory: Path, stack: ExitStack) -> str:
    server = Postgres(
        data=directory / "postgres",
        runtime=directory,
        log=directory / "postgres.log",
        settings=_UNSAFE_AND_FAST,
    )
    child = start(server.prepare())
    stack.callback(child.stop)
    server.wait(child)
    return server.url


def _start_valkey(directory: Path, stack: ExitStack) -> str:
    server = Valkey(
        data=directory / "valkey",
        log=directory / "valkey.log",
        port=free_port(),
        password=secrets.token_urlsafe(16),
    )
    child = start(server.prepare())
    stack.callback(child.stop)
    server.wait(child)
    return server.url
