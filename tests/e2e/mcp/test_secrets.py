"""What lets a client in at an MCP server is nowhere but at that server: looked for in everything that is kept or sent.

Each search has a counter-check: what is no secret is found in the same place by the same search.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
import pytest
import redis
from psycopg import sql

from tests.e2e.test_websocket import ask, open_socket, read_response
from tests.support.client import Client, Json, wait_until
from tests.support.mcp_server import RealMcpServer
from tests.support.service import Service

MARKER: Final = "marker-of-a-secret"
TOKEN, KEY, QUERY = f"{MARKER}-token", f"{MARKER}-key", f"{MARKER}-query"
PROMPT: Final = "prompt-that-is-no-secret"


def tool(server: RealMcpServer, **entry: Any) -> Json:
    return {
        "type": "mcp",
        "server_label": "tools",
        "server_url": f"{server.url}?token={QUERY}",
        "authorization": TOKEN,
        "headers": {"X-Api-Key": KEY},
        "require_approval": "never",
        **entry,
    }


def test_secrets_are_nowhere_but_at_the_server(service: Service, server: RealMcpServer) -> None:
    server.token = TOKEN
    said: list[str] = []
    mark = service.mark()
    with _heard(service) as commands:
        for asked in _requests(service.friend, server):
            said += asked
            _look(service)
        said += _over_websocket(service, server)
        said += _while_it_runs(service, server)
        said += _refusals(service.friend, server)
        said += _afterwards(service)
    assert {asked.headers["x-api-key"] for asked in server.calls()} == {KEY}
    assert {asked.headers["authorization"] for asked in server.calls()} == {f"Bearer {TOKEN}"}
    assert {asked.query for asked in server.calls()} == {f"token={QUERY}"}
    logs = service.logs(mark, last=1 << 30)
    assert '"level":"debug"' in logs
    assert server.url.removesuffix("/mcp") in logs
    assert MARKER not in logs
    assert PROMPT in "".join(said)
    assert MARKER not in "".join(said)
    assert PROMPT in "".join(commands)
    assert MARKER not in "".join(commands)
    _look(service)


def _requests(friend: Client, server: RealMcpServer) -> Iterator[list[str]]:
    """Calls of a tool that repeats the headers it was called with, and of one that fails, in every way to ask."""
    for name in ("headers", "fails", "dies"):
        body: Json = {"input": f"{PROMPT}: use {name}.", "tools": [tool(server, allowed_tools=[name])]}
        yield [friend.read_stream(**body).raw.decode()]
        yield [friend.create(**body, store=False).body.decode()]
        yield _in_background(friend, **body)
    asks = tool(server, require_approval="always", allowed_tools=["headers"])
    first = friend.create(input=f"{PROMPT}: use headers.", tools=[asks])
    request = first.json()["output"][-1]
    answer = {"type": "mcp_approval_response", "approval_request_id": request["id"], "approve": True}
    second = friend.create(input=[answer], previous_response_id=first.json()["id"], tools=[asks])
    assert "[secret]" in second.body.decode()
    yield [first.body.decode(), second.body.decode()]


def _in_background(friend: Client, **body: Any) -> list[str]:
    return [_ended(friend, friend.create(**body, background=True).json()["id"])]


def _ended(friend: Client, response_id: str) -> str:
    """What GET tells of a response once it has ended."""

    def ended() -> str | None:
        found = friend.get(f"/responses/{response_id}")
        return found.body.decode() if found.json()["status"] not in ("queued", "in_progress") else None

    return str(wait_until(ended, timeout=60, what="the end"))


def _over_websocket(service: Service, server: RealMcpServer) -> list[str]:
    with open_socket(service.base_url, service.friend.key) as socket:
        ask(socket, input=f"{PROMPT}: use headers.", tools=[tool(server, allowed_tools=["headers"])])
        return [json.dumps(read_response(socket))]


def _while_it_runs(service: Service, server: RealMcpServer) -> list[str]:
    """What is kept while a worker is in the middle of a call, and while a job waits for a worker."""
    body: Json = {"input": f"{PROMPT}: be slow.", "tools": [tool(server, allowed_tools=["slow"])]}
    with service.friend.stream(**body) as stream:
        assert server.began.wait(10)
        _look(service)
        server.released.set()
        raw = stream.read_all().decode()
    service.worker.stop()
    waiting = service.friend.create(**body, background=True)
    _look(service)
    service.worker.start()
    return [raw, _ended(service.friend, waiting.json()["id"])]


def _refusals(friend: Client, server: RealMcpServer) -> list[str]:
    """What cannot be sent is refused without being repeated."""
    wrong: list[Json] = [
        {"headers": {"Host": KEY}},
        {"headers": {"X-Key": f"{KEY}\r\nHost: elsewhere"}},
        {"headers": {"X-Key": [KEY]}},
        {"headers": KEY},
        {"authorization": [TOKEN]},
        {"authorization": f"{TOKEN}\n"},
        {"headers": {"Authorization": TOKEN}},
        {"server_url": f"http://127.0.0.1/{chr(9)}?token={QUERY}"},
        {"unknown": KEY},
    ]
    answers = [friend.create(input=PROMPT, tools=[tool(server, **entry)]) for entry in wrong]
    assert {answer.status for answer in answers} == {400}
    return [answer.body.decode() for answer in answers]


def _afterwards(service: Service) -> list[str]:
    """What is told of stored responses: each by itself, its input, its stream, and the list."""
    friend = service.friend
    listed = friend.get("/responses?limit=100")
    told = [listed.body.decode()]
    for response in listed.json()["data"]:
        for path in ("", "?stream=true", "/input_items"):
            told.append(friend.get(f"/responses/{response['id']}{path}").body.decode())
    assert len(told) > 10
    return told


@contextmanager
def _heard(service: Service) -> Iterator[list[str]]:
    """Every command that reaches Valkey meanwhile: messages of the broker, journals, inboxes, envelopes."""
    commands: list[str] = []
    with redis.Redis.from_url(service.env["VALKEY_URL"]) as client, client.monitor() as monitor:
        ended = threading.Event()

        def hear() -> None:
            while not ended.is_set():
                commands.append(str(monitor.next_command()["command"]))

        thread = threading.Thread(target=hear, daemon=True)
        thread.start()
        try:
            yield commands
        finally:
            ended.set()
            client.ping()
            thread.join(10)


def _look(service: Service) -> None:
    """Look through every row of the database and every key of Valkey."""
    rows = _rows(service.env["DATABASE_URL"])
    assert PROMPT in rows
    assert MARKER not in rows
    assert MARKER not in _keys(service.env["VALKEY_URL"])


def _rows(url: str) -> str:
    with psycopg.connect(url) as connection:
        connection.execute("SET antiphon.tenant_id = '*'")
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        return "".join(
            row[0]
            for (table,) in tables
            for row in connection.execute(sql.SQL("SELECT t::text FROM {} t").format(sql.Identifier(table)))
        )


def _keys(url: str) -> str:
    with redis.Redis.from_url(url) as client:
        return "".join(repr(_value(client, key)) for key in client.scan_iter(count=1000))


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
