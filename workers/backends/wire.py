"""The bytes of an answer: an event stream, or one JSON body. The first byte tells, never the content type."""

import re

from responses_api.protocol.sse import SseDecoder, SseEvent

_BOM = b"\xef\xbb\xbf"
_NO_SPACE = re.compile(rb"[^ \t\r\n]")


class FirstByte:
    """Finds the first byte of an answer that is neither space nor byte order mark. Each byte is looked at once."""

    def __init__(self) -> None:
        self.received = bytearray()
        self._at = 0

    def feed(self, chunk: bytes) -> bytes:
        """The byte; b"" while it has not come."""
        self.received += chunk
        if _BOM.startswith(self.received):
            return b""
        if self._at == 0 and self.received.startswith(_BOM):
            self._at = len(_BOM)
        found = _NO_SPACE.search(self.received, self._at)
        self._at = len(self.received) if found is None else found.start()
        return b"" if found is None else bytes(found[0])


class AnswerBytes:
    """Takes the bytes of one answer, cut anywhere."""

    def __init__(self) -> None:
        self.is_body = False
        """Whether it turned out to be one JSON body: see `body`."""
        self._events: SseDecoder | None = None
        self._first = FirstByte()
        self._body: list[bytes] = []

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that this chunk completes."""
        if self._events is not None:
            return self._events.feed(chunk)
        if self.is_body:
            self._body.append(chunk)
            return []
        return self._begin(self._first.feed(chunk))

    def close(self) -> list[SseEvent]:
        """The events that the end completes."""
        return self._events.close() if self._events is not None else []

    def body(self) -> str:
        """The JSON body, as far as it came."""
        return b"".join(self._body).removeprefix(_BOM).decode("utf-8", "replace")

    def _begin(self, first: bytes) -> list[SseEvent]:
        """What the bytes so far turn out to be, by their first one; undecided while there is none."""
        if not first:
            return []
        if first == b"{":
            self.is_body = True
            self._body.append(bytes(self._first.received))
            return []
        self._events = SseDecoder()
        return self._events.feed(bytes(self._first.received))
