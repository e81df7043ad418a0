"""`POST /v1/responses`, `…/compact` and `…/input_tokens`: JSON or SSE, relayed from the event log.

The relay is a task of its own while the endpoint watches the connection: a client that leaves is seen at once, and
the response is cancelled wherever it runs.
"""

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any, Final, Protocol

import structlog

from responses_api.eventlog.message import Kind, Message
from responses_api.http.body import ClientGone, is_large, parse_json, read_body
from responses_api.protocol.clients import leaves_out_tools
from responses_api.protocol.dialects import dialect_of
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.job import Purpose
from responses_api.protocol.request import CreateRequest, parse_compact, parse_count, parse_create
from responses_api.protocol.sse import DONE, KEEP_ALIVE, decode, encode
from responses_api.services.access import authenticate
from responses_api.services.create import create
from responses_api.services.faults import STOPPED, internal_error
from responses_api.services.identity import REQUEST_ID_HEADER, request_id_of
from responses_api.services.listening import Listener
from responses_api.services.offload import off_loop_if

log = structlog.get_logger(__name__)

_JSON: Final = (b"content-type", b"application/json")
_SSE: Final = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
)
_LAST_BYTES_SECONDS: Final = 0.2


class _Parser(Protocol):
    def __call__(self, body: Any, *, leave_out_tools: bool) -> CreateRequest: ...


_PARSERS: Final[dict[Purpose, _Parser]] = {
    "respond": parse_create,
    "count_tokens": parse_count,
    "compact": parse_compact,
}


class CreateEndpoint:
    """The ASGI application of a call that a worker answers."""

    def __init__(self, purpose: Purpose = "respond") -> None:
        self._purpose = purpose
        self._read_request = _PARSERS[purpose]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        headers = dict(scope["headers"])
        exchange = _Exchange(headers, send)
        with structlog.contextvars.bound_contextvars(request_id=exchange.request_id):
            try:
                await self._answer(exchange, receive)
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
                log.exception("create failed")
                await exchange.send_error(internal_error())

    async def _answer(self, exchange: "_Exchange", receive: Any) -> None:
        principal = await authenticate(exchange.headers.get(b"authorization", b"").decode("latin-1"))
        structlog.contextvars.bind_contextvars(tenant_id=str(principal.tenant_id))
        body = await read_body(exchange.headers, receive)
        leave_out = leaves_out_tools(exchange.headers, principal.unserved_tools)
        request = await off_loop_if(
            is_large(exchange.headers, body), self._parse, exchange.headers, body, leave_out
        )
        started = await create(
            principal=principal,
            request=request,
            dialect=dialect_of(exchange.headers, principal.dialect),
            request_id=exchange.request_id,
            purpose=self._purpose,
        )
        structlog.contextvars.bind_contextvars(response_id=started.response_id)
        try:
            relay = _stream if request.stream else _single
            await _until_gone(exchange, relay(exchange, started.listener), receive)
        finally:
            await started.listener.close()

    def _parse(self, headers: Mapping[bytes, bytes], body: bytes, leave_out_tools: bool) -> CreateRequest:
        return self._read_request(parse_json(headers, body), leave_out_tools=leave_out_tools)


async def _until_gone(exchange: "_Exchange", relay: Coroutine[Any, Any, None], receive: Any) -> None:
    """Relay until the response ends or the client leaves, whichever comes first. Raises `ClientGone`."""
    relaying = asyncio.ensure_future(relay)
    leaving = asyncio.ensure_future(_disconnected(receive))
    try:
        await asyncio.wait((relaying, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not relaying.done():
            exchange.is_left = True
            raise ClientGone
        await relaying
    finally:
        relaying.cancel()
        leaving.cancel()
        await asyncio.gather(relaying, leaving, return_exceptions=True)


async def _disconnected(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _stream(exchange: "_Exchange", listener: Listener) -> None:
    message: Message | None = await _first_message(exchange, listener)
    await exchange.begin(200, _SSE)
    try:
        while message is None or message.kind is Kind.EVENTS:
            await exchange.send(KEEP_ALIVE if message is None else message.body)
            message = await listener.next_message()
    except asyncio.CancelledError:
        if not exchange.is_left:
            # This process is being stopped: its clients are told, and their responses cancelled.
            await exchange.end(listener.break_off(STOPPED).body + DONE)
        raise
    except Exception:
        # The client has read 200: whatever happens now has to be said in the stream.
        log.exception("relay failed")
        message = listener.break_off(internal_error())
    await exchange.end(message.body + DONE)


async def _single(exchange: "_Exchange", listener: Listener) -> None:
    message = await _first_message(exchange, listener)
    await exchange.begin(200, (_JSON,))
    await exchange.end(message.body)


async def _first_message(exchange: "_Exchange", listener: Listener) -> Message:
    """The first message. Raises the `ProtocolError` of one that refuses."""
    try:
        message = await listener.next_message()
    except asyncio.CancelledError:
        if not exchange.is_left:
            await exchange.send_error(STOPPED)
        raise
    assert message is not None, "a listener's first message is one"
    if message.kind is Kind.REJECT:
        raise ProtocolError.from_plain(decode(message.body))
    return message


class _Exchange:
    """One request's way back: headers once, then bytes, each event whole in its write."""

    def __init__(self, headers: dict[bytes, bytes], send: Any) -> None:
        self.headers = headers
        given = headers.get(REQUEST_ID_HEADER.lower().encode())
        self.request_id = request_id_of(given.decode("latin-1") if given else None)
        self._send = send
        self._is_begun = False
        self.is_left = False
        """Whether the client has closed the connection."""

    async def begin(self, status: int, headers: tuple[tuple[bytes, bytes], ...]) -> None:
        """Send the status and the headers."""
        self._is_begun = True
        await self._send(
            {
                "type": "http.response.start",
                "status": status,
                "headers": [*headers, (REQUEST_ID_HEADER.lower().encode(), self.request_id.encode())],
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
        extra = tuple((name.lower().encode(), value.encode()) for name, value in error.headers().items())
        await self.begin(error.status, (_JSON, *extra))
        await self.end(encode(error.body()))
