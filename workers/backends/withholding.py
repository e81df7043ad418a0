"""Reasoning that clients are not to see: left out of an answer before anybody behind the adapter reads it.

A backend's row says how much of it is told: `raw` all, `summary` summaries alone, `none` nothing. What the backend
wants back (`StateReport`) stays: it is sealed, and a conversation goes on with it as if everything had been told.
"""

from typing import Final

from responses_api.protocol.backend import BackendSpec
from responses_api.protocol.plain import Json
from workers.backends.answer import AnswerStream
from workers.backends.parts import Part, ReasoningDelta, SummaryDelta
from workers.backends.pausing import resumed

_WITHHELD: Final[dict[str, tuple[type[Part], ...]]] = {
    "raw": (),
    "summary": (ReasoningDelta,),
    "none": (ReasoningDelta, SummaryDelta),
}


def as_shown(answer: AnswerStream, backend: BackendSpec) -> AnswerStream:
    """The answer without what the backend's row withholds; where that is nothing, the very same."""
    withheld = _WITHHELD.get(backend.reasoning, _WITHHELD["none"])
    return _Withholding(answer, withheld) if withheld else answer


class _Withholding:
    def __init__(self, answer: AnswerStream, withheld: tuple[type[Part], ...]) -> None:
        self._answer = answer
        self._withheld = withheld

    @property
    def finished(self) -> bool:
        return self._answer.finished

    def feed(self, chunk: bytes) -> list[Part]:
        return self._without(self._answer.feed(chunk))

    def close(self) -> list[Part]:
        return self._without(self._answer.close())

    def resume(self, body: Json) -> Json | None:
        return resumed(self._answer, body)

    def _without(self, parts: list[Part]) -> list[Part]:
        return [part for part in parts if not isinstance(part, self._withheld)]
