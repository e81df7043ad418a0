"""The messages that wait for their turn: in order, bounded in number and in bytes."""

import asyncio
from collections import deque

from django.conf import settings

from responses_api.protocol.errors import ProtocolError, invalid_request, too_many_requests

Waiting = bytes | ProtocolError
"""A text frame, or what is wrong with a frame that never was one: errors keep their place in the order."""


class MessageQueue:
    """What waits on one connection."""

    def __init__(self) -> None:
        self._waiting: deque[Waiting] = deque()
        self._bytes = 0
        self._is_closed = False
        self._changed = asyncio.Event()

    def put(self, text: str | None) -> None:
        """Take a frame; None is one that is not text. Raises `ProtocolError` 429 where too much waits already."""
        entry = _entry(text)
        size = len(entry) if isinstance(entry, bytes) else 0
        is_too_much = self._bytes > 0 and self._bytes + size > settings.MAX_BODY_BYTES
        if is_too_much or len(self._waiting) >= settings.WEBSOCKET_QUEUE:
            raise too_many_requests(
                f"{len(self._waiting)} messages wait on this connection, and it keeps {settings.WEBSOCKET_QUEUE} of "
                f"{settings.MAX_BODY_BYTES} bytes in all; wait for a response to end before you send more.",
                code="websocket_queue_full",
            )
        self._waiting.append(entry)
        self._bytes += size
        self._changed.set()

    async def next(self) -> Waiting | None:
        """The next frame; None once the queue is closed, whatever waits in it then."""
        while not (self._is_closed or self._waiting):
            self._changed.clear()
            await self._changed.wait()
        return None if self._is_closed else self._pop()

    def close(self) -> None:
        """Let nothing have its turn any more."""
        self._is_closed = True
        self._changed.set()

    def empty(self) -> int:
        """Drop what waits; how much that was."""
        left = len(self._waiting)
        self._waiting.clear()
        self._bytes = 0
        return left

    def _pop(self) -> Waiting:
        entry = self._waiting.popleft()
        if isinstance(entry, bytes):
            self._bytes -= len(entry)
        return entry


def _entry(text: str | None) -> Waiting:
    if text is None:
        return invalid_request(
            "A message must be a text frame with JSON, not a binary one.", code="invalid_type"
        )
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) > settings.MAX_BODY_BYTES:
        return invalid_request(
            f"The message is larger than the {settings.MAX_BODY_BYTES} bytes that are allowed.",
            code="message_too_large",
            status=413,
        )
    return raw
