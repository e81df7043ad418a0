"""The embedded Valkey is closed to who has no password, and keeps nothing on disk."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

from config.local.children import Child, start
from config.local.errors import LocalError
from config.local.valkey import Valkey, free_port, port_is_free


@pytest.fixture
def server(tmp_path: Path) -> Valkey:
    return Valkey(tmp_path / "data", tmp_path / "log", free_port(), "a-secret")


@contextmanager
def running(server: Valkey) -> Iterator[Child]:
    child = start(server.prepare())
    try:
        server.wait(child)
        yield child
    finally:
        child.stop()


def test_it_wants_the_password(server: Valkey) -> None:
    with (
        running(server),
        redis.Redis(port=server.port) as stranger,
        pytest.raises(redis.AuthenticationError),
    ):
        stranger.ping()


def test_the_password_is_not_in_the_process_list(server: Valkey) -> None:
    with running(server) as child:
        assert "a-secret" not in Path(f"/proc/{child.process.pid}/cmdline").read_text()
    assert os.stat(server.data / "valkey.conf").st_mode & 0o777 == 0o600


def test_nothing_of_what_it_holds_is_ever_on_disk(server: Valkey) -> None:
    server.data.mkdir()
    (server.data / "dump.rdb").write_bytes(b"what an older configuration saved: secret prompt")
    with running(server), redis.Redis.from_url(server.url) as client:
        assert client.config_get("save") == {"save": ""}
        client.rpush("queue", "secret prompt")
    assert not [path for path in server.data.rglob("*") if b"secret prompt" in path.read_bytes()]
    with running(server), redis.Redis.from_url(server.url) as client:
        assert client.keys() == []


def test_a_taken_port_is_told_from_its_log(server: Valkey) -> None:
    with socket.create_server(("127.0.0.1", server.port)):
        child = start(server.prepare())
        with pytest.raises(LocalError, match=r"(?s)Valkey ended with exit code 1.*bind"):
            server.wait(child)


def test_the_port_of_the_last_run_is_taken_again_when_free() -> None:
    port = free_port()
    assert free_port(port) == port
    with socket.create_server(("127.0.0.1", port)):
        assert not port_is_free("127.0.0.1", port)
        assert free_port(port) != port
