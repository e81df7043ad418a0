"""What lets a client in at an MCP server is nowhere but at that server: looked for in everything that is kept or sent.

Each search has a counter-check: what is no secret is found in the same place by the same search.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import redis

from tests.e2e.mcp.secret import KEY, MARKER, PROMPT, QUERY, TOKEN, ended, look, tool
from tests.e2e.test_websocket import ask, open_socket, read_response
from tests.support.client import Client, Json
from tests.support.mcp_server import RealMcpServer
from tests.support.service import Service


def test_secrets_are_nowhere_but_at_the_server(service: Service, server: RealMcpServer) -> None:
    server.token = TOKEN
    said: list[str] = []
    mark = service.mark()
    with _heard(service) as commands:
        for asked in _requests(service.friend, server):
            said += asked
            look(service)
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
    look(service)


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
    return [ended(friend, friend.create(**body, background=True).json()["id"])]


def _over_websocket(service: Service, server: RealMcpServer) -> list[str]:
    with open_socket(service.base_url, service.friend.key) as socket:
        ask(socket, input=f"{PROMPT}: use headers.", tools=[tool(server, allowed_tools=["headers"])])
        return [json.dumps(read_response(socket))]


def _while_it_runs(service: Service, server: RealMcpServer) -> list[str]:
    """What is kept while a worker is in the middle of a call, and while a job waits for a worker."""
    body: Json = {"input": f"{PROMPT}: be slow.", "tools": [tool(server, allowed_tools=["slow"])]}
    with service.friend.stream(**body) as stream:
        assert server.began.wait(10)
        look(service)
        server.released.set()
        raw = stream.read_all().decode()
    service.worker.stop()
    waiting = service.friend.create(**body, background=True)
    look(service)
    service.worker.start()
    return [raw, ended(service.friend, waiting.json()["id"])]


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
