"""Text that an upstream tells in pieces, made safe to carry (see `protocol.wording`).

A surrogate pair that was cut between two deltas is put together again.
"""

import orjson

from responses_api.protocol.wording import REPLACEMENT, safe_text

NOTHING = b'""'


class GrowingText:
    """Text that arrives in pieces. What was pushed and what it became are the same in every piece and in
    whole.
    """

    __slots__ = ("_pending", "_pieces", "last_length")

    def __init__(self) -> None:
        self.last_length = 0
        """How many characters were appended last."""
        self._pieces: list[str] = []
        self._pending = ""

    def push(self, piece: str) -> bytes:
        """Append a piece; returns what was really appended, as a JSON string (`""` when nothing was)."""
        if self._pending:
            piece, self._pending = self._pending + piece, ""
        if "\x00" in piece:
            piece = piece.replace("\x00", REPLACEMENT)
        try:
            encoded = orjson.dumps(piece)
        except TypeError:
            piece = self._mend(piece)
            encoded = orjson.dumps(piece)
        self._pieces.append(piece)
        self.last_length = len(piece)
        return encoded

    @property
    def is_torn(self) -> bool:
        """Whether half of a surrogate pair waits for the other half."""
        return bool(self._pending)

    def flush(self) -> bytes:
        """The half of a surrogate pair that waited in vain, as a JSON string; call it before reading the
        whole.
        """
        if not self._pending:
            return NOTHING
        self._pending = ""
        self._pieces.append(REPLACEMENT)
        self.last_length = len(REPLACEMENT)
        return orjson.dumps(REPLACEMENT)

    def __str__(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def _mend(self, piece: str) -> str:
        """Hold back a high surrogate at the very end: its other half may come with the next piece."""
        if "\ud800" <= piece[-1] <= "\udbff":
            self._pending = piece[-1]
            piece = piece[:-1]
        return safe_text(piece)
