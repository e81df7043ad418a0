"""The events of a stream, one after the other, from the response that they told.

What an event says follows from the final response and from where the stream is: which item, which part, how much of its
text. A score (`protocol.score`) says only what comes next, one sign an event:

    ^ ~ >     created, queued, in_progress
    + ;       the next item is added; the item is done
    [ {       a part is added to the item's content, to its summary
    . ] &     the text of the part is done; the part is done; its next annotation
    =         the arguments of the call are done
    a-z A-Z   a delta of 1 to 52 characters, (n) of any other number
    :word:    the receipt has come to this step
    @n@ #n#   from here on it is item n; each delta has n log probabilities
    ! ?       the next of what is kept: a change of the snapshot, or of the item, that follows; a whole event

Specification: "Streaming".
"""

from typing import Any, Final

from responses_api.protocol import event_types as t
from responses_api.protocol import events, receipts
from responses_api.protocol.closing import text_done
from responses_api.protocol.event_types import Dialect
from responses_api.protocol.items import ITEM_STATE
from responses_api.protocol.plain import Json
from responses_api.protocol.receipts import has_arguments
from responses_api.protocol.server_tools import is_receipt

_SLOTS: Final = {"[": "content", "{": "summary"}
_UNTOLD: Final = {"usage": None, "error": None, "incomplete_details": None, "completed_at": None}
"""What no snapshot shows before the end."""


class Part:
    """A part, or the arguments of a call, and how much of it was told."""

    __slots__ = ("annotations_at", "at", "logprobs_at", "place", "shape", "slot")

    def __init__(self, slot: str, place: int, shape: Json) -> None:
        self.slot = slot
        self.place = place
        self.shape = shape
        self.at = 0
        self.logprobs_at = 0
        self.annotations_at = 0

    @property
    def field(self) -> str:
        """The field that holds the text."""
        return "refusal" if self.shape["type"] == "refusal" else "text"

    @property
    def is_told(self) -> bool:
        """Whether all of it was told."""
        told = len(self.shape[self.field])
        return (
            self.at == told
            and self.logprobs_at == len(self.shape.get("logprobs") or ())
            and self.annotations_at == len(self.shape.get("annotations") or ())
        )

    def skip(self, length: int, logprobs: int) -> None:
        """Count so much as told."""
        self.at += length
        self.logprobs_at += logprobs

    def take(self, length: int, logprobs: int) -> tuple[str, list[Json]]:
        """The next so many characters, and log probabilities."""
        text = self.shape[self.field][self.at : self.at + length]
        told = (self.shape.get("logprobs") or [])[self.logprobs_at : self.logprobs_at + logprobs]
        self.skip(length, logprobs)
        return text, told


