"""What reads an answer, whatever its format."""

from typing import Protocol

from workers.backends.parts import Part


class AnswerStream(Protocol):
    """Reads one answer. `feed` never raises; `close` returns the rest or raises `ProtocolError`."""

    @property
    def finished(self) -> bool:
        """Nothing more of use will come, although the connection may stay open."""

    def feed(self, chunk: bytes) -> list[Part]:
        """The parts that this chunk completes."""

    def close(self) -> list[Part]:
        """The rest of the answer, or what was wrong with it."""
