"""The bytes of an answer: an event stream, or one JSON body. The first byte tells, never the content type."""

from responses_api.protocol.sse import SseDecoder, SseEvent

_BLANK = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"


class AnswerBytes:
    """Takes the bytes of one answer, cut anywhere."""

    def __init__(self) -> None:
        self.is_body = False
        """Whether it turned out to be one JSON body: see `body`."""
        self._events: SseDecoder | None = None
        self._received = bytearray()

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that this chunk completes."""
        if self._events is not None:
            return self._events.feed(chunk)
        self._received += chunk
        return [] if self.is_body else self._begin()

    def close(self) -> list[SseEvent]:
        """The events that the end completes."""
        return self._events.close() if self._events is not None else []

    def body(self) -> str:
        """The JSON body, as far as it came."""
        return bytes(self._received.removeprefix(_BOM)).decode("utf-8", "replace")

    def _begin(self) -> list[SseEvent]:
        """What the bytes so far turn out to be; undecided while there was only space."""
        start = self._received.removeprefix(_BOM).lstrip(_BLANK)[:1]
        if start == b"{":
            self.is_body = True
        elif start and not _BOM.startswith(self._received):
            self._events = SseDecoder()
            return self._events.feed(bytes(self._received))
        return []
