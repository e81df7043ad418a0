"""A revoke reaches every process within a second: what runs and what is open ends, and the key is refused."""

import json
import time
from collections.abc import Callable
from threading import Thread
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.e2e.web import StartWeb
from tests.support.chat import chat_stream
from tests.support.client import Client
from tests.support.service import MODEL, Service
from tests.support.upstream import ScriptedUpstream

BAR_SECONDS = 1.0
BEGUN = chat_stream("Hel", "lo", finish=None, usage=None, done=False)

Record = Callable[[str, object], None]


def test_two_web_processes_end_what_a_revoked_key_has_open(
    service: Service, start_web: StartWeb, friend: Client, upstream: ScriptedUpstream, record_property: Record
) -> None:
    text = str(json.loads(service.manage("create_key", "friend", "--name", "leaked", "--json"))["key"])
    other = start_web()
    bases = [service.base_url, other.name]
    clients = [Client(base, text, MODEL) for base in bases]
    upstream.reply(body=BEGUN, end="hang")
    upstream.reply(body=BEGUN, end="hang")
    streams = [client.stream(input="Hello") for client in clients]
    for stream in streams:
        stream.read_event("response.output_text.delta")
    headers = {"Authorization": f"Bearer {text}"}
    sockets = [
        connect(f"{base.replace('http', 'ws', 1)}/responses", additional_headers=headers) for base in bases
    ]
    ends: dict[str, float] = {}
    codes: list[int | None] = []

    def wait_for_stream(name: str, stream: Any) -> None:
        stream.read_all()
        ends[name] = time.time()

    def wait_for_socket(name: str, socket: Any) -> None:
        assert json.loads(socket.recv())["error"]["code"] == "invalid_api_key"
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv()
        codes.append(closed.value.rcvd.code if closed.value.rcvd else None)
        ends[name] = time.time()

    waiting = [
        *(Thread(target=wait_for_stream, args=(f"stream {at}", stream)) for at, stream in enumerate(streams)),
        *(Thread(target=wait_for_socket, args=(f"socket {at}", socket)) for at, socket in enumerate(sockets)),
    ]
    for thread in waiting:
        thread.start()
    service.manage("revoke_key", "friend", text[-4:])
    for thread in waiting:
        thread.join(10)
    # When the revoke was stored is the database's to say: the command took its time before it.
    revoked_at = float(
        service.manage(
            "shell",
            "-v0",
            "-c",
            "from tenants.models import ApiKey; from tenants.scoping import operator_scope as o\n"
            "with o(): print(ApiKey.objects.get(name='leaked').revoked_at.timestamp())",
        )
    )
    assert len(ends) == 4, ends
    assert codes == [4401, 4401]
    slowest = max(ends.values()) - revoked_at
    record_property("all ended after the revoke within", f"{slowest * 1000:.0f} ms")
    assert 0 < slowest < BAR_SECONDS
    for stream in streams:
        assert stream.events[-1]["response"]["error"]["code"] == "invalid_api_key"
    for request in upstream.requests():
        request.wait_closed(BAR_SECONDS)
    assert {client.get("/models").status for client in clients} == {401}
    assert friend.get("/models").status == 200
