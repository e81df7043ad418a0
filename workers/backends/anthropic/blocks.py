"""The blocks of a message: how each kind begins, grows and ends, and what of it is told.

Blocks are kept as they were told, whatever they are: thinking goes back with the conversation, and a message that the
upstream paused goes back whole.
"""

from collections.abc import Hashable
from typing import Any, Final

import orjson

from responses_api.protocol.plain import Json
from workers.backends.parts import (
    CallDelta,
    Part,
    ReasoningDelta,
    StateReport,
    SummaryDelta,
    TextDelta,
)
from workers.backends.values import carriable, text_of, written

_INPUT: Final = "input_json_delta"
# The kind of a delta: the field that grows, and under which name in the block.
_GROWING: Final = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
}


class Block:
    """One block of a message, under a key of its own; `summarises`: what it tells of its thinking is a summary.

    With `is_answer` it is the call that takes the answer: its input is told as text.
    """

    def __init__(self, key: Hashable, told: Json, *, summarises: bool, is_answer: bool) -> None:
        self._key = key
        self._fields: Json = dict(told)
        self._pieces: dict[str, list[str]] = {}
        self._citations: list[Any] = []
        self._input: list[str] = []
        self._thought: type[SummaryDelta | ReasoningDelta] = SummaryDelta if summarises else ReasoningDelta
        self._is_answer = is_answer
        self._is_call = told.get("type") == "tool_use" and not is_answer

    @property
    def type(self) -> Any:
        """What kind of block it is."""
        return self._fields.get("type")

    def begin(self) -> list[Part]:
        """What its beginning tells; a whole block has all of it there."""
        if self._is_call:
            id, name = text_of(self._fields.get("id")), text_of(self._fields.get("name"))
            return [CallDelta(self._key, id or None, name or None, "")]
        return [*self._grown("text"), *self._grown("thinking")]

    def grow(self, delta: Json) -> list[Part]:
        """Take in a delta; of a kind that nobody knows it tells nothing."""
        kind = delta.get("type")
        if kind == _INPUT:
            return self._grow_input(text_of(delta.get("partial_json")))
        if kind == "citations_delta":
            self._citations.append(delta.get("citation"))
        growing = _GROWING.get(kind) if isinstance(kind, str) else None
        if growing is None:
            return []
        field, piece = growing[1], text_of(delta.get(growing[0]))
        self._pieces.setdefault(field, [text_of(self._fields.get(field))]).append(piece)
        return self._told(field, piece)

    def end(self) -> list[Part]:
        """What its end tells: input that came whole, and the state of a thought.

        Raises `ProtocolError` or ValueError for what is nested deeper than it can be written down.
        """
        if self.type in ("thinking", "redacted_thinking"):
            return [StateReport(self.whole())]
        if self._input or not (self._is_call or self._is_answer):
            return []
        given = self._fields.get("input")
        if not given and self._is_call:
            return []
        return self._grow_input(written(given or {}))

    def whole(self) -> Json:
        """The block as if it had been told at once. Raises ValueError where it is nested too deeply."""
        fields = self._fields | {name: "".join(pieces) for name, pieces in self._pieces.items()}
        if self._citations:
            told = fields.get("citations")
            fields["citations"] = [*(told if isinstance(told, list) else ()), *self._citations]
        if self._input:
            fields["input"] = _parsed("".join(self._input))
        return carriable(fields)

    def _grow_input(self, piece: str) -> list[Part]:
        if not piece:
            return []
        self._input.append(piece)
        if self._is_answer:
            return [TextDelta(self._key, piece)]
        return [CallDelta(self._key, None, None, piece)] if self._is_call else []

    def _grown(self, field: str) -> list[Part]:
        return self._told(field, text_of(self._fields.get(field)))

    def _told(self, field: str, piece: str) -> list[Part]:
        if piece and field == "text" and self.type == "text":
            return [TextDelta(self._key, piece)]
        if piece and field == "thinking" and self.type == "thinking":
            return [self._thought(self._key, piece)]
        return []


def _parsed(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
