"""A WebSocket of the server under test: frames as they come, and whole turns.

Specification: "WebSocket Transport".
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import aiohttp

from responses_api.conformance.outcomes import Broken, NotApplicable, NotShown
from responses_api.conformance.server import Server
from responses_api.conformance.shapes.events import event_faults
from responses_api.conformance.stream import Stream, check_messages
from responses_api.conformance.wire import Answer
from responses_api.protocol import event_types as t
from responses_api.protocol.plain import Json
from responses_api.protocol.sse import decode, encode

_REQUEST: Final = "WebSocket /responses"


@dataclass(frozen=True, slots=True)
class Turn:
    """What came for one message: the frames of a response, or an error envelope."""

    messages: list[str]
    refusal: Json | None

    @property
    def stream(self) -> Stream:
        """The events, checked. Raises `Broken` where the message was refused, `NotShown` at a limit."""
        if self.refusal is not None:
            error = self.refusal.get("error") or {}
            if self.refusal.get("status") == 429 or error.get("type") == "model_error":
                raise NotShown(f"the turn was refused: {error.get('message')}")
            raise Broken(f"the turn was refused: {error.get('message')}")
        return check_messages(self.messages, validate=event_faults)

    @property
    def final(self) -> Json:
        """The response of the terminal event."""
        found = self.stream.final
        if found is None:
            raise Broken("the turn has no terminal event")
        return found

    @property
    def code(self) -> str | None:
        """The code of the error. Raises `Broken` where the message was answered with a response."""
        if self.refusal is None:
            raise Broken("the message must be refused and was answered with a response")
        code = (self.refusal.get("error") or {}).get("code")
        return None if code is None else str(code)


class Socket:
    """One open WebSocket."""

    def __init__(self, server: Server, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._server = server
        self._socket = socket

    async def send(self, data: str | bytes) -> None:
        """Send one frame as it is: text, or binary for bytes."""
        await (self._socket.send_str(data) if isinstance(data, str) else self._socket.send_bytes(data))

    async def ask(self, **fields: Any) -> None:
        """Send a `response.create` with the run's model, and do not wait."""
        await self.send(encode({"type": "response.create", **self._server.body(fields)}).decode())

    async def turn(self, **fields: Any) -> Turn:
        """Send a `response.create` and read what comes for it."""
        await self.ask(**fields)
        return await self.read_turn(encode(fields))

    async def said(self, data: str | bytes) -> Turn:
        """Send a frame as it is and read what comes for it."""
        await self.send(data)
        return await self.read_turn(data.encode() if isinstance(data, str) else data)

    async def read_turn(self, sent: bytes = b"", *, seconds: float | None = None) -> Turn:
        """Read up to a terminal event or an error envelope. Raises `Broken` where neither comes in time."""
        messages: list[str] = []
        try:
            while True:
                message = await self.read(seconds)
                messages.append(message)
                event = _object(message)
                if event.get("type") == t.ERROR and "status" in event:
                    return Turn(messages, event)
                if event.get("type") in t.TERMINAL_TYPES:
                    return Turn(messages, None)
        finally:
            body = "\n".join(messages).encode()
            self._server.see(Answer(_REQUEST, sent, 101, {}, body, None))

    async def read(self, seconds: float | None = None) -> str:
        """The text of the next frame. Raises `Broken` for another kind, a close, or none in time."""
        try:
            frame = await self._socket.receive(timeout=seconds or self._server.target.timeout)
        except TimeoutError:
            raise Broken("the server does not answer on the WebSocket") from None
        if frame.type is aiohttp.WSMsgType.TEXT:
            return str(frame.data)
        if frame.type is aiohttp.WSMsgType.BINARY:
            raise Broken("an event came in a binary frame")
        raise Broken(f"the server closed the WebSocket (code {self._socket.close_code})")

    async def wait_closed(self, seconds: float) -> bool:
        """Whether the server closes the socket within this time and sends nothing before."""
        try:
            frame = await self._socket.receive(timeout=seconds)
        except TimeoutError:
            return False
        closing = (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSING, aiohttp.WSMsgType.CLOSED)
        return frame.type in closing

    async def is_silent(self, seconds: float = 0.2) -> bool:
        """Whether nothing comes for a moment."""
        try:
            await self._socket.receive(timeout=seconds)
        except TimeoutError:
            return True
        return False


@asynccontextmanager
async def connect(server: Server) -> AsyncIterator[Socket]:
    """An open WebSocket of the server's key. Raises `NotApplicable` where the server has none."""
    try:
        socket = await _open(server, server.authorization)
    except aiohttp.WSServerHandshakeError as error:
        raise NotApplicable(f"the server does not offer WebSocket ({error.status})") from None
    try:
        yield Socket(server, socket)
    finally:
        await socket.close()


async def handshake_status(server: Server, authorization: dict[str, str]) -> int:
    """How a handshake with these headers is answered; 101 where it is accepted."""
    try:
        socket = await _open(server, authorization)
    except aiohttp.WSServerHandshakeError as error:
        return error.status
    await socket.close()
    return 101


async def _open(server: Server, headers: dict[str, str]) -> aiohttp.ClientWebSocketResponse:
    url, headers = f"{server.wire.base_url}/responses", {**server.target.headers, **headers}
    try:
        return await server.wire.session.ws_connect(url, headers=headers, max_msg_size=0)
    except aiohttp.WSServerHandshakeError:
        raise
    except (TimeoutError, aiohttp.ClientError) as error:
        raise Broken(f"the WebSocket handshake broke off: {error}") from None


def _object(message: str) -> Json:
    try:
        found = decode(message)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
