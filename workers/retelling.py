"""A second attempt at a response whose worker was lost: what was told is not told again.

The backend is asked anew, and what it says is held against what was told: the same text is swallowed, cut as it was cut
and under the ids that it had, until there is nothing left of it. From there on all is new, and joins without a seam.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from responses_api.protocol import event_types as t
from responses_api.protocol.ids import IdFactory
from responses_api.protocol.plain import Json
from responses_api.protocol.rounds import last_round_end
from responses_api.protocol.server_tools import is_receipt
from responses_api.protocol.sse import decode, frames_of, frames_to_data
from responses_api.protocol.wording import REPLACEMENT
from workers.backends.logprobs import cut_logprobs
from workers.backends.parts import (
    CallDelta,
    Part,
    ReasoningDelta,
    RefusalDelta,
    SpokenDelta,
    SummaryDelta,
    TextDelta,
)

Told = Sequence[bytes]
"""The data of the events that were told of a response, in order."""

_SPOKEN: Final[dict[str, type[SpokenDelta]]] = {
    t.OUTPUT_TEXT_DELTA: TextDelta,
    t.REFUSAL_DELTA: RefusalDelta,
    t.REASONING_DELTA: ReasoningDelta,
    t.REASONING_TEXT_DELTA: ReasoningDelta,
    t.REASONING_SUMMARY_TEXT_DELTA: SummaryDelta,
}
_OPENING: Final = frozenset({t.CREATED, t.QUEUED, t.IN_PROGRESS})


class Diverged(Exception):
    """This attempt says something else than what was told: the two make no answer."""


@dataclass(slots=True)
class _Piece:
    """A delta that was told, or with `item` the announcement of a call; `call` counts the calls, None is speech."""

    kind: type[Any]
    call: int | None
    text: str = ""
    logprobs: tuple[Json, ...] = ()
    item: Json | None = None


@dataclass(slots=True)
class _Heard:
    """A part of this attempt, and what is left of it."""

    part: Any
    call: int | None
    text: str


class Retelling:
    """What was told of a response, while its generation catches up with it. Its finished rounds are not generated
    again: they are taken up. `of_our_tools` says whether items of a type are receipts of tools that the service runs.
    """

    def __init__(
        self, told: Told, new_id: IdFactory, of_our_tools: Callable[[str], bool] = is_receipt
    ) -> None:
        self._told: Final = told
        self._fresh_id = new_id
        events = [decode(data) for data in told]
        self._openings = sum(event["type"] in _OPENING for event in events)
        self._at = last_round_end(events, of_our_tools)
        self.finished: Final[Sequence[Json]] = events[: self._at]
        """The events up to the end of the last finished round, for `Emitter.resume`: the rest is told again."""
        rest = events[self._at :]
        added = [event for event in rest if event["type"] == t.OUTPUT_ITEM_ADDED]
        self._ids: deque[str] = deque(event["item"]["id"] for event in added)
        self._pieces = deque(_pieces(rest))
        self._told_calls = sum(piece.item is not None for piece in self._pieces)
        self._heard: list[_Heard] = []
        self._calls: dict[Any, int] = {}
        self._names: dict[int | None, tuple[Any, str]] = {}

    @property
    def is_behind(self) -> bool:
        """Whether something was told that this attempt has not come to yet."""
        return self._at < len(self._told)

    @property
    def has_told_answer(self) -> bool:
        """Whether anything was told but that the response has begun."""
        return len(self._told) > self._openings

    @property
    def told(self) -> int:
        """How many events were told before this attempt."""
        return len(self._told)

    def new_id(self, prefix: str) -> str:
        """The id that the next item was told under; a fresh one where none was."""
        if not self._ids or prefix == "call":
            return self._fresh_id(prefix)
        known = self._ids.popleft()
        if not known.startswith(f"{prefix}_"):
            raise Diverged
        return known

    def rest(self, frames: bytes) -> bytes:
        """Those of the frames, the next ones of this attempt, that were not told. Raises `Diverged`."""
        if not self.is_behind:
            return frames
        made = frames_of(frames)
        again = made[: len(self._told) - self._at]
        for data in frames_to_data(b"".join(again)):
            # How a response begins follows from its request, in the words of whichever version says it.
            if self._at >= self._openings and data != self._told[self._at]:
                raise Diverged
            self._at += 1
        return b"".join(made[len(again) :])

    def refit(self, parts: Sequence[Part]) -> Sequence[Part]:
        """The parts, cut as they were told, as far as they were told. Raises `Diverged`."""
        if not self._pieces and not self._heard:
            return parts
        return [fitted for part in parts for fitted in self._take(part)]

    def _take(self, part: Any) -> Iterator[Part]:
        if type(part) is CallDelta:
            call = self._calls.setdefault(part.key, len(self._calls))
            if part.name:
                self._names.setdefault(call, (part.key, part.name))
            self._heard.append(_Heard(part, call, part.arguments.replace("\x00", REPLACEMENT)))
        elif type(part) in _SPOKEN.values():
            self._heard.append(_Heard(part, None, part.text.replace("\x00", REPLACEMENT)))
        else:
            yield part
            return
        while self._pieces:
            fitted = self._fit(self._pieces[0])
            if fitted is None:
                return
            self._pieces.popleft()
            yield fitted
        heard, self._heard = self._heard, []
        for left in heard:
            yield from self._left(left)

    def _fit(self, piece: _Piece) -> Part | None:
        """The piece as a part of this attempt, which has said as much; None while it has not."""
        # Calls may grow side by side in any order; speech and calls come in theirs.
        if self._heard and (self._heard[0].call is None) != (piece.call is None):
            raise Diverged
        sources = [heard for heard in self._heard if heard.call == piece.call]
        if piece.item is not None:
            return self._announce(piece.item, piece.call)
        said = ""
        for source in sources:
            if type(source.part) is not piece.kind:
                if source.text:
                    raise Diverged
                continue
            said += source.text
            if len(said) >= len(piece.text):
                break
        if not (said.startswith(piece.text) if len(said) >= len(piece.text) else piece.text.startswith(said)):
            raise Diverged
        if len(said) < len(piece.text):
            return None
        return self._cut(piece, sources)

    def _announce(self, item: Json, call: int | None) -> Part | None:
        if call not in self._names:
            return None
        key, name = self._names[call]
        if name != item["name"]:
            raise Diverged
        self._heard = [heard for heard in self._heard if heard.text or heard.call != call]
        # The backend gives its calls new ids; the answer will come under the one that was told.
        return CallDelta(key, item["call_id"], item["name"], "")

    def _cut(self, piece: _Piece, sources: list[_Heard]) -> Part:
        """Take the piece's text out of what was heard."""
        missing, key = len(piece.text), None
        for source in sources:
            taken = min(missing, len(source.text))
            if taken and key is None:
                key = source.part.key
            source.text = source.text[taken:]
            missing -= taken
            if type(source.part) is TextDelta and taken:
                source.part = replace(source.part, logprobs=cut_logprobs(source.part.logprobs, taken)[1])
        self._heard = [heard for heard in self._heard if heard.text or heard not in sources]
        if piece.call is not None:
            return CallDelta(key, None, None, piece.text)
        if piece.kind is TextDelta:
            return TextDelta(key, piece.text, piece.logprobs)
        spoken: Part = piece.kind(key, piece.text)
        return spoken

    def _left(self, heard: _Heard) -> Iterator[Part]:
        if heard.call is None:
            yield replace(heard.part, text=heard.text)
        elif heard.call >= self._told_calls:
            yield heard.part
        elif heard.text:
            yield CallDelta(heard.part.key, None, None, heard.text)


def _pieces(events: Sequence[Json]) -> Iterator[_Piece]:
    calls: dict[int, int] = {}
    for event in events:
        kind = event["type"]
        if kind in _SPOKEN:
            yield _Piece(_SPOKEN[kind], None, event["delta"], tuple(event.get("logprobs") or ()))
        elif kind == t.FUNCTION_CALL_ARGUMENTS_DELTA:
            yield _Piece(CallDelta, calls[event["output_index"]], event["delta"])
        elif kind == t.OUTPUT_ITEM_ADDED and event["item"]["type"] == "function_call":
            calls[event["output_index"]] = len(calls)
            yield _Piece(CallDelta, len(calls) - 1, item=event["item"])
