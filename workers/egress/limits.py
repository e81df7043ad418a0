"""How long and how much, for everything that is fetched from an address that was named to us."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """`seconds` from the request to the last byte of its answer (None for a stream that stays open), `idle_seconds`
    without a byte, `connect_seconds` until there is a connection, and `most_bytes` of an answer's body.
    """

    seconds: float | None
    most_bytes: int
    idle_seconds: float = 15.0
    connect_seconds: float = 10.0
