"""The score of a stream: how it was cut into events, so that it can be told again from the response alone.

It holds no text. A stored response keeps its items and its score; together they are every event of its stream, with its
number, as it was sent. The signs are those of `protocol.performer`.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from typing import Any, Final

from responses_api.protocol import event_types as t
from responses_api.protocol import events
from responses_api.protocol.event_types import Dialect
from responses_api.protocol.obfuscation import padded
from responses_api.protocol.performer import Performer, changed, changes
from responses_api.protocol.plain import Json
from responses_api.protocol.receipts import has_arguments, steps
from responses_api.protocol.server_tools import ARGUMENTS_DELTAS, ARGUMENTS_DONES, step_of
from responses_api.protocol.sse import encode, numbered_frame

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LENGTHS: Final = {letter: length for length, letter in enumerate(_LETTERS, 1)}
_BY_LENGTH: Final = dict(enumerate(_LETTERS, 1))
_SIGNS: Final[dict[str, str]] = {
    t.CREATED: "^",
    t.QUEUED: "~",
    t.IN_PROGRESS: ">",
    t.OUTPUT_ITEM_ADDED: "+",
    t.OUTPUT_ITEM_DONE: ";",
    t.CONTENT_PART_ADDED: "[",
    t.REASONING_SUMMARY_PART_ADDED: "{",
    t.CONTENT_PART_DONE: "]",
    t.REASONING_SUMMARY_PART_DONE: "]",
    t.OUTPUT_TEXT_DONE: ".",
    t.REFUSAL_DONE: ".",
    t.REASONING_DONE: ".",
    t.REASONING_TEXT_DONE: ".",
    t.REASONING_SUMMARY_TEXT_DONE: ".",
    **dict.fromkeys((t.FUNCTION_CALL_ARGUMENTS_DONE, *ARGUMENTS_DONES), "="),
    t.OUTPUT_TEXT_ANNOTATION_ADDED: "&",
}
_OPENINGS: Final = frozenset("^~>")
_DELTAS: Final = frozenset(
    {
        t.OUTPUT_TEXT_DELTA,
        t.REFUSAL_DELTA,
        t.REASONING_DELTA,
        t.REASONING_TEXT_DELTA,
        t.REASONING_SUMMARY_TEXT_DELTA,
        t.FUNCTION_CALL_ARGUMENTS_DELTA,
        *ARGUMENTS_DELTAS,
    }
)
_TOKEN: Final = re.compile(r"([@#(])(\d+)[@#)]|:([a-z_]+):|(.)")
_STEP: Final = re.compile("[a-z_]+")


Delta = tuple[int, int, int]
"""A delta as a score needs it: the output index of its item, its characters, its log probabilities."""


def compose(
    told: Iterable[Json | Delta], final: Json, *, dialect: Dialect, is_padded: bool = False
) -> Json | None:
    """The score of a stream: of its events up to the terminal one, whose response is `final`.

    Events may carry their numbers. None where the events do not tell the response, which no stream of ours does.
    """
    writer = _Writer(final, dialect)
    try:
        for is_delta, run in groupby(told, _is_delta):
            if is_delta:
                writer.take_deltas(run)
            else:
                for event in run:
                    writer.take_event(event)
    except LookupError:
        return None
    if not writer.performer.is_told:
        return None
    score: Json = {"dialect": dialect, "signs": "".join(writer.signs)}
    if writer.kept:
        score["kept"] = writer.kept
    if is_padded:
        score["padded"] = True
    return score


def perform(final: Json, score: Json | None) -> Iterator[bytes]:
    """The frames of the stream of a response that has ended, its terminal event included.

    Of a response whose stream was never written down (`score` has no signs) each text is one delta.
    """
    score = score or {}
    dialect: Dialect = score.get("dialect", "open")
    if "signs" not in score:
        score = _plain(final, dialect)
    pads = score.get("padded", False)
    told = chain(_events(final, score, dialect), (events.terminal(final),))
    for number, event in enumerate(told):
        kind, body = event["type"], encode(event)
        if pads and kind in t.PADDED_TYPES:
            body = padded(body, final["id"], number)
        yield numbered_frame(kind, body, number)


def delta_signs(lengths: Iterable[int]) -> list[str]:
    """The signs of deltas of so many characters each."""
    return [_BY_LENGTH.get(length) or f"({length})" for length in lengths]


class _Writer:
    """Writes the signs of a stream, performing it at the same time: what cannot be performed is kept."""

    def __init__(self, final: Json, dialect: Dialect) -> None:
        self.performer = Performer(final, dialect)
        self.signs: list[str] = []
        self.kept: list[Json] = []

    def take_deltas(self, run: Iterable[Any]) -> None:
        """Write down the next events, which are deltas, of whatever items."""
        turn, lengths = (self.performer.item, self.performer.logprobs), list[int]()
        for item, length, logprobs in run:
            if (item, logprobs) != turn:
                self._write(lengths)
                turn, lengths = (item, logprobs), []
                self._turn(item, logprobs)
            lengths.append(length)
        self._write(lengths)

    def take_event(self, event: Any) -> None:
        """Write down the next event."""
        if event["type"] in _DELTAS:
            logprobs = len(event.get("logprobs") or ())
            self.take_deltas([(event["output_index"], len(event["delta"]), logprobs)])
        else:
            self._event({name: value for name, value in event.items() if name != "sequence_number"})

    def _write(self, lengths: list[int]) -> None:
        """Write deltas of what grows now. There may be thousands."""
        if lengths:
            self.performer.part.skip(sum(lengths), len(lengths) * self.performer.logprobs)
            self.signs += delta_signs(lengths)

    def _turn(self, item: int, logprobs: int) -> None:
        if item != self.performer.item:
            self._choose(item)
        if logprobs != self.performer.logprobs:
            self.performer.logprobs = logprobs
            self.signs.append(f"#{logprobs}#")

    def _event(self, event: Json) -> None:
        sign = _SIGNS.get(event["type"])
        if sign is None and "output_index" in event:
            self._step(event)
        elif sign is None:
            self._keep("?", event)
        elif sign in _OPENINGS:
            self._opening(sign, event)
        else:
            self._of_item(sign, event)

    def _opening(self, sign: str, event: Json) -> None:
        made = self.performer.perform(sign)
        if made != event:
            self._keep("!", changes(event["response"], made["response"]))
        self.signs.append(sign)

    def _of_item(self, sign: str, event: Json) -> None:
        if sign != "+" and event["output_index"] != self.performer.item:
            self._choose(event["output_index"])
        made = self.performer.perform(sign)
        if made == event:
            self.signs.append(sign)
        elif sign == "+" and _is_changed(made["item"], event["item"]):
            self._keep("!", changes(event["item"], made["item"]))
            self.signs.append(sign)
        else:
            self._keep("?", event)

    def _step(self, event: Json) -> None:
        """An event of a receipt, of which the score says only the step."""
        step = step_of(event["type"], self.performer.type_of(event["output_index"])) or ""
        if not _STEP.fullmatch(step):
            self._keep("?", event)
            return
        if event["output_index"] != self.performer.item:
            self._choose(event["output_index"])
        if self.performer.step(step) == event:
            self.signs.append(f":{step}:")
        else:
            self._keep("?", event)

    def _choose(self, item: int) -> None:
        self.performer.item = item
        self.signs.append(f"@{item}@")

    def _keep(self, sign: str, what: Json) -> None:
        self.signs.append(sign)
        self.kept.append(what)


def _is_delta(event: Json | Delta) -> bool:
    return type(event) is tuple


def _is_changed(made: Json, told: Json) -> bool:
    """Whether the item that was told follows from the one that was made: to the last byte."""
    return encode(changed(made, changes(told, made))) == encode(told)


def _events(final: Json, score: Json, dialect: Dialect) -> Iterator[Json]:
    """The events of a score, but for the terminal one."""
    performer = Performer(final, dialect)
    kept = iter(score.get("kept", ()))
    change: Json | None = None
    for kind, number, step, sign in _TOKEN.findall(score["signs"]):
        if kind == "@":
            performer.item = int(number)
        elif kind == "#":
            performer.logprobs = int(number)
        elif step:
            yield performer.step(step)
        elif sign == "!":
            change = next(kept)
        elif sign == "?":
            event = next(kept)
            performer.note(event)
            yield event
        elif kind or sign in _LENGTHS:
            yield performer.delta(int(number) if kind else _LENGTHS[sign])
        else:
            event = performer.perform(sign)
            if change is not None:
                told = "item" if sign == "+" else "response"
                event, change = {**event, told: changed(event[told], change)}, None
            yield event


def _plain(final: Json, dialect: Dialect) -> Json:
    """A score for a response that has none: each text is told at once."""
    signs = ["^~>" if final["background"] else "^>"]
    for item in final["output"]:
        signs.append("+")
        for slot, sign in (("summary", "{"), ("content", "[")):
            for part in item.get(slot) or ():
                text = part["refusal" if part["type"] == "refusal" else "text"]
                logprobs = len(part.get("logprobs") or ())
                notes = "&" * len(part.get("annotations") or ())
                signs.append(f"{sign}#{logprobs}#({len(text)}){notes}.]" if text else f"{sign}{notes}.]")
        told = [f":{step}:" for step in steps(item)]
        signs += told[:1]
        if item["type"] == "function_call" or has_arguments(item["type"]):
            signs.append(f"({len(item['arguments'])})=" if item["arguments"] else "=")
        signs += told[1:]
        signs.append(";")
    score: Json = {"dialect": dialect, "signs": "".join(signs)}
    if final["error"] is not None:
        error = final["error"]
        payload = {"type": "server_error", "code": error["code"], "message": error["message"], "param": None}
        score["signs"] += "?"
        score["kept"] = [events.error(payload)]
    return score
