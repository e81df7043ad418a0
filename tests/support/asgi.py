"""An ASGI application in this process, called as a server would call it.

It runs on an event loop of its own, in a thread, as it does under daphne; tests talk to it through the same
`Client` and `Exchange` as to a real server. What a test sees are the application's own messages: each
`http.response.body` is one chunk, and the client leaves exactly when the test says so.
"""

import asyncio
import json
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote, urlsplit

from tests.support.client import Answer, Chunk, Client, Deadline, Exchange, Json
from tests.support.described import assert_described
from tests.support.outbox import Outbox

_OTHERS = ("/admin", "/static")
"""Pages that are not the API's."""

Application = Callable[[Any, Any, Any], Awaitable[None]]


class AsgiServer:
    """The application, its loop and the thread of both."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="asgi", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        try:
            asyncio.run_coroutine_threadsafe(self._cancel_all(), self.loop).result(10)
        except TimeoutError:
            left = [f"{task.get_name()}: {task.get_stack()}" for task in asyncio.all_tasks(self.loop)]
            raise AssertionError(
                "these tasks do not end when they are cancelled:\n" + "\n".join(left)
            ) from None
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(10)
        self.loop.close()

    def open(self, scope: Json, body: Sequence[bytes]) -> "AsgiExchange":
        """Begin a request whose body comes in these pieces."""
        exchange = AsgiExchange(self.loop, body)
        call = self.application(scope, exchange.receive, exchange.outbox.send)
        self.run(call).add_done_callback(exchange.outbox.returned)
        return exchange

    def run(self, call: Awaitable[None]) -> "Future[None]":
        """Await a call of the application on its loop."""
        return asyncio.run_coroutine_threadsafe(_awaited(call), self.loop)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    async def _cancel_all(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self.loop.shutdown_default_executor()


async def _awaited(call: Awaitable[None]) -> None:
    await call


class AsgiExchange(Exchange):
    """One request to the application: what it sends is read as from a socket."""

    def __init__(self, loop: asyncio.AbstractEventLoop, body: Sequence[bytes]) -> None:
        self.status = 0
        self.headers = {}
        self.chunks = []
        self._ended = False
        self._loop = loop
        self._left = asyncio.Event()
        self._pieces = deque(body or [b""])
        self.outbox = Outbox()

    # ---- the application's side

    async def receive(self) -> Json:
        """The next piece of the request, afterwards the client's leaving."""
        if self._pieces and not self._left.is_set():
            piece = self._pieces.popleft()
            return {"type": "http.request", "body": piece, "more_body": bool(self._pieces)}
        await self._left.wait()
        return {"type": "http.disconnect"}

    # ---- the test's side

    def read_head(self, timeout: float = 20.0) -> Self:
        """Wait for the status and the headers."""
        if not self.status:
            message = self.outbox.next(Deadline(timeout))
            assert message is not None, "the application returned without an answer"
            assert message["type"] == "http.response.start", message
            self.status = message["status"]
            self.headers = {name.decode().lower(): value.decode() for name, value in message["headers"]}
        return self

    def read_chunk(self, timeout: float = 20.0) -> bytes | None:
        """The body of the next message, None at the end."""
        deadline = Deadline(timeout)
        self.read_head(timeout)
        while not self._ended:
            message = self.outbox.next(deadline)
            if message is None:
                raise ConnectionError("the application returned in the middle of an answer")
            assert message["type"] == "http.response.body", message
            self._ended = not message.get("more_body", False)
            data: bytes = message.get("body", b"")
            if data:
                self.chunks.append(Chunk(data, 0.0))
                return data
        return None

    def close(self) -> None:
        """Leave."""
        self._loop.call_soon_threadsafe(self._left.set)

    abort = close

    def wait_returned(self, timeout: float = 10.0) -> None:
        """Wait until the application is done with this request."""
        self.outbox.wait_returned(timeout)


@dataclass(frozen=True, slots=True, kw_only=True)
class AsgiClient(Client):
    """Calls the application as one key."""

    server: AsgiServer

    def open(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> AsgiExchange:
        """Send a request and return at once. `body` is JSON, bytes, or a tuple: bytes that come in pieces."""
        pieces = list(body) if isinstance(body, tuple) else [encoded(body)]
        return self.server.open(self._scope(method, path, headers or {}, bool(pieces[0])), pieces)

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 20.0,
    ) -> Answer:
        """One whole call, whose answer is one that the reference describes."""
        answer = super(AsgiClient, self).request(method, path, body, headers, timeout)
        address = urlsplit(self.base_url + path)
        if not address.path.startswith(_OTHERS):
            assert_described(method, address.path, answer)
        return answer

    def _scope(self, method: str, path: str, headers: Mapping[str, str], has_body: bool) -> Json:
        url = urlsplit(self.base_url + path)
        sent = {"host": url.netloc}
        if has_body:
            sent["content-type"] = "application/json"
        if self.key:
            sent["authorization"] = f"Bearer {self.key}"
        sent.update({name.lower(): value for name, value in headers.items()})
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "scheme": "http",
            "method": method,
            "path": unquote(url.path),
            "raw_path": url.path.encode(),
            "query_string": url.query.encode(),
            "root_path": "",
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in sent.items()],
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", 80),
        }


def encoded(body: Any) -> bytes:
    """A body's bytes: as they are, or JSON."""
    if isinstance(body, bytes):
        return body
    return b"" if body is None else json.dumps(body).encode()
