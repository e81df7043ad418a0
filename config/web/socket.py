"""One WebSocket of daphne's, with bounds on a client that does not read, and handshakes refused as HTTP.

daphne by itself never waits for a client and never looks at what is unsent, takes any traffic for the answer to a ping,
refuses each handshake with 403, and cannot send the close codes that RFC 6455 has for a server.
"""

import asyncio
import time
from http import HTTPStatus
from typing import Any, Final

import structlog
from daphne.ws_protocol import WebSocketProtocol
from django.conf import settings

from config.web.transport import unsent_bytes

log = structlog.get_logger(__name__)

_TEXT: Final = 1
_NORMAL: Final = 1000
_LISTEN_SECONDS: Final = 0.002


class Socket(WebSocketProtocol):  # type: ignore[misc]  # daphne has no types
    """One connection. Who sends to it waits for its client to read; one that reads nothing for too long is dropped.

    It is its transport's producer (Twisted's word for what must pause while the transport has enough to send).
    """

    autoPingPending: bytes | None
    _may_send: asyncio.Event | None = None
    _refusal: Any = None
    _written = 0
    _taken = 0
    _taken_at = 0.0
    _pinged_at = 0.0
    _received_at = 0.0

    # ---- from the application

    async def until_it_may_send(self) -> None:
        """Wait while the transport has enough to send."""
        if self._may_send is not None:
            await self._may_send.wait()

    def handle_reply(self, message: Any) -> None:
        """Do what the application says."""
        match message["type"]:
            case "websocket.http.response.start":
                self._refusal = message
            case "websocket.http.response.body":
                self._refuse(message.get("body", b""))
            case "websocket.accept":
                self._accept(message)
            case "websocket.send" if message.get("text") is not None:
                self._send_text(message["text"].encode())
            case "websocket.close" if self.state != self.STATE_CONNECTING:
                # Not by `sendClose`, which keeps most codes from applications.
                self.sendCloseFrame(code=message.get("code", _NORMAL), isReply=False)
            case _:
                super().handle_reply(message)

    def _accept(self, message: Any) -> None:
        headers = {name.decode(): value.decode("latin-1") for name, value in message.get("headers") or ()}
        self._taken_at = self._pinged_at = time.monotonic()
        self._may_send = asyncio.Event()
        self._may_send.set()
        self.unregisterProducer()  # the HTTP channel, whose connection this was
        self.registerProducer(self, True)
        self.handshake_deferred.callback((message.get("subprotocol"), headers))
        del self.handshake_deferred

    def _refuse(self, body: bytes) -> None:
        status = self._refusal["status"]
        lines = [
            b"HTTP/1.1 %d %b" % (status, HTTPStatus(status).phrase.encode()),
            *(b"%b: %b" % header for header in self._refusal["headers"]),
            b"content-length: %d" % len(body),
            b"connection: close",
        ]
        del self.handshake_deferred
        self.sendData(b"\r\n".join(lines) + b"\r\n\r\n" + body)
        self.wasNotCleanReason = "the handshake was refused"
        self.dropConnection(abort=False)

    def _send_text(self, payload: bytes) -> None:
        if self.state != self.STATE_OPEN:
            return  # it is being closed; the application hears of it
        self._written += len(payload)
        # Not by `sendMessage`, which bounds what is sent as what is received.
        self.sendFrame(opcode=_TEXT, payload=payload)

    # ---- a client that sends faster than it is heard

    def onMessage(self, payload: bytes, isBinary: bool) -> None:
        """A message has come. No more is read until the application has taken it."""
        super().onMessage(payload, isBinary)
        self.transport.pauseProducing()
        asyncio.get_running_loop().call_soon(self._listen)

    def _listen(self) -> None:
        """Read on, if the application has taken everything and is not waiting for the client itself."""
        if not self.application_queue.empty():
            asyncio.get_running_loop().call_later(_LISTEN_SECONDS, self._listen)
        elif self._may_send is not None and self._may_send.is_set():
            self.transport.resumeProducing()

    # ---- a client that does not read

    def pauseProducing(self) -> None:
        """The transport has enough. Nor is the client heard then: what it sends would only make more to send."""
        if self._may_send is not None:
            self._may_send.clear()
            self.transport.pauseProducing()

    def resumeProducing(self) -> None:
        """The transport has sent everything."""
        if self._may_send is not None:
            self._may_send.set()
            self._listen()

    def stopProducing(self) -> None:
        """The connection is lost."""

    def onClose(self, *args: Any) -> None:
        """The connection is closed: nobody need wait for it."""
        if self._may_send is not None:
            self._may_send.set()
        super().onClose(*args)

    def check_timeouts(self) -> None:
        """Look after the connection, every two seconds."""
        if self.state != self.STATE_OPEN:
            super().check_timeouts()
            return
        now = time.monotonic()
        if self._is_stuck(now):
            self._drop("nothing is read")
        elif self.autoPingPending is None and now - self._pinged_at > self.server.ping_interval:
            self._pinged_at = now
            self._sendAutoPing()

    def dataReceived(self, data: bytes) -> None:
        """Bytes have come."""
        self._received_at = time.monotonic()
        super().dataReceived(data)

    def onAutoPingTimeout(self) -> None:
        """No pong has come: the client is gone, unless it is in the middle of a frame, which no pong can interrupt."""
        self.autoPingTimeoutCall = self.autoPingPending = None
        silence = time.monotonic() - self._received_at
        if self.current_frame is None or silence > self.server.ping_timeout:
            self._drop("no answer to a ping")

    def _is_stuck(self, now: float) -> bool:
        """Whether something is unsent, and none of it was taken for `STUCK_SECONDS`."""
        unsent = self._unsent()
        taken = self._written - unsent
        if unsent == 0 or taken > self._taken:
            self._taken, self._taken_at = taken, now
        return now - self._taken_at > settings.STUCK_SECONDS

    def _unsent(self) -> int:
        """How far the client is behind, in bytes."""
        return unsent_bytes(self.transport)

    def _drop(self, reason: str) -> None:
        log.warning("a client was dropped", reason=reason, unsent=self._unsent())
        self.wasClean, self.wasNotCleanReason = False, reason
        self.dropConnection(abort=True)
