"""Keeps apart what shares a connection of the SDK: there, a request that fails below HTTP ends all the others, too.

So such a failure is written down with the call that it belongs to (`Exchange`), and the SDK is given an answer that it
takes for a failed request.
"""

import time
from collections import deque
from collections.abc import AsyncIterator
from typing import Final

import httpx2

from responses_api.protocol.egress import EgressError
from workers.tools.mcp.exchange import Exchange, current_exchange

_FAILURES: Final = (httpx2.HTTPError, httpx2.StreamError, EgressError, OSError, TimeoutError)
# The SDK opens a stream that has ended again, as soon as the server bids it, and for ever.
_MOST_STREAMS: Final = 10
_STREAMS_SECONDS: Final = 60.0


class ContainedTransport(httpx2.AsyncBaseTransport):
    """Another transport that fails by answers only."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner
        self._streams: deque[float] = deque(maxlen=_MOST_STREAMS)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer, or one of our own that says that there is none."""
        if request.method == "GET" and not self._may_open_stream():
            return httpx2.Response(429)
        exchange = _exchange_of(request)
        try:
            response = await self._inner.handle_async_request(request)
        except _FAILURES as failure:
            exchange.failure = failure
            return httpx2.Response(503)
        exchange.status = response.status_code
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _ContainedBody(response.stream, exchange)
        return response

    async def aclose(self) -> None:
        """Close what is open."""
        await self._inner.aclose()

    def _may_open_stream(self) -> bool:
        now = time.monotonic()
        if len(self._streams) == _MOST_STREAMS and now - self._streams[0] < _STREAMS_SECONDS:
            return False
        self._streams.append(now)
        return True


class _ContainedBody(httpx2.AsyncByteStream):
    """A body that ends where it fails."""

    def __init__(self, stream: httpx2.AsyncByteStream, exchange: Exchange) -> None:
        self._stream = stream
        self._exchange = exchange

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._stream:
                yield piece
        except _FAILURES as failure:
            self._exchange.failure = failure

    async def aclose(self) -> None:
        """Close the connection, too, unless the body was read to its end."""
        await self._stream.aclose()


def _exchange_of(request: httpx2.Request) -> Exchange:
    """Where to write down what becomes of a request: of a call its first one tells, what follows is beside it."""
    exchange = current_exchange() if request.method == "POST" else None
    if exchange is None or exchange.status is not None or exchange.failure is not None:
        return Exchange()
    return exchange
