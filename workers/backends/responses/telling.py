"""What an answer says, told once: by deltas as they come, and of items that come whole what no delta told.

What was told stays told: where the whole text is another one than its deltas made, it is the deltas' that counts, for
the client has read it. A whole text that goes on where they stopped adds the rest.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from responses_api.protocol import event_types as t
from responses_api.protocol.backend import BackendSpec
from responses_api.protocol.passthrough import is_foreign
from responses_api.protocol.plain import Json
from workers.backends.logprobs import read_logprobs
from workers.backends.parts import (
    AnnotationReport,
    CallDelta,
    ForeignItem,
    Part,
    ReasoningDelta,
    RefusalDelta,
    SummaryDelta,
    TextDelta,
)
from workers.backends.responses import state
from workers.backends.responses.slots import Slot, Slots
from workers.backends.values import arguments_of, storable

_TEXT: Final = "output_text"
_REFUSAL: Final = "refusal"
_REASONING: Final = "reasoning_text"
_SUMMARY: Final = "summary_text"
_CALL: Final = "function_call"
_PARTS: Final[dict[str, Callable[[Any, str], Part]]] = {
    _TEXT: TextDelta,
    _REFUSAL: RefusalDelta,
    _REASONING: ReasoningDelta,
    _SUMMARY: SummaryDelta,
}
_PART_TYPES: Final = {"text": _REASONING, **{name: name for name in _PARTS}}
"""What kind of text a part of an item is, by its type."""

# Of an event: the item that it is about, what kind of text it adds, and the field that has it.
_DELTAS: Final = {
    t.OUTPUT_TEXT_DELTA: ("message", _TEXT),
    t.REFUSAL_DELTA: ("message", _REFUSAL),
    t.REASONING_DELTA: ("reasoning", _REASONING),
    t.REASONING_TEXT_DELTA: ("reasoning", _REASONING),
    t.REASONING_SUMMARY_TEXT_DELTA: ("reasoning", _SUMMARY),
}
_DONES: Final = {
    t.OUTPUT_TEXT_DONE: ("message", _TEXT, "text"),
    t.REFUSAL_DONE: ("message", _REFUSAL, "refusal"),
    t.REASONING_DONE: ("reasoning", _REASONING, "text"),
    t.REASONING_TEXT_DONE: ("reasoning", _REASONING, "text"),
    t.REASONING_SUMMARY_TEXT_DONE: ("reasoning", _SUMMARY, "text"),
}


class Teller:
    """Reads the events of one answer that are about its items."""

    def __init__(self, spec: BackendSpec) -> None:
        self._spec = spec
        self._encrypted = spec.has("encrypted_content")
        self._slots = Slots()
        self._latest: Slot | None = None
        self.has_called = False
        """Whether the model called a function."""

    def take(self, kind: str, event: Json) -> Iterator[Part]:
        """What an event adds; nothing where it is not known or makes no sense.

        Raises ValueError for a value that is nested too deeply, `ProtocolError` for arguments that are and for too many
        items.
        """
        if kind in _DELTAS:
            yield from self._delta(event, *_DELTAS[kind])
        elif kind in _DONES:
            of, what, field = _DONES[kind]
            slot = self._slots.of_event(event, of)
            yield from self._whole(slot, what, _place(event), event.get(field), event.get("logprobs"))
        elif kind in (t.FUNCTION_CALL_ARGUMENTS_DELTA, t.FUNCTION_CALL_ARGUMENTS_DONE):
            yield from self._arguments(kind, event)
        elif kind == t.OUTPUT_TEXT_ANNOTATION_ADDED:
            slot = self._slots.of_event(event, "message")
            yield from self._annotation(slot, _place(event), event.get("annotation"))
        elif kind in (t.OUTPUT_ITEM_ADDED, t.OUTPUT_ITEM_DONE) and _is_item(event.get("item")):
            yield from self._item(kind == t.OUTPUT_ITEM_DONE, event["item"], event)
        elif kind == t.CONTENT_PART_DONE and isinstance(event.get("part"), dict):
            yield from self._part_done(event)

    def rest(self, output: Any) -> Iterator[Part]:
        """What the items of the final response have that was not told. Raises as `take` does."""
        items = [item for item in output if _is_item(item)] if isinstance(output, list) else []
        for item, slot in zip(items, self._slots.of_output(items), strict=True):
            yield from self._item_done(slot, item)

    # ------------------------------------------------------------------ texts

    def _delta(self, event: Json, of: str, what: str) -> Iterator[Part]:
        text = event.get("delta")
        if isinstance(text, str) and text:
            slot = self._slots.of_event(event, of)
            yield from self._more(slot, what, _place(event), text, event.get("logprobs"))

    def _whole(self, slot: Slot, what: str, place: int, text: Any, logprobs: Any = None) -> Iterator[Part]:
        """A whole text, of which something may have been told."""
        told = slot.told(what, place)
        if isinstance(text, str) and text.startswith(told):
            yield from self._more(slot, what, place, text[len(told) :], None if told else logprobs)

    def _more(self, slot: Slot, what: str, place: int, text: str, logprobs: Any = None) -> Iterator[Part]:
        if not text:
            return
        slot.add(what, place, text)
        self._latest = slot
        key = (slot.number, what, place)
        if what == _TEXT and logprobs:
            yield TextDelta(key, text, read_logprobs(logprobs))
        else:
            yield _PARTS[what](key, text)

    def _annotation(self, slot: Slot, place: int, annotation: Any) -> Iterator[Part]:
        slot.annotations[place] = slot.annotations.get(place, 0) + 1
        if isinstance(annotation, dict):
            yield AnnotationReport((slot.number, _TEXT, place), annotation)

    def _annotations(self, slot: Slot, place: int, annotations: Any) -> Iterator[Part]:
        """All annotations of a text, of which some may have been told."""
        if isinstance(annotations, list):
            for annotation in annotations[slot.annotations.get(place, 0) :]:
                yield from self._annotation(slot, place, annotation)

    def _part_done(self, event: Json) -> Iterator[Part]:
        part = event["part"]
        of = "message" if part.get("type") in (_TEXT, _REFUSAL) else "reasoning"
        yield from self._told_part(self._slots.of_event(event, of), _place(event), part)

    def _told_part(self, slot: Slot, place: int, part: Json) -> Iterator[Part]:
        what = _PART_TYPES.get(str(part.get("type")))
        if what is None:
            return
        text = part.get("refusal" if what == _REFUSAL else "text")
        yield from self._whole(slot, what, place, text, part.get("logprobs"))
        if what == _TEXT:
            yield from self._annotations(slot, place, part.get("annotations"))

    # ------------------------------------------------------------------ calls

    def _arguments(self, kind: str, event: Json) -> Iterator[Part]:
        slot = self._slots.of_event(event, _CALL)
        if kind == t.FUNCTION_CALL_ARGUMENTS_DELTA:
            yield from self._call(slot, {}, arguments_of(event.get("delta")))
        else:
            yield from self._call(slot, event, self._untold_arguments(slot, event.get("arguments")))

    def _untold_arguments(self, slot: Slot, arguments: Any) -> str:
        told, whole = slot.told(_CALL), arguments_of(arguments)
        return whole[len(told) :] if whole.startswith(told) else ""

    def _call(self, slot: Slot, told: Json, arguments: str) -> Iterator[Part]:
        call_id, name = told.get("call_id"), told.get("name")
        self.has_called = True
        slot.add(_CALL, 0, arguments)
        self._latest = slot
        yield CallDelta(
            (slot.number, _CALL),
            call_id if isinstance(call_id, str) else None,
            name if isinstance(name, str) else None,
            arguments,
        )

    # ------------------------------------------------------------------ items

    def _item(self, is_done: bool, item: Json, event: Json) -> Iterator[Part]:
        if is_done:
            yield from self._item_done(self._slots.of_item(item, event), item)
            return
        slot = self._slots.added(item, event)
        if item["type"] == _CALL:
            yield from self._call(slot, item, self._untold_arguments(slot, item.get("arguments")))
        elif self._passes(item["type"]):
            yield self._foreign(slot, item)

    def _item_done(self, slot: Slot, item: Json) -> Iterator[Part]:
        if slot.is_done:
            return
        kind = item["type"]
        if kind in ("message", "reasoning"):
            for field in ("summary", "content"):
                yield from self._content(slot, item.get(field))
        if kind == "reasoning":
            yield from self._state(slot, item)
        elif kind == _CALL:
            yield from self._call(slot, item, self._untold_arguments(slot, item.get("arguments")))
        elif self._passes(kind):
            yield self._foreign(slot, item, is_done=True)
        slot.is_done = True

    def _content(self, slot: Slot, parts: Any) -> Iterator[Part]:
        for place, part in enumerate(parts if isinstance(parts, list) else ()):
            if isinstance(part, dict):
                yield from self._told_part(slot, place, part)

    def _state(self, slot: Slot, item: Json) -> Iterator[Part]:
        """What the backend wants back, unless something else was told since: it would be taken for another item's."""
        report = state.of_reasoning(item, encrypted=self._encrypted)
        if report is not None and (self._latest is slot or not slot.texts):
            self._latest = slot
            yield report

    def _foreign(self, slot: Slot, item: Json, *, is_done: bool = False) -> Part:
        self._latest = slot
        return ForeignItem((slot.number, "item"), storable(item), is_done)

    def _passes(self, kind: str) -> bool:
        """Whether items of a type that nobody here knows are told: where they can be sent back."""
        return is_foreign(kind) and self._spec.takes_item(kind)


def _is_item(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("type"), str)


def _place(event: Json) -> int:
    """The place of a part among those of its item."""
    value = event.get("summary_index" if "summary_index" in event else "content_index")
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
