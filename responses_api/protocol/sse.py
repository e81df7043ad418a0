"""Server-sent events, both ways: how we frame ours, and a decoder for anybody's.

Specification: WHATWG HTML, "Server-sent events" (parsing an event stream); Open Responses, "Streaming".
"""

import codecs
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

DONE = b"data: [DONE]\n\n"
KEEP_ALIVE = b": keep-alive\n\n"

_BOM = "\ufeff"
_DATA = b"\ndata: "
_FRAME_END = b"\n\n"
_DONE_DATA = b"[DONE]"


def encode(obj: Any) -> bytes:
    """Compact JSON in UTF-8, never containing a raw line break. Raises TypeError for what is not JSON."""
    return orjson.dumps(obj)


def decode(data: bytes | str) -> Any:
    """Parse JSON. Raises ValueError when it is not JSON (lone surrogates included)."""
    return orjson.loads(data)


def frame(event_type: str, data: bytes) -> bytes:
    """One whole event. `data` must be one line, as `encode` makes it."""
    return b"event: %b\ndata: %b\n\n" % (event_type.encode(), data)


def numbered_frame(event_type: str, body: bytes, number: int) -> bytes:
    """One whole event of a stream: `body`, a JSON object, with its `sequence_number` as its last field."""
    return b'event: %b\ndata: %b,"sequence_number":%d}\n\n' % (event_type.encode(), body[:-1], number)


def frames_of(blob: bytes) -> list[bytes]:
    """The frames of a run of them, made by `frame`, each whole."""
    return [block + _FRAME_END for block in blob.split(_FRAME_END)[:-1]]


def frames_to_data(blob: bytes) -> Iterator[bytes]:
    """The data of each event in a run of frames made by `frame`, without comments and `[DONE]`.

    Only for our own frames: it relies on their exact form to be fast.
    """
    for block in blob.split(_FRAME_END):
        _, found, data = block.partition(_DATA)
        if not found and block.startswith(_DATA[1:]):
            data = block[len(_DATA) - 1 :]
        if data and data != _DONE_DATA:
            yield data


class SseEvent(NamedTuple):
    """A decoded event. `event` is None when the stream named no type."""

    event: str | None
    data: str


class SseDecoder:
    """Turns the bytes of an event stream, cut anywhere, into events.

    Line ends may be LF, CR or CRLF and nothing else ends a line, U+2028 included. Bytes that are not UTF-8
    become U+FFFD. Comments, `id` and `retry` are ignored: nothing here reconnects.
    """

    def __init__(self) -> None:
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._started = False
        self._after_cr = False
        self._pieces: list[str] = []

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that this chunk completes."""
        return self._take(self._utf8.decode(chunk))

    def close(self) -> list[SseEvent]:
        """The end of the stream: an event that was cut before its blank line is returned if it has data.

        The standard drops it; whoever reads a model's answer wants the last words and the `[DONE]` of a
        server that forgot the final line break.
        """
        events = self._take(self._utf8.decode(b"", final=True))
        last = _parse_block("".join(self._pieces))
        self._pieces = []
        if last is not None:
            events.append(last)
        return events

    def _take(self, text: str) -> list[SseEvent]:
        text = self._normalise(text)
        if not text:
            return []
        pieces = self._pieces
        joins = bool(pieces) and text[0] == "\n" and pieces[-1][-1] == "\n"
        if not joins and "\n\n" not in text:
            # Collected, not concatenated: a long event in many chunks stays linear.
            pieces.append(text)
            return []
        if pieces:
            pieces.append(text)
            text = "".join(pieces)
        blocks = text.split("\n\n")
        rest = blocks.pop()
        self._pieces = [rest] if rest else []
        return [event for event in map(_parse_block, blocks) if event is not None]

    def _normalise(self, text: str) -> str:
        """Drop the leading BOM and make every line end LF, also for a CRLF split between two chunks."""
        if not text:
            return text
        if not self._started:
            self._started = True
            text = text.removeprefix(_BOM)
        if self._after_cr and text:
            self._after_cr = False
            if text[0] == "\n":
                text = text[1:]
        if "\r" in text:
            self._after_cr = text[-1] == "\r"
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        return text


def _parse_block(block: str) -> SseEvent | None:
    """The event in the lines between two blank lines; None when they hold no data."""
    if block.startswith("data: ") and "\n" not in block:
        return SseEvent(None, block[6:])
    event: str | None = None
    data: list[str] = []
    for line in block.split("\n"):
        field, _, value = line.partition(":")
        if field == "data":
            data.append(value.removeprefix(" "))
        elif field == "event":
            event = value.removeprefix(" ") or None
    return SseEvent(event, "\n".join(data)) if data else None
