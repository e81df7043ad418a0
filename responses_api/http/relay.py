"""A request that is answered outside of Django's view stack: what it hears of a response goes to its client.

The relay is a task of its own while the endpoint watches the connection: a client that leaves is seen at once.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import structlog

from responses_api.eventlog.message import Kind, Message
from responses_api.http.body import ClientGone
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.sse import DONE, KEEP_ALIVE, decode, encode
from responses_api.services.access import Scope, Visitor
from responses_api.services.faults import STOPPED, internal_error
from responses_api.services.identity import REQUEST_ID_FIELD, request_id_in
from responses_api.services.listening import Ear, farewell
from responses_api.services.presence import Stay, enter

log = structlog.get_logger(__name__)

JSON: Final = (b"content-type", b"application/json")
_SSE: Final = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
)
_LAST_BYTES_SECONDS: Final = 0.2


class Exchange:
    """One request's way back: headers once, then bytes, each event whole in its write."""

    def __init__(self, scope: Any, send: Any) -> None:
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.request_id = request_id_in(self.headers)
        self.visitor = Visitor.of_asgi(scope)
        self._send = send
        self._is_begun = False
        self.more_headers: Mapping[str, str] = {}
        """What every answer from now on has beside its own."""
        self.ended_by: ProtocolError = STOPPED
        """Why an answer that is cancelled ends before its time."""
        self.is_left = False
        """Whether the client has closed the connection."""

    async def begin(self, status: int, headers: tuple[tuple[bytes, bytes], ...]) -> None:
        """Send the status and the headers."""
        self._is_begun = True
        await self._send(
            {
                "type": "http.response.start",
                "status": status,
                "headers": [*headers, *_raw(self.more_headers), (REQUEST_ID_FIELD, self.request_id.encode())],
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
        await self.begin(error.status, (JSON, *_raw(error.headers())))
        await self.end(encode(error.body()))


def _raw(headers: Mapping[str, str]) -> tuple[tuple[bytes, bytes], ...]:
    """Headers as ASGI takes them."""
    return tuple((name.lower().encode(), value.encode()) for name, value in headers.items())


async def answered(exchange: Exchange, answer: Callable[[Exchange], Awaitable[None]]) -> None:
    """Answer one request by `answer`; whatever it raises is told to the client and the log."""
    with structlog.contextvars.bound_contextvars(request_id=exchange.request_id):
        try:
            await answer(exchange)
        except ProtocolError as error:
            log.info("request refused", status=error.status, code=error.code, field=error.field)
            await exchange.send_error(error)
        except ClientGone:
            log.info("client left")
        except asyncio.CancelledError:
            # The process is being stopped, and the client was told. Not raised on: daphne would then no longer wait
            # for the other requests; and the last bytes need a turn of its loop to leave.
            log.info("stopped")
            await asyncio.sleep(_LAST_BYTES_SECONDS)
        except Exception:
            log.exception("request failed")
            await exchange.send_error(internal_error())


async def caller_of(exchange: Exchange, scope: Scope) -> Stay:
    """Who asks, in every line of the log from now on. Leave whatever happens. Raises `ProtocolError` 401 or 403."""
    stay = await enter(exchange.visitor, scope)
    structlog.contextvars.bind_contextvars(tenant_id=str(stay.principal.tenant_id))
    return stay


async def relay(exchange: Exchange, stay: Stay, ear: Ear, receive: Any, *, stream: bool) -> None:
    """Tell the client what the ear hears until the response or the key ends, or the client leaves, which raises
    `ClientGone`.

    The ear is closed in any case.
    """
    try:
        await _until_gone(exchange, stay, (_stream if stream else _single)(exchange, ear), receive)
    finally:
        await ear.close()


async def _until_gone(exchange: Exchange, stay: Stay, relay: Coroutine[Any, Any, None], receive: Any) -> None:
    """Relay until the response ends, the client leaves or its key ends, whichever comes first.

    Raises `ClientGone`, or the key's end where nothing was told yet.
    """
    relaying = asyncio.ensure_future(relay)
    leaving = asyncio.ensure_future(_disconnected(receive))
    try:
        await asyncio.wait((relaying, leaving, stay.over), return_when=asyncio.FIRST_COMPLETED)
        if not relaying.done():
            if not leaving.done():
                await _end_with_its_key(exchange, stay.over.result(), relaying, leaving)
                return
            exchange.is_left = True
            raise ClientGone
        await relaying
    finally:
        relaying.cancel()
        leaving.cancel()
        await asyncio.gather(relaying, leaving, return_exceptions=True)


async def _end_with_its_key(
    exchange: Exchange,
    error: ProtocolError,
    relaying: "asyncio.Future[None]",
    leaving: "asyncio.Future[None]",
) -> None:
    """Let the relay tell its client that the key has ended, as long as there is a client."""
    log.info("ended with its key")
    exchange.ended_by = error
    relaying.cancel()
    await asyncio.wait((relaying, leaving), return_when=asyncio.FIRST_COMPLETED)


@asynccontextmanager
async def until_left(receive: Any) -> "AsyncIterator[asyncio.Future[None]]":
    """What is done once the client has closed the connection."""
    leaving = asyncio.ensure_future(_disconnected(receive))
    try:
        yield leaving
    finally:
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)


async def _disconnected(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _stream(exchange: Exchange, ear: Ear) -> None:
    message = await _first_message(exchange, ear)
    await exchange.begin(200, _SSE)
    try:
        while message is None or message.kind is Kind.EVENTS:
            await exchange.send(KEEP_ALIVE if message is None else message.body)
            message = await ear.next_message()
    except asyncio.CancelledError:
        if not exchange.is_left:
            # This process is being stopped, or the key has ended: its clients are told, and their responses ended.
            # Who can take the stream up elsewhere (where the key is asked for) is only cut off.
            async for last in farewell(ear, exchange.ended_by):
                await exchange.send(last.body)
            await exchange.end(b"" if ear.is_resumable else DONE)
        raise
    except Exception:
        # The client has read 200: whatever happens now has to be said in the stream.
        log.exception("relay failed")
        if ear.is_resumable:
            await exchange.end(b"")
            return
        message = ear.break_off(internal_error())
    await exchange.end(message.body + DONE)


async def _single(exchange: Exchange, ear: Ear) -> None:
    message = await _first_message(exchange, ear)
    assert message is not None, "an answer is waited for"
    await exchange.begin(200, (JSON,))
    await exchange.end(message.body)


async def _first_message(exchange: Exchange, ear: Ear) -> Message | None:
    """The first message. Raises the `ProtocolError` of one that refuses."""
    try:
        message = await ear.next_message()
    except asyncio.CancelledError:
        if not exchange.is_left:
            await exchange.send_error(exchange.ended_by)
        raise
    if message is not None and message.kind is Kind.REJECT:
        raise ProtocolError.from_plain(decode(message.body))
    return message
