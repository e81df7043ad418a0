"""A server that the user named and that does not answer is named back, in one sentence, without its password."""

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import redis
from amqp.serialization import dumps

from config.local.errors import LocalError
from config.local.outside import WorkerBeats, check_broker, check_database, check_valkey
from responses_api.eventlog import names
from tests.support.cluster import with_database

_OWN_NUMBER = 63


@pytest.mark.parametrize(
    ("check", "url", "words"),
    [
        (check_database, "postgres://me:hush@127.0.0.1:9/db", "DATABASE_URL names a database"),
        (check_database, "nonsense", "DATABASE_URL names a database"),
        (check_valkey, "redis://:hush@127.0.0.1:9/0", "VALKEY_URL names a server"),
        (check_valkey, "nonsense", "VALKEY_URL names a server"),
        (check_broker, "amqp://me:hush@127.0.0.1:9//", "CELERY_BROKER_URL names a broker"),
        (check_broker, "nonsense://127.0.0.1", "nonsense is no transport"),
    ],
)
def test_what_does_not_answer_is_named(check: Callable[[str], None], url: str, words: str) -> None:
    with pytest.raises(LocalError, match=words) as raised:
        check(url)
    assert "hush" not in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1


def test_what_answers_passes() -> None:
    check_database(os.environ["DATABASE_URL"])
    check_valkey(os.environ["VALKEY_URL"])
    check_broker(os.environ["VALKEY_URL"])


@contextmanager
def refusing_broker(code: int, text: str) -> Iterator[int]:
    """An AMQP server that lets nobody in: its port."""

    def method(signature: tuple[int, int], layout: str, *values: object) -> bytes:
        payload = b"".join(number.to_bytes(2, "big") for number in signature) + dumps(layout, values)
        return b"\x01\x00\x00" + len(payload).to_bytes(4, "big") + payload + b"\xce"

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(8)
            connection.sendall(method((10, 10), "ooFSS", 0, 9, {}, b"PLAIN", b"en_US"))
            connection.recv(65536)
            connection.sendall(method((10, 50), "BsBB", code, text, 0, 0))
            connection.recv(65536)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=serve)
        server.start()
        yield listener.getsockname()[1]
        server.join(10)


def test_a_broker_that_lets_nobody_in_is_named() -> None:
    with (
        refusing_broker(403, "ACCESS_REFUSED - Login was refused.") as port,
        pytest.raises(LocalError) as raised,
    ):
        check_broker(f"amqp://me:hush@127.0.0.1:{port}//")
    assert str(raised.value) == (
        "CELERY_BROKER_URL names a broker that refuses it: ACCESS_REFUSED - Login was refused."
    )


def test_a_worker_is_ready_while_it_beats() -> None:
    # A database of its own: in the run's, other tests' workers may beat.
    url = with_database(os.environ["VALKEY_URL"], _OWN_NUMBER)
    with redis.Redis.from_url(url) as client:
        client.sadd(names.WORKERS, "w1", "w2")
        assert not WorkerBeats(url).any()
        client.set(names.beat("w2"), 1, ex=5)
        assert WorkerBeats(url).any()
        client.delete(names.WORKERS, names.beat("w2"))
    assert not WorkerBeats(url).any()
