"""What a broken-off stream left open, closed by the rules, so that it can be ended.

Specification: "Streaming": every item and every part that was added gets its done events.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from responses_api.protocol import event_types as t
from responses_api.protocol import events
from responses_api.protocol.event_types import Dialect
from responses_api.protocol.fold import fold
from responses_api.protocol.plain import Json
from responses_api.protocol.receipts import has_arguments
from responses_api.protocol.server_tools import ARGUMENTS_DONES

_Place = tuple[str, int]
"""The list of the item that holds a part, and the part's index in it."""

_PART_ADDED = frozenset({t.CONTENT_PART_ADDED, t.REASONING_SUMMARY_PART_ADDED})
_PART_DONE = frozenset({t.CONTENT_PART_DONE, t.REASONING_SUMMARY_PART_DONE})
_TEXT_DONE = frozenset(
    {
        t.OUTPUT_TEXT_DONE,
        t.REFUSAL_DONE,
        t.REASONING_DONE,
        t.REASONING_TEXT_DONE,
        t.REASONING_SUMMARY_TEXT_DONE,
    }
)


@dataclass(slots=True)
class _Open:
    """An item that was added and not done: its open parts, each with whether its text is done."""

    parts: dict[_Place, bool] = field(default_factory=dict)
    has_arguments: bool = False

    def take(self, event: Json) -> None:
        kind = event["type"]
        if kind in _PART_ADDED:
            self.parts[_place(event)] = False
        elif kind in _TEXT_DONE:
            self.parts[_place(event)] = True
        elif kind in _PART_DONE:
            self.parts.pop(_place(event), None)
        elif kind == t.FUNCTION_CALL_ARGUMENTS_DONE or kind in ARGUMENTS_DONES:
            self.has_arguments = True


def closing(told: Sequence[Json], dialect: Dialect) -> list[Json]:
    """The events, not numbered, that close what `told` left open, in the state that `fold` gives it."""
    so_far = fold(told)
    if so_far is None:
        return []
    return [
        event
        for index, left in sorted(_left_open(told).items())
        for event in _close(index, so_far["output"][index], left, dialect)
    ]


def _left_open(told: Sequence[Json]) -> dict[int, _Open]:
    left: dict[int, _Open] = {}
    for event in told:
        index = event.get("output_index")
        if index is None:
            continue
        if event["type"] == t.OUTPUT_ITEM_ADDED:
            left[index] = _Open()
        elif event["type"] == t.OUTPUT_ITEM_DONE:
            left.pop(index, None)
        elif index in left:
            left[index].take(event)
    return left


def _place(event: Json) -> _Place:
    if "summary_index" in event:
        return "summary", event["summary_index"]
    return "content", event["content_index"]


def _close(index: int, item: Json, left: _Open, dialect: Dialect) -> Iterator[Json]:
    for (slot, place), has_text in left.parts.items():
        part = item[slot][place]
        if not has_text:
            yield text_done(item["id"], index, place, part, dialect)
        if slot == "summary":
            yield events.reasoning_summary_part_done(item["id"], index, place, part)
        else:
            yield events.content_part_done(item["id"], index, place, part)
    if item["type"] == "function_call" and not left.has_arguments:
        yield events.function_call_arguments_done(item["id"], index, item["arguments"])
    if has_arguments(item["type"]) and not left.has_arguments:
        yield events.receipt_arguments_done(item["type"], item["id"], index, item["arguments"], dialect)
    yield events.output_item_done(index, item)


def text_done(item_id: str, index: int, place: int, part: Json, dialect: Dialect) -> Json:
    """The event that tells the whole text of a part."""
    kind = part["type"]
    if kind == "output_text":
        return events.output_text_done(item_id, index, place, part["text"], part.get("logprobs") or ())
    if kind == "refusal":
        return events.refusal_done(item_id, index, place, part["refusal"])
    if kind == "summary_text":
        return events.reasoning_summary_text_done(item_id, index, place, part["text"])
    return events.reasoning_done(item_id, index, place, part["text"], dialect)
