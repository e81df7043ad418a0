"""One keep-alive client connection that measures an answer without decoding it.

The body is scanned as it arrives, chunk framing included. SSE with LF line ends and JSON never hold a CR
LF, so `CR LF 0 CR LF CR LF` can only be the last chunk. The price: an event whose `data: {` a server splits
over two chunks is not counted.
"""

import asyncio
import re
from dataclasses import dataclass
from time import perf_counter

from tests.bench.scripts import LAST_WORD

EVENT = b"\ndata: {"  # `[DONE]` is no event
LAST_CHUNK = b"\r\n0\r\n\r\n"
EMPTY_BODY = b"\n0\r\n\r\n"
TAIL = 64  # bytes kept from read to read, more than any text looked for
CONTENT_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)
CLOSING = re.compile(rb"\r\nconnection: *close", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a right answer looks like.

    A stream holds `terminal` and at least `min_events` events; a JSON body holds the stub's whole text.
    """

    stream: bool
    terminal: bytes
    min_events: int


@dataclass(frozen=True, slots=True)
class Answer:
    """One measured answer; `error` names what was wrong with it.

    `first_ms` is the time to the first event (for JSON, to the whole answer, which is its one event).
    """

    first_ms: float
    total_ms: float
    events: int
    error: str | None = None


class LoadConnection(asyncio.Protocol):
    """Sends one request at a time and scans its answer."""

    def __init__(self, expectation: Expectation) -> None:
        self._loop = asyncio.get_running_loop()
        self._expectation = expectation
        self._needle = expectation.terminal if expectation.stream else LAST_WORD.encode()
        self._waiter: asyncio.Future[Answer] | None = None
        self._transport: asyncio.Transport
        self.closed = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def close(self) -> None:
        """Close the connection; it cannot be used again."""
        self.closed = True
        self._transport.close()

    async def ask(self, request: bytes, timeout: float) -> Answer:
        """Send `request` and wait for its answer, at most `timeout` seconds.

        Nothing is raised: a failure is an answer with an `error`.
        """
        self._waiter = self._loop.create_future()
        self._head: bytes | None = b""
        self._status, self._left, self._chunked, self._close_after = 0, -1, False, False
        self._tail, self._events, self._terminal_seen = b"", 0, False
        self._first: float | None = None
        timer = self._loop.call_later(timeout, self._finish, "timeout")
        self._started = perf_counter()
        self._transport.write(request)
        try:
            return await self._waiter
        finally:
            timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Read the head once, then scan the body."""
        if self._waiter is None:
            self.close()  # bytes that nobody asked for: the connection is out of step
        elif self._head is None:
            self._scan(data)
        else:
            self._head += data
            end = self._head.find(b"\r\n\r\n")
            if end >= 0:
                head, rest = self._head[: end + 2], self._head[end + 4 :]
                self._open_body(head)
                self._scan(rest)

    def _open_body(self, head: bytes) -> None:
        self._head = None
        self._status = int(head[9:12])
        self._chunked = CHUNKED.search(head) is not None
        self._close_after = CLOSING.search(head) is not None
        length = CONTENT_LENGTH.search(head)
        self._left = int(length[1]) if length else -1
        self._tail = b"\n"  # the head's own line end, so that an event at the very start is seen

    def _scan(self, data: bytes) -> None:
        window = self._tail + data
        events = window.count(EVENT, max(0, len(self._tail) - len(EVENT) + 1))
        if events:
            if self._first is None:
                self._first = perf_counter()
            self._events += events
        if not self._terminal_seen and self._needle in window:
            self._terminal_seen = True
        self._tail = window[-TAIL:]
        if self._chunked:
            if window.endswith(LAST_CHUNK) or window == EMPTY_BODY:
                self._finish(None)
        elif self._left >= 0:
            self._left -= len(data)
            if self._left <= 0:
                self._finish(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """The end of a body without a length, or a cut answer."""
        self.closed = True
        whole = self._waiter is not None and self._head is None and not self._chunked and self._left < 0
        self._finish(None if whole else "cut")

    def _finish(self, error: str | None) -> None:
        """Hand over the measured answer, once."""
        waiter, self._waiter = self._waiter, None
        if waiter is None or waiter.done():
            return
        now = perf_counter()
        error = error or self._fault()
        first = self._first if self._expectation.stream and self._first is not None else now
        events = self._events if self._expectation.stream else 1
        if self._close_after:
            self.close()
        waiter.set_result(Answer((first - self._started) * 1000, (now - self._started) * 1000, events, error))

    def _fault(self) -> str | None:
        """What is wrong with an answer that has ended, or None."""
        if self._status != 200:
            return f"status {self._status}"
        if not self._terminal_seen:
            return "no terminal event" if self._expectation.stream else "not the whole text"
        if self._expectation.stream and self._events < self._expectation.min_events:
            return "events missing"
        return None
