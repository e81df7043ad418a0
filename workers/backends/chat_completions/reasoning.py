"""Reasoning in Chat Completions: what is told of it, and what the server wants back with the assistant's message.

The format has no field for it; servers invented three, often with the same text in each:

- `reasoning_content` (DeepSeek, Kimi, Qwen, llama.cpp) or `reasoning` (OpenRouter, vLLM, Groq): text. Some of them
  refuse to go on after a call without it;
- `reasoning_details` (OpenRouter and others): blocks with signatures or encrypted data, to come back as they were.
"""

from typing import Any

from responses_api.protocol.plain import Json
from workers.backends.parts import Part, StateReport
from workers.backends.values import carriable

DETAILS = "reasoning_details"
_FIELDS = ("reasoning_content", "reasoning")
REASONING_FIELDS = (*_FIELDS, DETAILS)
"""The fields of an assistant message that state may consist of."""
_TEXTS = ("text", "summary")
_GROWING = frozenset({"reasoning.text", "reasoning.summary"})


class ReasoningReader:
    """Reads the reasoning in the messages of one answer, and gathers what has to come back."""

    def __init__(self) -> None:
        self._field = ""
        self._texts: list[str] = []
        self._blocks: list[_Block] = []

    def read(self, message: Json) -> str:
        """The text that a message or delta tells: under the first name that is filled, for it is the same text."""
        given = message.get(DETAILS)
        details = [entry for entry in given if isinstance(entry, dict)] if isinstance(given, list) else []
        for entry in details:
            if not self._blocks or not self._blocks[-1].grow(entry):
                self._blocks.append(_Block(entry))
        for field in _FIELDS:
            text = message.get(field)
            if isinstance(text, str) and text:
                self._field = self._field or field
                self._texts.append(text)
                return text
        return join_texts(details)

    def report(self) -> list[Part]:
        """What the server wants back of the reasoning since the last report, if there was any. Raises ValueError where
        that is nested too deeply.
        """
        if not self._texts and not self._blocks:
            return []  # asked once a token
        state = self._state()
        self._field, self._texts, self._blocks = "", [], []
        return [StateReport(state)] if state else []

    def _state(self) -> Json:
        """Fields of an assistant message: the blocks where there are some, and the text unless they hold all of it."""
        details = [block.whole() for block in self._blocks]
        text = "".join(self._texts)
        state: Json = {DETAILS: details} if details else {}
        if text and text != join_texts(details):
            state[self._field] = text
        return carriable(state)


class _Block:
    """One block of `reasoning_details`, which a stream tells in pieces."""

    def __init__(self, entry: Json) -> None:
        self._fields: Json = {}
        self._texts: dict[str, list[str]] = {}
        self._add(entry)

    def grow(self, entry: Json) -> bool:
        """Take in an entry that goes on with this block; False for one that begins another."""
        mine = self._fields
        is_same = entry.get("type") in _GROWING and all(
            entry.get(name) == mine.get(name) for name in ("type", "index")
        )
        is_signed = bool(mine.get("signature"))
        if not is_same or (is_signed and any(entry.get(name) for name in _TEXTS)):
            return False
        self._add(entry)
        return True

    def whole(self) -> Json:
        """The block as if it had been told at once."""
        return {**self._fields, **{name: "".join(texts) for name, texts in self._texts.items()}}

    def _add(self, entry: Json) -> None:
        for name, value in entry.items():
            if name in _TEXTS and isinstance(value, str):
                self._fields[name] = ""
                self._texts.setdefault(name, []).append(value)
            elif value is not None or name not in self._fields:
                self._fields[name] = value


def join_texts(pieces: list[Any]) -> str:
    """The text of all pieces that have some."""
    texts = [piece.get("text") or piece.get("summary") for piece in pieces if isinstance(piece, dict)]
    return "".join(text for text in texts if isinstance(text, str))


def give_back(message: Json, state: Json) -> None:
    """Add state to the assistant message it belongs to; several states of one message follow each other."""
    for field, value in state.items():
        before = message.get(field)
        message[field] = value if before is None else before + value
