"""One connection of the scripted upstream: parses requests, plays replies byte by byte, sees the peer leave.

Written on a bare asyncio protocol, because the point of it is what HTTP libraries hide: where a body is cut,
how a connection ends, and the moment at which the other side closed it.
"""

import asyncio
import itertools
import json
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

End = Literal["close", "cut", "reset", "hang", "drip", "mute", "abort"]
Chunks = Literal["every-byte"] | Sequence[int] | None
REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}
DRIP = b": drip\n\n"


@dataclass(frozen=True, slots=True)
class Reply:
    """What the upstream answers.

    `chunks` says at which byte offsets the body is cut into separate writes. `end` says what follows it:
    `close` ends it properly (the connection stays usable); `cut` closes in the middle; `reset` sends RST;
    `hang` sends nothing more; `drip` sends comments for ever; `mute` never answers, not even with a status; `abort`
    sends RST in the place of a status.
    `delay_ms` passes before the status line, `gap_ms` between writes. At the offset `pause_at` the upstream
    waits for `Request.resume()`.
    """

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    chunks: Chunks = None
    end: End = "close"
    delay_ms: int = 0
    gap_ms: int = 0
    pause_at: int | None = None

    def pieces(self) -> Iterator[tuple[int, bytes]]:
        """(offset, bytes) of each write of the body."""
        cuts: list[int] = []
        if self.chunks == "every-byte":
            cuts = list(range(1, len(self.body)))
        elif self.chunks is not None:
            cuts = [int(at) for at in self.chunks]
        if self.pause_at is not None:
            cuts.append(self.pause_at)
        edges = sorted({0, len(self.body), *(at for at in cuts if 0 < at < len(self.body))})
        for start, end in itertools.pairwise(edges):
            yield start, self.body[start:end]

    def head(self) -> bytes:
        """Status line and headers; the body is always sent in HTTP chunks."""
        kind = "application/json" if self.body.lstrip()[:1] == b"{" else "text/event-stream"
        headers = {"content-type": kind, "transfer-encoding": "chunked", **self.headers}
        lines = [f"HTTP/1.1 {self.status} {REASONS.get(self.status, 'Status')}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()


@dataclass(eq=False)
class Request:
    """A request the upstream received. Times are `time.monotonic()` seconds, the same in every process."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes
    arrived_at: float
    closed_at: float | None = None
    _closed: threading.Event = field(default_factory=threading.Event)
    _paused: threading.Event = field(default_factory=threading.Event)
    _answered: threading.Event = field(default_factory=threading.Event)
    _resumed: threading.Event = field(default_factory=threading.Event)
    _resume: Callable[[], None] = lambda: None

    @property
    def body(self) -> Any:
        """The parsed JSON body; None when there is none."""
        return json.loads(self.raw) if self.raw else None

    @property
    def model(self) -> str | None:
        """The model the request names, in its body or its path (`/models/NAME:call`)."""
        in_path = re.search(r"/(?:models|tunedModels)/([^/:?]+):", self.path)
        if in_path is not None:
            return in_path[1]
        try:
            found = self.body.get("model")
        except (ValueError, AttributeError):
            return None
        return found if isinstance(found, str) else None

    @property
    def peer_left(self) -> bool:
        """Whether the connection this request came on is closed."""
        return self._closed.is_set()

    def wait_closed(self, timeout: float = 10.0) -> float:
        """Wait until the connection is closed and return when that was; TimeoutError if it stays open."""
        _wait(self._closed, timeout, f"the peer did not close {self.path} within {timeout} s")
        assert self.closed_at is not None
        return self.closed_at

    def wait_paused(self, timeout: float = 10.0) -> None:
        """Wait until everything before `pause_at`, or before a hang, a drip or a mute end, is written."""
        _wait(self._paused, timeout, f"the reply to {self.path} did not come to its pause within {timeout} s")

    def wait_answered(self, timeout: float = 10.0) -> None:
        """Wait until the whole reply is written."""
        _wait(self._answered, timeout, f"the reply to {self.path} was not written within {timeout} s")

    def resume(self) -> None:
        """Let a paused reply go on, or one that has not come to its pause yet pass it."""
        self._resumed.set()
        self._resume()


def _wait(event: threading.Event, timeout: float, otherwise: str) -> None:
    if not event.wait(timeout):
        raise TimeoutError(otherwise)


class Connection(asyncio.Protocol):
    """The server side of one connection; `answer` chooses the reply to each request. It is among `those_open` while it
    is open.
    """

    def __init__(self, answer: Callable[[Request], Reply], those_open: "set[Connection]") -> None:
        self._answer = answer
        self._those_open = those_open
        self._buffer = b""
        self._current: Request | None = None
        self._player: asyncio.Task[None] | None = None
        self._seen: list[Request] = []
        self._lost = asyncio.Event()

    async def close(self) -> None:
        """End it at once, whatever is under way."""
        self._transport.abort()
        await self._lost.wait()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport, write without delay."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._those_open.add(self)
        peer: socket.socket = transport.get_extra_info("socket")
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data: bytes) -> None:
        """Start playing the reply as soon as a request is complete."""
        self._buffer += data
        if self._player is None or self._player.done():
            self._next()

    def eof_received(self) -> bool:
        """The peer closed its side: it will not read the reply any more."""
        self._left()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop playing; every request of this connection is closed now."""
        self._left()
        self._those_open.discard(self)
        self._lost.set()
        if self._player is not None:
            self._player.cancel()

    def _left(self) -> None:
        now = time.monotonic()
        for request in self._seen:
            if request.closed_at is None:
                request.closed_at = now
                request._closed.set()

    def _next(self) -> None:
        request = self._parse()
        if request is not None:
            self._seen.append(request)
            reply = self._answer(request)
            self._player = asyncio.get_running_loop().create_task(self._play(request, reply))

    def _parse(self) -> Request | None:
        head, blank, rest = self._buffer.partition(b"\r\n\r\n")
        if not blank:
            return None
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ", 2)
        pairs = (line.partition(":") for line in lines)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        size = int(headers.get("content-length", "0"))
        if len(rest) < size:
            return None
        self._buffer = rest[size:]
        return Request(method, path, headers, rest[:size], arrived_at=time.monotonic())

    async def _play(self, request: Request, reply: Reply) -> None:
        gate = asyncio.Event()
        loop = asyncio.get_running_loop()

        def resume() -> None:
            loop.call_soon_threadsafe(gate.set)

        request._resume = resume
        if request._resumed.is_set():  # a test may be quicker than this loop
            gate.set()
        if reply.end == "mute":
            await self._forever(request)
        if reply.delay_ms:
            await asyncio.sleep(reply.delay_ms / 1000)
        if reply.end == "abort":
            self._reset()
            return
        self._transport.write(reply.head())
        for offset, piece in reply.pieces():
            if offset == reply.pause_at:
                request._paused.set()
                await gate.wait()
            elif offset:
                await asyncio.sleep(reply.gap_ms / 1000)
            self._chunk(piece)
        if reply.pause_at is not None and reply.pause_at >= len(reply.body):
            request._paused.set()
            await gate.wait()
        await self._finish(request, reply)

    def _chunk(self, piece: bytes) -> None:
        self._transport.write(b"%x\r\n%b\r\n" % (len(piece), piece))

    async def _finish(self, request: Request, reply: Reply) -> None:
        if reply.end == "hang":
            await self._forever(request)
        if reply.end == "drip":
            request._paused.set()
            while True:
                self._chunk(DRIP)
                await asyncio.sleep((reply.gap_ms or 50) / 1000)
        request._answered.set()
        if reply.end == "reset":
            # Give what was written a turn to reach the peer: a reset throws away what the kernel still holds.
            await asyncio.sleep(0.02)
            self._reset()
        elif reply.end == "cut":
            self._transport.close()
        else:
            self._transport.write(b"0\r\n\r\n")
            # A request that came meanwhile waits for this one to be done, so it is begun in the next turn.
            asyncio.get_running_loop().call_soon(self._next)

    def _reset(self) -> None:
        peer: socket.socket = self._transport.get_extra_info("socket")
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()

    async def _forever(self, request: Request) -> None:
        request._paused.set()
        await asyncio.Event().wait()
