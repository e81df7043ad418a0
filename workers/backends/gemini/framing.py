"""The JSON objects in the bytes of an answer: in the events of a stream, in an array, or a whole body."""

import codecs
import re
from typing import Final

from responses_api.protocol.sse import SseDecoder, SseEvent
from workers.backends.wire import FirstByte

_MARKS: Final = re.compile(r'["\\{}]')


class ObjectReader:
    """Finds the texts of JSON objects in bytes that come in pieces, cut anywhere.

    An event stream and plain JSON are told apart by their first byte, never by the content type.
    """

    def __init__(self) -> None:
        self.is_cut = False
        """After `close`: whether the bytes ended within an object."""
        self.is_json = False
        """Whether they are plain JSON."""
        self._events: SseDecoder | None = None
        self._objects = _ObjectSplitter()
        self._first = FirstByte()

    def feed(self, chunk: bytes) -> list[str]:
        """The texts that this chunk completes. Those of an event stream may be no JSON at all."""
        if self._events is not None:
            return _texts(self._events.feed(chunk))
        if not self.is_json:
            if not self._sniff(self._first.feed(chunk)):
                return []
            chunk = bytes(self._first.received)
        return self._objects.feed(chunk) if self.is_json else self.feed(chunk)

    def close(self) -> list[str]:
        """What the end of the bytes completes."""
        if self._events is not None:
            return _texts(self._events.close())
        self.is_cut = self._objects.is_open
        return []

    def _sniff(self, first: bytes) -> bool:
        """Whether it is known what this is; not while there was only space."""
        self.is_json = first in (b"{", b"[")
        if first and not self.is_json:
            self._events = SseDecoder()
        return bool(first)


def _texts(events: list[SseEvent]) -> list[str]:
    """The data of events: objects, seldom in an array (an error that ends a stream), or what is no JSON."""
    texts: list[str] = []
    for event in events:
        data = event.data.strip()
        texts += _ObjectSplitter().feed(data.encode("utf-8", "replace")) if data.startswith("[") else [data]
    return texts


class _ObjectSplitter:
    """Cuts JSON into its outermost objects; what is between them (brackets, commas) says nothing."""

    def __init__(self) -> None:
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._pieces: list[str] = []
        self._depth = 0
        self._in_string = False
        self._is_escaped = False

    @property
    def is_open(self) -> bool:
        """Whether an object has begun and not ended."""
        return self._depth > 0

    def feed(self, chunk: bytes) -> list[str]:
        """The objects that this chunk completes."""
        text = self._utf8.decode(chunk)
        found: list[str] = []
        start = 0
        escaped = 0 if self._is_escaped else -1
        for mark in _MARKS.finditer(text):
            at = mark.start()
            if at == escaped:
                continue
            if mark[0] == "\\":
                escaped = at + 1
            elif mark[0] == '"':
                self._in_string = not self._in_string
            elif not self._in_string:
                if mark[0] == "{":
                    start = at if self._depth == 0 else start
                    self._depth += 1
                elif self._depth > 0:
                    self._depth -= 1
                    if self._depth == 0:
                        found.append("".join((*self._pieces, text[start : at + 1])))
                        self._pieces.clear()
        if text:
            self._is_escaped = escaped == len(text)
        if self.is_open:
            self._pieces.append(text[start:])
        return found
