"""The transport below every client that follows addresses which were named to us."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterator
from contextlib import contextmanager
from functools import cache
from ssl import SSLContext
from types import TracebackType
from typing import Final, Self

import httpcore2
import httpx2
import structlog

from responses_api.protocol.egress import Destination, EgressError, EgressRules, check_url
from workers.egress.body import BoundedBody, too_large, too_slow
from workers.egress.limits import Limits
from workers.egress.network import GuardedNetwork
from workers.egress.resolving import Resolver, system_resolver

log = structlog.get_logger(__name__)

_SCHEMES: Final = ("https", "http")
_MOST_CONNECTIONS: Final = 100
_KEPT_SECONDS: Final = 15.0
_FAILURES: Final = (
    httpcore2.TimeoutException,
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.UnsupportedProtocol,
)


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Sends what the rules let it, takes what the limits let it; the log tells what they did not. No proxy, no unix
    socket, nothing compressed: an answer is as long as what comes of it. Its head has at most 100 KiB, which is
    httpcore's own limit.

    `only` is a URL whose origin no request leaves. Raises `EgressError`, and httpx's errors where the network fails.
    """

    def __init__(
        self,
        rules: EgressRules,
        limits: Limits,
        *,
        only: str | None = None,
        resolver: Resolver = system_resolver,
        tls: SSLContext | None = None,
    ) -> None:
        self._rules = rules
        self._limits = limits
        self._only: Final = None if only is None else check_url(only, rules).origin
        # Two, because what may be asked by http is another question, and a network does not know who asks.
        self._pools: Final = {
            scheme: httpcore2.AsyncConnectionPool(
                ssl_context=tls or usual_tls(),
                max_connections=_MOST_CONNECTIONS,
                keepalive_expiry=_KEPT_SECONDS,
                network_backend=GuardedNetwork(rules, resolver, scheme=scheme),
            )
            for scheme in _SCHEMES
        }

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """One request, and the answer that comes back at once: who follows a redirect comes here again."""
        try:
            return await self._handle(request)
        except EgressError as error:
            _log_refusal(error)
            raise

    async def __aenter__(self) -> Self:
        for pool in self._pools.values():
            await pool.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close what is open."""
        for pool in self._pools.values():
            await pool.aclose()

    async def _handle(self, request: httpx2.Request) -> httpx2.Response:
        destination = _destination(request.url, self._rules)
        if self._only not in (None, destination.origin):
            raise EgressError("sent on to another server")
        seconds = self._limits.seconds
        deadline = None if seconds is None else asyncio.get_running_loop().time() + seconds
        try:
            async with asyncio.timeout_at(deadline):
                with _as_httpx():
                    response = await self._pools[destination.scheme].handle_async_request(
                        self._asked(request, destination)
                    )
        except TimeoutError:
            raise too_slow(self._limits) from None
        headers = httpx2.Headers(response.headers)
        try:
            self._check(headers)
        except EgressError:
            await response.aclose()
            raise
        assert isinstance(response.stream, AsyncIterable)
        return httpx2.Response(
            response.status,
            headers=headers,
            stream=_Watched(BoundedBody(_Stream(response), self._limits, deadline)),
            extensions=response.extensions,
        )

    def _asked(self, request: httpx2.Request, destination: Destination) -> httpcore2.Request:
        headers = request.headers.copy()
        headers["accept-encoding"] = "identity"
        # Of the address that was judged, whatever a caller's own headers say.
        headers["host"] = request.url.netloc.decode("ascii")
        assert isinstance(request.stream, httpx2.AsyncByteStream)
        idle, connect = self._limits.idle_seconds, self._limits.connect_seconds
        given = request.extensions.get("timeout", {})
        timeout = {
            "connect": _lesser(given.get("connect"), connect),
            "read": _lesser(given.get("read"), idle),
            "write": _lesser(given.get("write"), idle),
            "pool": _lesser(given.get("pool"), idle),
        }
        return httpcore2.Request(
            method=request.method,
            # The host as it was judged, in its one form: a dot at its end would not be found in a certificate.
            url=httpcore2.URL(
                scheme=destination.scheme,
                host=destination.host,
                port=destination.port,
                target=request.url.raw_path,
            ),
            headers=headers.raw,
            content=request.stream,
            extensions={"timeout": timeout},
        )

    def _check(self, headers: httpx2.Headers) -> None:
        if headers.get("content-encoding", "").strip().lower() not in ("", "identity"):
            raise EgressError("answered in a compressed form, which it was not asked for")
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self._limits.most_bytes:
            raise too_large(self._limits)


class _Stream(httpx2.AsyncByteStream):
    """A body as httpcore reads it, with httpx's errors."""

    def __init__(self, response: httpcore2.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _as_httpx():
            async for piece in self._response.aiter_stream():
                yield piece

    async def aclose(self) -> None:
        await self._response.aclose()


class _Watched(httpx2.AsyncByteStream):
    """A body whose refusal is told."""

    def __init__(self, body: BoundedBody) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._body:
                yield piece
        except EgressError as error:
            _log_refusal(error)
            raise

    async def aclose(self) -> None:
        await self._body.aclose()


@cache
def usual_tls() -> SSLContext:
    """The authorities that this machine trusts (`SSL_CERT_FILE` and `SSL_CERT_DIR` name others)."""
    return httpcore2.default_ssl_context()


def _log_refusal(error: EgressError) -> None:
    log.warning("an address was not followed", message=str(error), reason=error.reason)


def _destination(url: httpx2.URL, rules: EgressRules) -> Destination:
    """Where a URL leads as the client that sends it reads it. Raises `EgressError`."""
    if url.userinfo:
        raise EgressError("must not have a user's name or password before its host")
    return check_url(f"{url.scheme}://{url.netloc.decode('ascii')}", rules)


def _lesser(given: float | None, most: float) -> float:
    return most if given is None else min(given, most)


@contextmanager
def _as_httpx() -> Iterator[None]:
    """Errors of httpcore as the ones of the same name that clients of httpx expect."""
    try:
        yield
    except _FAILURES as error:
        raise getattr(httpx2, type(error).__name__, httpx2.TransportError)(str(error)) from error
