"""Everything that a running service keeps, as text to be searched: rows, keys, messages, files, processes."""

from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
import redis
from kombu import Connection
from psycopg import sql

from tests.support.service import Service

_MOST_MESSAGES: Final = 1000


def rows(url: str) -> str:
    """Every row of every table of a database."""
    with psycopg.connect(url) as connection:
        connection.execute("SET antiphon.tenant_id = '*'")
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        return "".join(
            row[0]
            for (table,) in tables
            for row in connection.execute(sql.SQL("SELECT t::text FROM {} t").format(sql.Identifier(table)))
        )


def keys(url: str) -> str:
    """The value of every key of a Valkey."""
    with redis.Redis.from_url(url) as client:
        return "".join(repr(_value(client, key)) for key in client.scan_iter(count=1000))


def messages(url: str, queue: str) -> str:
    """What waits in a queue of RabbitMQ: headers, properties and bodies. All of it waits there afterwards, too."""
    with Connection(url) as broker:
        channel: Any = broker.channel()
        taken: list[str] = []
        while len(taken) < _MOST_MESSAGES and (message := channel.basic_get(queue)) is not None:
            taken.append(repr((message.headers, message.properties, message.delivery_info, message.body)))
        channel.close()  # what was not acknowledged is queued again
    return "".join(taken)


def files(folder: Path) -> str:
    """Every file below a folder."""
    return "".join(path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file())


def processes(service: Service) -> str:
    """Arguments and environment of each process of a service, and of those that they have started."""
    begun = [process.pid for process in service.processes if process.running]
    return "".join(_told_by_kernel(pid) for parent in begun for pid in _family(parent))


def _family(pid: int) -> list[int]:
    children = [
        int(child)
        for task in Path(f"/proc/{pid}/task").iterdir()
        for child in _read(task / "children").split()
    ]
    return [pid, *(found for child in children for found in _family(child))]


def _told_by_kernel(pid: int) -> str:
    place = Path(f"/proc/{pid}")
    threads = [_read(task / "comm") for task in (place / "task").iterdir()]
    return "".join((_read(place / "cmdline"), _read(place / "environ"), *threads))


def _read(path: Path) -> str:
    """A file of the kernel's; nothing of a process or thread that has ended since it was listed."""
    try:
        return path.read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _value(client: Any, key: bytes) -> Any:
    match client.type(key):
        case b"string":
            return client.get(key)
        case b"hash":
            return client.hgetall(key)
        case b"list":
            return client.lrange(key, 0, -1)
        case b"set":
            return client.smembers(key)
        case b"zset":
            return client.zrange(key, 0, -1)
        case b"stream":
            return client.xrange(key)
        case b"none":  # gone since it was listed
            return None
    pytest.fail(f"a key of a type that is not looked into: {key!r}")
