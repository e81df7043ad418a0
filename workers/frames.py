"""The events of one response as frames: numbered, padded, kept until somebody takes them; and how deltas were cut.

`sequence_number` counts every event from 0 (specification, "Streaming").
"""

from collections.abc import Callable, Sequence

from responses_api.protocol.event_types import PADDED_TYPES, Dialect
from responses_api.protocol.plain import Json
from responses_api.protocol.score import Delta, compose
from responses_api.protocol.sse import encode, numbered_frame

Pad = Callable[[int, int], str]
"""Makes padding (ASCII, without need of an escape) for the delta event of a number and so many bytes."""


class Frames:
    """What was told of a response. Without `pad` deltas are not padded."""

    def __init__(self, pad: Pad | None) -> None:
        self.next = 0
        """The number that the next event will carry."""
        self._pad = pad
        # Decided once, not once a token.
        self._framed = self._numbered if pad is None else self._padded
        self._frames: list[bytes] = []
        self._log: list[Json | Delta] = []

    def take_up(self, told: Sequence[Json]) -> None:
        """Events that another attempt told: they count, and are not told again."""
        self.next = len(told)
        self._log = list[Json | Delta](told)

    def tell(self, event: Json) -> None:
        """An event that is no delta."""
        self._log.append(event)
        self._frames.append(self._numbered(event["type"], encode(event)))

    def tell_delta(self, event_type: str, body: bytes, cut: Delta) -> None:
        """A delta as JSON. `cut`: the item that it adds to, and how many characters and log probabilities."""
        self._frames.append(self._framed(event_type, body))
        self._log.append(cut)

    def last(self, event: Json) -> bytes:
        """The frame of the terminal event, which is not kept."""
        return self._numbered(event["type"], encode(event))

    def drain(self) -> bytes:
        """The frames made since the last call."""
        blob = b"".join(self._frames)
        self._frames.clear()
        return blob

    def score(self, response: Json, dialect: Dialect) -> Json | None:
        """How the stream was cut, of which `response` is what it told (see `protocol.score`)."""
        return compose(self._log, response, dialect=dialect, is_padded=self._pad is not None)

    def _padded(self, event_type: str, body: bytes) -> bytes:
        """Frame a delta with padding, where its schema has a place for it."""
        if self._pad is not None and event_type in PADDED_TYPES:
            body = b'%b,"obfuscation":"%b"}' % (body[:-1], self._pad(self.next, len(body)).encode())
        return self._numbered(event_type, body)

    def _numbered(self, event_type: str, body: bytes) -> bytes:
        """Frame an event, a JSON object, under the next number. The only place that counts."""
        number = self.next
        self.next = number + 1
        return numbered_frame(event_type, body, number)
