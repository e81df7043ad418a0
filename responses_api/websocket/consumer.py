"""The consumer of `/v1/responses`: the handshake, then frames to and from a `Connection`.

A handshake is refused as any HTTP request is, with a status and a JSON body, where the server can send them:
`config.web` can; one without ASGI's denial response answers 403.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

import structlog
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings

from responses_api.protocol.errors import ProtocolError, invalid_request, not_found
from responses_api.protocol.sse import encode
from responses_api.services.access import Visitor
from responses_api.services.faults import internal_error
from responses_api.services.identity import REQUEST_ID_FIELD, REQUEST_ID_HEADER, request_id_in
from responses_api.services.pinning import pin_in
from responses_api.services.presence import enter
from responses_api.services.watch import start_watching
from responses_api.websocket import register
from responses_api.websocket.connection import SCOPE, Client, Connection

log = structlog.get_logger(__name__)

_PATHS: Final = frozenset({"/v1/responses", "/v1/responses/"})
_REFUSES_WITH_A_BODY: Final = "websocket.http.response"
_KEY_PROTOCOL: Final = "openai-insecure-api-key."
"""Browsers can send no header with a handshake; OpenAI's clients send the key as a subprotocol there."""


class ResponsesConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # channels has no types
    """One WebSocket."""

    _connection: Connection | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve the connection until its end."""
        start_watching()
        self._headers: dict[bytes, bytes] = dict(scope["headers"])
        self._request_id = request_id_in(self._headers)
        with structlog.contextvars.bound_contextvars(request_id=self._request_id):
            try:
                await super().__call__(scope, receive, send)
            except asyncio.CancelledError:
                # The process is being stopped. Not raised on: daphne would then no longer wait for the others.
                log.info("stopped")
                if self._connection is not None:
                    await self._connection.stop()
            finally:
                await self._leave()

    async def connect(self) -> None:
        """Answer the handshake."""
        try:
            self._connection = await self._admit()
        except ProtocolError as error:
            log.info("handshake refused", status=error.status, code=error.code)
            await self._refuse(error)
        except Exception:
            log.exception("handshake failed")
            await self._refuse(internal_error())
        else:
            headers = [(REQUEST_ID_FIELD, self._request_id.encode())]
            await self.accept(_chosen(self.scope["subprotocols"]), headers)
            log.info("connected")
            register.add(self._connection)
            self._connection.open()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """A frame has come."""
        if self._connection is not None:
            await self._connection.take(text_data)

    async def disconnect(self, code: int) -> None:
        """The socket is closed."""
        if self._connection is not None:
            log.info("disconnected", close_code=code)
            await self._leave()

    async def _admit(self) -> Connection:
        """Check the handshake. Raises `ProtocolError` 404, 426, 401 or 403."""
        if self.scope["path"] not in _PATHS:
            raise not_found("There is no WebSocket here; see /v1/responses.")
        if not settings.WEBSOCKET:
            raise invalid_request(
                "WebSocket is switched off on this server; send POST /v1/responses.",
                code="websocket_disabled",
                status=426,
            )
        visitor = Visitor.of_asgi(self.scope, self._authorization())
        stay = await enter(visitor, SCOPE)
        try:
            pin_in(self._headers, stay.principal)
        except ProtocolError:
            stay.leave()
            raise
        structlog.contextvars.bind_contextvars(tenant_id=str(stay.principal.tenant_id))
        return Connection(Client(visitor, stay, self._headers, self._request_id, self._send_text, self.close))

    def _authorization(self) -> str:
        header = self._headers.get(b"authorization", b"").decode("latin-1")
        keys = [name for name in self.scope["subprotocols"] if name.startswith(_KEY_PROTOCOL)]
        return header or (f"Bearer {keys[0].removeprefix(_KEY_PROTOCOL)}" if keys else "")

    async def _send_text(self, text: str) -> None:
        await self.send(text_data=text)

    async def _refuse(self, error: ProtocolError) -> None:
        if _REFUSES_WITH_A_BODY not in (self.scope.get("extensions") or {}):
            await self.close()
            return
        headers = {"content-type": "application/json", REQUEST_ID_HEADER: self._request_id, **error.headers()}
        if error.status == 426:
            headers["upgrade"] = "HTTP/1.1"  # what to change to, which RFC 9110 demands to be said
        raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        await self.base_send(
            {"type": "websocket.http.response.start", "status": error.status, "headers": raw}
        )
        await self.base_send({"type": "websocket.http.response.body", "body": encode(error.body())})

    async def _leave(self) -> None:
        if self._connection is not None:
            register.discard(self._connection)
            await self._connection.leave()


def _chosen(offered: Sequence[str]) -> str | None:
    """The subprotocol to agree on: any that is no key. (Ours has no name of its own.)"""
    return next((name for name in offered if not name.startswith(_KEY_PROTOCOL)), None)