class Performer:
    """Makes the events of the stream that ended in `final`, sign by sign."""

    def __init__(self, final: Json, dialect: Dialect) -> None:
        self._final = final
        self._output: list[Json] = final["output"]
        self._dialect: Dialect = dialect
        self._opened = 0
        self._parts: dict[int, list[Part]] = {}
        self.item = -1
        """The output index of the item that comes next."""
        self.logprobs = 0
        """How many log probabilities each delta has."""

    def snapshot(self, status: str) -> Json:
        """The response as it was told before there was any output."""
        return {**self._final, **_UNTOLD, "status": status, "output": []}

    def perform(self, sign: str) -> Json:
        """The event of a sign. Raises LookupError where the response has none for it."""
        if sign == "^":
            return events.created(self.snapshot("queued" if self._final["background"] else "in_progress"))
        if sign == "~":
            return events.queued(self.snapshot("queued"))
        if sign == ">":
            return events.in_progress(self.snapshot("in_progress"))
        if sign == "+":
            return self._add_item()
        if sign in _SLOTS:
            return self._add_part(_SLOTS[sign])
        item = self._output[self.item]
        if sign == ";":
            return events.output_item_done(self.item, item)
        if sign == "=":
            return self._arguments_done(item)
        part = self.part
        if sign == "&":
            return self._annotate(part)
        if sign == ".":
            return text_done(item["id"], self.item, part.place, part.shape, self._dialect)
        if sign == "]":
            done = events.reasoning_summary_part_done if part.slot == "summary" else events.content_part_done
            return done(item["id"], self.item, part.place, part.shape)
        raise LookupError(f"no sign of a score: {sign!r}")

    def delta(self, length: int) -> Json:
        """The delta of the next so many characters."""
        part = self.part
        text, logprobs = part.take(length, self.logprobs)
        item_id = self._output[self.item]["id"]
        if part.slot == "arguments":
            return self._arguments_delta(text)
        if part.slot == "summary":
            return events.reasoning_summary_text_delta(item_id, self.item, part.place, text)
        if part.shape["type"] == "refusal":
            return events.refusal_delta(item_id, self.item, part.place, text)
        if part.shape["type"] == "output_text":
            return events.output_text_delta(item_id, self.item, part.place, text, logprobs)
        return events.reasoning_delta(item_id, self.item, part.place, text, self._dialect)

    def step(self, step: str) -> Json:
        """The event that the receipt has come to a step. Raises LookupError where there is no item."""
        item = self._output[self.item]
        return events.receipt_step(item["type"], step, item["id"], self.item, self._dialect)

    def type_of(self, item: int) -> str:
        """The type of the item at an output index. Raises LookupError where there is none."""
        kind: str = self._output[item]["type"]
        return kind

    def _arguments_delta(self, text: str) -> Json:
        item = self._output[self.item]
        if has_arguments(item["type"]):
            place = (item["type"], item["id"], self.item)
            return events.receipt_arguments_delta(*place, text, self._dialect)
        return events.function_call_arguments_delta(item["id"], self.item, text)

    def _arguments_done(self, item: Json) -> Json:
        if has_arguments(item["type"]):
            place = (item["type"], item["id"], self.item)
            return events.receipt_arguments_done(*place, item["arguments"], self._dialect)
        return events.function_call_arguments_done(item["id"], self.item, item["arguments"])

    def _annotate(self, part: Part) -> Json:
        place = part.annotations_at
        annotation = part.shape["annotations"][place]
        part.annotations_at += 1
        item_id = self._output[self.item]["id"]
        return events.output_text_annotation_added(item_id, self.item, part.place, place, annotation)

    def note(self, event: Json) -> None:
        """An event was told that is no sign's: what follows may be about what it opened."""
        if event["type"] == t.OUTPUT_ITEM_ADDED:
            self._open_item()
        elif event["type"] in (t.CONTENT_PART_ADDED, t.REASONING_SUMMARY_PART_ADDED):
            self.item = event["output_index"]
            self._open_part("summary" if "summary_index" in event else "content")

    @property
    def part(self) -> Part:
        """What grows in the item."""
        return self._parts[self.item][-1]

    @property
    def is_told(self) -> bool:
        """Whether all text of the response was told."""
        parts = [part for parts in self._parts.values() for part in parts]
        return self._opened == len(self._output) and all(part.is_told for part in parts)

    def _open_item(self) -> Json:
        self.item = self._opened
        item = self._output[self.item]
        self._opened += 1
        self._parts[self.item] = []
        if item["type"] == "function_call" or has_arguments(item["type"]):
            self._parts[self.item].append(Part("arguments", 0, {"type": "call", "text": item["arguments"]}))
        return item

    def _add_item(self) -> Json:
        item = self._open_item()
        return events.output_item_added(self.item, _begun(item))

    def _open_part(self, slot: str) -> Part:
        parts = self._parts[self.item]
        place = sum(part.slot == slot for part in parts)
        parts.append(Part(slot, place, self._output[self.item][slot][place]))
        return parts[-1]

    def _add_part(self, slot: str) -> Json:
        part = self._open_part(slot)
        blank = {**part.shape, part.field: ""}
        for name in ("logprobs", "annotations"):
            if blank.get(name):
                blank[name] = []
        added = events.reasoning_summary_part_added if slot == "summary" else events.content_part_added
        return added(self._output[self.item]["id"], self.item, part.place, blank)


def _begun(item: Json) -> Json:
    """An item as it is announced: with nothing in it."""
    begun: Json = {**receipts.begun(item)} if is_receipt(item["type"]) else {**item}
    if "status" in item:
        begun["status"] = "in_progress"
    if item["type"] == "message":
        begun["content"] = []
    elif item["type"] == "function_call":
        begun["arguments"] = ""
    elif item["type"] == "reasoning":
        begun["summary"] = []
        begun.pop("content", None)
        begun.pop("encrypted_content", None)
    begun.pop(ITEM_STATE, None)
    return begun


def changes(told: Json, made: Json) -> dict[str, Any]:
    """What makes `told` of `made`: the fields to set, and those to leave out."""
    return {
        "set": {name: value for name, value in told.items() if name not in made or made[name] != value},
        "drop": [name for name in made if name not in told],
    }


def changed(made: Json, change: Json) -> Json:
    """The inverse of `changes`."""
    kept = {name: value for name, value in made.items() if name not in change["drop"]}
    return {**kept, **change["set"]}
