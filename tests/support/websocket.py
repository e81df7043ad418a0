"""A WebSocket into the application in this process: frames in, frames out, no network.

The application is called as a server would call it; each `websocket.send` is one frame.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from responses_api.conformance.stream import check_messages, compare_with_get
from responses_api.protocol.event_types import TERMINAL_TYPES
from tests.support.asgi import AsgiServer
from tests.support.checks import stored_response
from tests.support.client import Client, Deadline, Json
from tests.support.oracle import assert_envelope, assert_response, event_faults
from tests.support.outbox import Outbox


class Refused(Exception):
    """The handshake was refused."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        super().__init__(status, body)
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def error(self) -> Json:
        """The error object of the body."""
        found: Json = json.loads(self.body)["error"]
        return found


class Socket:
    """One connection of a client. Entering it makes the handshake, which may raise `Refused`."""

    def __init__(
        self,
        server: AsgiServer,
        key: str | None,
        *,
        path: str = "/v1/responses",
        headers: Mapping[str, str] | None = None,
        subprotocols: Sequence[str] = (),
        extensions: Sequence[str] = ("websocket.http.response",),
    ) -> None:
        sent = {"host": "127.0.0.1", **({"authorization": f"Bearer {key}"} if key else {}), **(headers or {})}
        self._scope: Json = {
            "type": "websocket",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "scheme": "ws",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in sent.items()],
            "subprotocols": list(subprotocols),
            "extensions": {name: {} for name in extensions},
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", 80),
        }
        self._server = server
        self._loop = server.loop
        self._inbound: asyncio.Queue[Json] = asyncio.Queue()
        self._outbox = Outbox()
        self.accepted: Json = {}

    # ---- the application's side

    async def _call(self) -> None:
        self._task = asyncio.current_task()
        await self._server.application(self._scope, self._inbound.get, self._outbox.send)

    # ---- the test's side

    def __enter__(self) -> Self:
        self._server.run(self._call()).add_done_callback(self._outbox.returned)
        self._put({"type": "websocket.connect"})
        answer = self._next(Deadline(20))
        if answer["type"] != "websocket.accept":
            raise self._refused(answer)
        self.accepted = answer
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.leave()
        self.wait_returned()

    def send(self, message: Any) -> None:
        """Send a text frame: a string as it is, anything else as JSON."""
        text = message if isinstance(message, str) else json.dumps(message)
        self._put({"type": "websocket.receive", "text": text})

    def send_bytes(self, data: bytes) -> None:
        """Send a binary frame."""
        self._put({"type": "websocket.receive", "bytes": data})

    def create(self, **body: Any) -> None:
        """Send a `response.create`, not stored unless asked for."""
        self.send({"type": "response.create", "model": "test-model", "store": False, **body})

    def read(self, timeout: float = 20.0) -> str:
        """The next text frame. ConnectionError where the application closes instead."""
        message = self._next(Deadline(timeout))
        if message["type"] == "websocket.close":
            raise ConnectionError(f"closed with {message.get('code')}")
        assert message["type"] == "websocket.send", message
        text = message["text"]
        assert isinstance(text, str)
        return text

    def read_event(self, kind: str) -> Json:
        """Read on until an event of this type has come."""
        while (event := json.loads(self.read()))["type"] != kind:
            assert event["type"] not in TERMINAL_TYPES | {"error"}, event
        return dict(event)

    def read_response(self, reader: Client | None = None) -> Json:
        """Read a whole response and check it by every rule; its final snapshot, which GET tells `reader`, too."""
        frames = [self.read()]
        while json.loads(frames[-1])["type"] not in TERMINAL_TYPES:
            assert "status" not in json.loads(frames[-1]), frames
            frames.append(self.read())
        stream = check_messages(frames, validate=event_faults)
        assert not stream.violations, stream.violations
        assert stream.final is not None
        assert_response(stream.final)
        if reader is not None:
            assert not compare_with_get(stream.final, stored_response(reader, stream.final["id"]))
        return stream.final

    def read_error(self) -> Json:
        """Read an error envelope."""
        envelope: Json = json.loads(self.read())
        assert_envelope(envelope)
        return envelope

    def read_close(self, timeout: float = 20.0) -> int:
        """Wait until the application closes; the code."""
        message = self._next(Deadline(timeout))
        assert message["type"] == "websocket.close", message
        code = message["code"]
        assert isinstance(code, int)
        self.leave(code)
        return code

    def leave(self, code: int = 1005) -> None:
        """Go, or answer a close."""
        self._put({"type": "websocket.disconnect", "code": code})

    def cancel(self) -> None:
        """Cancel the application, as a server does that is stopped."""
        assert self._task is not None
        self._loop.call_soon_threadsafe(self._task.cancel)

    def wait_returned(self, timeout: float = 10.0) -> None:
        """Wait until the application is done with this connection."""
        self._outbox.wait_returned(timeout)

    def _put(self, message: Json) -> None:
        self._loop.call_soon_threadsafe(self._inbound.put_nowait, message)

    def _next(self, deadline: Deadline) -> Json:
        message = self._outbox.next(deadline)
        if message is None:
            raise ConnectionError("the application returned")
        return message

    def _refused(self, answer: Json) -> Refused:
        if answer["type"] == "websocket.close":
            self.leave()
            return Refused(403, {}, b"")
        assert answer["type"] == "websocket.http.response.start", answer
        body = self._next(Deadline(20))
        headers = {name.decode(): value.decode() for name, value in answer["headers"]}
        self.leave()
        return Refused(answer["status"], headers, body["body"])
