"""A raw HTTP client for tests: real bytes, one socket, nothing hidden.

It keeps the chunks of a body as the server wrote them, which is how a test can tell that every event of a
stream went out in one write, and it can leave at any moment in either way a connection ends.
"""

import json
import socket
import struct
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

Json = dict[str, Any]
DONE = "[DONE]"


class Deadline:
    """A moment by which something must have happened."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._at = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds that remain; TimeoutError when none do."""
        left = self._at - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"not done within {self.seconds} s")
        return left


def wait_until(condition: Callable[[], Any], *, timeout: float, what: str, every: float = 0.05) -> Any:
    """Ask until `condition` holds: for state outside the process that announces nothing."""
    end = time.monotonic() + timeout
    while not (found := condition()):
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {timeout} s")
        time.sleep(every)
    return found


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole HTTP response."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The parsed body."""
        return json.loads(self.body)

    @property
    def error(self) -> Json:
        """The error object of an error body."""
        found = self.json()["error"]
        assert isinstance(found, dict)
        return found


@dataclass(frozen=True, slots=True)
class Chunk:
    """One HTTP chunk of a body: one write of the server. `at` is when it arrived, `time.monotonic()`."""

    data: bytes
    at: float


@dataclass(eq=False)
class Exchange:
    """One request on its own connection, its response read piece by piece."""

    peer: socket.socket
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    chunks: list[Chunk] = field(default_factory=list)
    _buffer: bytes = b""
    _ended: bool = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    @property
    def raw(self) -> bytes:
        """The body so far."""
        return b"".join(chunk.data for chunk in self.chunks)

    @property
    def events(self) -> list[Json]:
        """The data of the SSE events so far, without `[DONE]`."""
        return [json.loads(data) for data in datas(self.raw) if data != DONE]

    @property
    def types(self) -> list[str]:
        """The types of the SSE events so far."""
        return [event["type"] for event in self.events]

    def read_head(self, timeout: float = 20.0) -> Self:
        """Read the status line and the headers."""
        if not self.status:
            head = self._read_to(b"\r\n\r\n", Deadline(timeout)).decode("latin-1")
            first, *lines = head.split("\r\n")
            self.status = int(first.split(" ")[1])
            pairs = (line.partition(":") for line in lines if line)
            self.headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        return self

    def read_chunk(self, timeout: float = 20.0) -> bytes | None:
        """The next chunk of the body, None at its end; ConnectionError if the connection ends before."""
        self.read_head(timeout)
        if self._ended:
            return None
        deadline = Deadline(timeout)
        if self.headers.get("transfer-encoding") == "chunked":
            data = self._http_chunk(deadline)
        else:
            data = self._exactly(int(self.headers.get("content-length", "0")), deadline)
            self._ended = True
        if not data:
            self._ended = True
            return None
        self.chunks.append(Chunk(data, time.monotonic()))
        return data

    def read_until(self, condition: Callable[[Self], Any], timeout: float = 20.0) -> Self:
        """Read on until `condition(self)` holds; ConnectionError when the body ends before."""
        deadline = Deadline(timeout)
        while not condition(self):
            if self.read_chunk(deadline.left()) is None:
                raise ConnectionError(f"the body ended too early: {self.raw[-400:]!r}")
        return self

    def read_event(self, kind: str, timeout: float = 20.0) -> Json:
        """Read on until an event of this type has come, and return it."""
        self.read_until(lambda exchange: kind in exchange.types, timeout)
        return next(event for event in self.events if event["type"] == kind)

    def read_all(self, timeout: float = 20.0) -> bytes:
        """Read the body to its end."""
        deadline = Deadline(timeout)
        while self.read_chunk(deadline.left()) is not None:
            pass
        return self.raw

    def answer(self, timeout: float = 20.0) -> Answer:
        """Read everything."""
        body = self.read_all(timeout)
        return Answer(self.status, self.headers, body)

    def close(self) -> None:
        """Leave as a client does that is closed properly."""
        self.peer.close()

    def abort(self) -> None:
        """Leave as a client does that is killed: with a reset."""
        self.peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.peer.close()

    def _http_chunk(self, deadline: Deadline) -> bytes:
        size = int(self._read_to(b"\r\n", deadline).partition(b";")[0], 16)
        data = self._exactly(size, deadline)
        self._exactly(2, deadline)
        return data

    def _read_to(self, mark: bytes, deadline: Deadline) -> bytes:
        while mark not in self._buffer:
            self._receive(deadline)
        found, _, self._buffer = self._buffer.partition(mark)
        return found

    def _exactly(self, size: int, deadline: Deadline) -> bytes:
        while len(self._buffer) < size:
            self._receive(deadline)
        found, self._buffer = self._buffer[:size], self._buffer[size:]
        return found

    def _receive(self, deadline: Deadline) -> None:
        self.peer.settimeout(deadline.left())
        data = self.peer.recv(65536)
        if not data:
            raise ConnectionError("the server closed the connection in the middle of a response")
        self._buffer += data


@dataclass(frozen=True, slots=True)
class Client:
    """Calls a server as one key; every call has its own connection."""

    base_url: str
    key: str | None = None
    model: str | None = None

    def open(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Exchange:
        """Send a request and return at once. `body` is JSON, or bytes to be sent as they are."""
        url = urlsplit(self.base_url)
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        sent = {"host": url.netloc, "connection": "close", "content-length": str(len(data))}
        if data:
            sent["content-type"] = "application/json"
        if self.key:
            sent["authorization"] = f"Bearer {self.key}"
        sent.update({name.lower(): value for name, value in (headers or {}).items()})
        lines = [f"{method} {url.path}{path} HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items())]
        peer = socket.create_connection((url.hostname or "", url.port or 80), timeout=10)
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer.sendall("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + data)
        return Exchange(peer)

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 20.0,
    ) -> Answer:
        """One whole call."""
        with self.open(method, path, body, headers) as exchange:
            return exchange.answer(timeout)

    def get(self, path: str, timeout: float = 20.0) -> Answer:
        """GET `path`, below the base URL."""
        return self.request("GET", path, timeout=timeout)

    def delete(self, path: str) -> Answer:
        """DELETE `path`, below the base URL."""
        return self.request("DELETE", path)

    def create(self, *, timeout: float = 20.0, **body: Any) -> Answer:
        """POST /responses; the client's model is filled in."""
        return self.request("POST", "/responses", self._body(body), timeout=timeout)

    def stream(self, **body: Any) -> Exchange:
        """POST /responses with `stream: true`, read by the caller."""
        return self.open("POST", "/responses", self._body({**body, "stream": True}))

    def read_stream(self, *, timeout: float = 20.0, **body: Any) -> Exchange:
        """A whole stream: its raw bytes are `.raw`, its writes `.chunks`."""
        with self.stream(**body) as exchange:
            exchange.read_all(timeout)
            return exchange

    def _body(self, body: Json) -> Json:
        return {"model": self.model, **body} if self.model else body


def frames(raw: bytes) -> list[bytes]:
    """The SSE frames of a body, each with its blank line, but for the comments that keep a silent connection alive."""
    return [frame + b"\n\n" for frame in raw.split(b"\n\n") if frame and not frame.startswith(b":")]


def datas(raw: bytes) -> list[str]:
    """The `data` of each complete SSE frame, as text."""
    found = []
    for frame in raw.split(b"\n\n")[:-1]:
        lines = [line[5:].removeprefix(b" ") for line in frame.split(b"\n") if line.startswith(b"data:")]
        if lines:
            found.append(b"\n".join(lines).decode())
    return found
