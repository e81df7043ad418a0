"""The embedded PostgreSQL runs wherever the project lies, binds its role, and survives a bad end."""

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import environ
import psycopg
import pytest

from config.local.children import Child, start
from config.local.errors import LocalError
from config.local.places import reachable, short_directory, unprivileged_user
from config.local.postgres import Postgres
from tests.unit.local.programs import is_alive, wait_for


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Postgres]:
    data = tmp_path / "var" / "postgres"
    runtime = short_directory(unprivileged_user(data), tmp_path)
    yield Postgres(data, runtime, tmp_path / "log", {"fsync": "off"})
    shutil.rmtree(runtime)


@contextmanager
def running(server: Postgres) -> Iterator[Child]:
    child = start(server.prepare())
    try:
        server.wait(child)
        yield child
    finally:
        child.stop()


def test_the_role_is_bound_by_row_level_security(server: Postgres) -> None:
    query = "SELECT rolsuper, rolbypassrls, rolcreatedb FROM pg_roles WHERE rolname = current_user"
    with running(server), psycopg.connect(server.url) as connection:
        assert connection.execute(query).fetchone() == (False, False, True)
        assert connection.info.dbname == "antiphon"


def test_data_outlives_a_kill(server: Postgres) -> None:
    with running(server) as child:
        with psycopg.connect(server.url) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
        backends = Path(f"/proc/{child.process.pid}/task/{child.process.pid}/children").read_text().split()
        os.kill(child.process.pid, signal.SIGKILL)
        wait_for(lambda: not any(is_alive(int(pid)) for pid in backends))
    assert (server.data / "postmaster.pid").exists()
    with running(server), psycopg.connect(server.url) as connection:
        assert connection.execute("SELECT answer FROM kept").fetchone() == (42,)


def test_a_lock_whose_process_is_now_another_program_is_no_obstacle(server: Postgres) -> None:
    with running(server):
        pass
    (server.data / "postmaster.pid").write_text(f"{os.getpid()}\n{server.data}\n")
    with running(server), psycopg.connect(server.url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_data_of_another_version_is_refused_in_words(server: Postgres) -> None:
    server.data.mkdir(parents=True)
    (server.data / "PG_VERSION").write_text("9\n")
    with pytest.raises(LocalError, match="is of PostgreSQL 9"):
        server.prepare()


def test_a_server_that_cannot_start_says_why(server: Postgres) -> None:
    broken = Postgres(server.data, server.runtime, server.log, {"shared_buffers": "nonsense"})
    child = start(broken.prepare())
    with pytest.raises(LocalError, match=r"(?s)PostgreSQL ended with exit code 1.*nonsense"):
        broken.wait(child)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs PostgreSQL as somebody else")
def test_root_opens_nothing_up_for_the_server(server: Postgres, tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    user = unprivileged_user(server.data)
    with running(server) as child:
        assert user is not None
        assert not reachable(server.data, user)
        assert f"Uid:\t{user.pw_uid}" in Path(f"/proc/{child.process.pid}/status").read_text()
    assert tmp_path.stat().st_mode & 0o777 == 0o700


def test_the_url_is_read_alike_by_libpq_and_django(server: Postgres) -> None:
    config = environ.Env.db_url_config(server.url)
    assert (config["NAME"], config["USER"]) == ("antiphon", "antiphon")
    assert config["OPTIONS"] == {"host": str(server.sockets)}
    assert parse_qs(urlsplit(server.url).query) == {"host": [str(server.sockets)]}


def test_a_path_that_is_too_long_for_a_socket_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("x" * 100)
    long.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(long))
    taken = short_directory(None, tmp_path)
    assert len(str(taken)) < 90
    taken.rmdir()
