"""`POST /v1/responses`: JSON or SSE, relayed from the event log.

The relay is a task of its own while the endpoint watches the connection: a client that leaves is seen at once, and
the response is cancelled wherever it runs.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import structlog
from django.conf import settings

from responses_api.eventlog.follow import Follower
from responses_api.eventlog.message import Kind, Message
from responses_api.http.body import ClientGone, read_json
from responses_api.http.rendering import error_headers, internal_error
from responses_api.http.request_id import HEADER, request_id_of
from responses_api.protocol.errors import ProtocolError, server_error
from responses_api.protocol.event_types import Dialect
from responses_api.protocol.request import CreateRequest, parse_create
from responses_api.protocol.sse import DONE, KEEP_ALIVE, decode, encode, frames_to_data
from responses_api.services.access import authenticate
from responses_api.services.create import Started, create
from responses_api.services.endings import failed, failure
from responses_api.services.watch import start_watching

log = structlog.get_logger(__name__)

_JSON: Final = (b"content-type", b"application/json")
_SSE: Final = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
)
_OPENAI_AGENTS: Final = (b"ai-sdk/",)


class CreateEndpoint:
    """The ASGI application of the create call."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        headers = dict(scope["headers"])
        exchange = _Exchange(headers, send)
        with structlog.contextvars.bound_contextvars(request_id=exchange.request_id):
            try:
                await self._answer(exchange, receive)
            except ProtocolError as error:
                log.info("request refused", status=error.status, code=error.code, param=error.param)
                await exchange.send_error(error)
            except ClientGone:
                log.info("client left")
            except Exception:
                log.exception("create failed")
                await exchange.send_error(internal_error())

    async def _answer(self, exchange: "_Exchange", receive: Any) -> None:
        principal = await authenticate(exchange.headers.get(b"authorization", b"").decode("latin-1"))
        structlog.contextvars.bind_contextvars(tenant_id=str(principal.tenant_id))
        request = parse_create(await read_json(exchange.headers, receive))
        start_watching()
        started = await create(
            principal=principal,
            request=request,
            dialect=dialect_of(exchange.headers),
            request_id=exchange.request_id,
        )
        try:
            await _relay_until_gone(exchange, request, started, receive)
        finally:
            started.follower.close()


async def _relay_until_gone(
    exchange: "_Exchange", request: CreateRequest, started: Started, receive: Any
) -> None:
    """Relay until the response ends or the client leaves, whichever comes first."""
    relay = asyncio.ensure_future(
        _stream(exchange, started) if request.stream else _single(exchange, started)
    )
    gone = asyncio.ensure_future(_disconnected(receive))
    try:
        await asyncio.wait((relay, gone), return_when=asyncio.FIRST_COMPLETED)
        if not relay.done():
            await started.follower.cancel()
            raise ClientGone
        await relay
    except asyncio.CancelledError:
        # This process is being stopped, and its connections with it.
        await started.follower.cancel()
        raise
    finally:
        relay.cancel()
        gone.cancel()


async def _disconnected(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _stream(exchange: "_Exchange", started: Started) -> None:
    first = await _first_message(started)
    if first.kind is Kind.REJECT:
        raise ProtocolError.from_plain(decode(first.body))
    await exchange.begin(200, _SSE)
    message: Message | None = first
    following = 0
    while message is None or message.kind is Kind.EVENTS:
        if message is None:
            await exchange.send(KEEP_ALIVE)
        else:
            following = message.next
            await exchange.send(message.body)
        message = await started.follower.next_message(settings.KEEP_ALIVE_SECONDS)
    if message.kind is Kind.REJECT:
        # Only our own side rejects once a stream has begun: the log was lost under it.
        log.error("a stream broke off", response_id=started.response_id)
        message = _broken_off(first, ProtocolError.from_plain(decode(message.body)), following)
    await exchange.end(message.body + DONE)


def _broken_off(first: Message, error: ProtocolError, following: int) -> Message:
    """The last words of a stream that nobody continues. Its first event told the response; what was said since then
    went to the client and is kept nowhere, so that items it left open stay open.
    """
    begun = decode(next(frames_to_data(first.body)))["response"]
    return failure((), failed(begun, error), error, following)


async def _single(exchange: "_Exchange", started: Started) -> None:
    message = await _first_message(started)
    if message.kind is Kind.REJECT:
        raise ProtocolError.from_plain(decode(message.body))
    await exchange.begin(200, (_JSON,))
    await exchange.end(message.body)


async def _first_message(started: Started) -> Message:
    """Wait for the first message: as long as a worker has the job, and for `QUEUE_SECONDS` until one takes it."""
    follower: Follower = started.follower
    message = await follower.next_message(settings.QUEUE_SECONDS)
    while message is None:
        if not await follower.is_claimed():
            await follower.cancel()
            raise server_error(
                "No worker took the request in time; try again.", code="overloaded", status=503, retry_after=5
            )
        message = await follower.next_message(settings.KEEP_ALIVE_SECONDS)
    return message


def dialect_of(headers: Mapping[bytes, bytes]) -> Dialect:
    """Which event names a client knows for raw reasoning: OpenAI's family has its own."""
    if b"originator" in headers or any(name.startswith(b"x-stainless-") for name in headers):
        return "openai"
    agent = headers.get(b"user-agent", b"").lower()
    return "openai" if any(mark in agent for mark in _OPENAI_AGENTS) else "open"


class _Exchange:
    """One request's way back: headers once, then bytes, each event whole in its write."""

    def __init__(self, headers: dict[bytes, bytes], send: Any) -> None:
        self.headers = headers
        given = headers.get(HEADER.lower().encode())
        self.request_id = request_id_of(given.decode("latin-1") if given else None)
        self._send = send
        self._is_begun = False

    async def begin(self, status: int, headers: tuple[tuple[bytes, bytes], ...]) -> None:
        """Send the status and the headers."""
        self._is_begun = True
        await self._send(
            {
                "type": "http.response.start",
                "status": status,
                "headers": [*headers, (HEADER.lower().encode(), self.request_id.encode())],
            }
        )

    async def send(self, body: bytes) -> None:
        """Send bytes; more follow."""
        await self._send({"type": "http.response.body", "body": body, "more_body": True})

    async def end(self, body: bytes) -> None:
        """Send the last bytes."""
        await self._send({"type": "http.response.body", "body": body})

    async def send_error(self, error: ProtocolError) -> None:
        """Answer with an error; once a stream has begun there is nothing left to say but its end."""
        if self._is_begun:
            await self.end(b"")
            return
        extra = tuple((name.lower().encode(), value.encode()) for name, value in error_headers(error).items())
        await self.begin(error.status, (_JSON, *extra))
        await self.end(encode(error.body()))
