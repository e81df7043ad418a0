"""What travels through the log: a kind, the range of sequence numbers, and bytes that the edges pass on as they are."""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What a message's body is."""

    EVENTS = "events"
    """SSE frames of a streamed response."""
    END = "end"
    """SSE frames of which the last is the terminal event."""
    ANSWER = "answer"
    """The JSON of the final response, for a request that was not streamed."""
    REJECT = "reject"
    """The JSON of a `ProtocolError`: nothing of the response was told."""


LAST = frozenset({Kind.END, Kind.ANSWER, Kind.REJECT})
"""The kinds after which nothing follows."""


@dataclass(slots=True)
class Message:
    """One message of one response: events `first` to `next` - 1 (both 0 where the body holds no events)."""

    kind: Kind
    first: int
    next: int
    body: bytes

    def to_bytes(self) -> bytes:
        """The stored form: one header line, then the body."""
        return b"%b %d %d\n%b" % (self.kind.value.encode(), self.first, self.next, self.body)

    @classmethod
    def from_bytes(cls, raw: bytes) -> "Message":
        """Read the stored form."""
        header, _, body = raw.partition(b"\n")
        kind, first, following = header.split(b" ")
        return cls(Kind(kind.decode()), int(first), int(following), body)

    def absorb(self, later: "Message") -> None:
        """Take in the message that follows this one, so that both travel as one."""
        self.kind = later.kind
        self.next = later.next
        self.body += later.body
