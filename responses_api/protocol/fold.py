"""A stream folded back into the response it tells, whole or cut anywhere.

For a whole stream that is its terminal snapshot. For a prefix it is the last snapshot with every item and
part as far as it got: what can honestly be kept when the rest is lost.
"""

from collections.abc import Callable, Iterable
from typing import Any

from responses_api.protocol import event_types as t
from responses_api.protocol.plain import Json
from responses_api.protocol.receipts import broken_off
from responses_api.protocol.server_tools import ARGUMENTS_DELTAS, ARGUMENTS_DONES


def fold(events: Iterable[Json]) -> Json | None:
    """The response that these events tell; None when they never named one.

    Items without their `done` become `incomplete`; an `error` event makes the response failed. The events are
    left untouched.
    """
    folding = Folding()
    for event in events:
        folding.take(event)
    return folding.result()


class ItemSoFar:
    """One output item while its events arrive."""

    def __init__(self, item: Json) -> None:
        self.start = item
        self.final: Json | None = None
        self.arguments: list[str] = []
        self.content: dict[int, PartSoFar] = {}
        self.summary: dict[int, PartSoFar] = {}

    def told(self) -> Json:
        """The item as far as it was told, `incomplete` unless it was finished."""
        if self.final is not None:
            return self.final
        item = dict(broken_off(self.start))
        if self.arguments:
            item["arguments"] = "".join(self.arguments)
        for field, parts in (("content", self.content), ("summary", self.summary)):
            if parts:
                item[field] = [parts[index].told() for index in sorted(parts)]
        return item


class PartSoFar:
    """One content or summary part while its events arrive."""

    def __init__(self, part: Json) -> None:
        self.start = part
        self.final: Json | None = None
        self.deltas: list[str] = []
        self.annotations: list[Json] = []
        self.logprobs: list[Json] = []

    def told(self) -> Json:
        """The part as far as it was told."""
        if self.final is not None:
            return self.final
        part = dict(self.start)
        field = "refusal" if part["type"] == "refusal" else "text"
        part[field] = part.get(field, "") + "".join(self.deltas)
        for name, told in (("annotations", self.annotations), ("logprobs", self.logprobs)):
            if told:
                part[name] = [*part.get(name, ()), *told]
        return part


class Folding:
    """The state of a stream: take its events in order, then ask."""

    def __init__(self) -> None:
        self._response: Json | None = None
        self._ended = False
        self._error: Json | None = None
        self._items: dict[int, ItemSoFar] = {}

    def take(self, event: Json) -> None:
        """Take in the next event."""
        kind = event["type"]
        handler = _HANDLERS.get(kind)
        if handler is not None:
            handler(self, event)
        elif kind in t.SNAPSHOT_TYPES:
            self._response = event["response"]
            self._ended = kind in t.TERMINAL_TYPES

    def result(self) -> Json | None:
        """The response as far as it was told."""
        if self._response is None or self._ended:
            return self._response
        response = dict(self._response)
        if self._items:
            response["output"] = [self._items[index].told() for index in sorted(self._items)]
        if self._error is not None:
            response["status"] = "failed"
            response["error"] = self._error
        return response

    def item_added(self, event: Json) -> None:
        self._items[event["output_index"]] = ItemSoFar(event["item"])

    def item_done(self, event: Json) -> None:
        item = self._items.setdefault(event["output_index"], ItemSoFar(event["item"]))
        item.final = event["item"]

    def part_added(self, event: Json) -> None:
        parts, index = self._parts(event)
        parts[index] = PartSoFar(event["part"])

    def part_done(self, event: Json) -> None:
        parts, index = self._parts(event)
        parts.setdefault(index, PartSoFar(event["part"])).final = event["part"]

    def delta(self, event: Json) -> None:
        parts, index = self._parts(event)
        part = parts.get(index)
        if part is not None:
            part.deltas.append(event["delta"])
            part.logprobs.extend(event.get("logprobs") or ())

    def annotation(self, event: Json) -> None:
        parts, index = self._parts(event)
        if index in parts:
            parts[index].annotations.append(event["annotation"])

    def arguments_delta(self, event: Json) -> None:
        item = self._items.get(event["output_index"])
        if item is not None:
            item.arguments.append(event["delta"])

    def arguments_done(self, event: Json) -> None:
        item = self._items.get(event["output_index"])
        if item is not None:
            item.arguments = [event["arguments"]]

    def failed(self, event: Json) -> None:
        payload = event["error"]
        self._error = {"code": payload["code"] or payload["type"], "message": payload["message"]}

    def truncated(self, event: Json) -> None:
        told = {name: value for name, value in event.items() if name not in ("type", "sequence_number")}
        self._response = {**(self._response or {}), t.TRUNCATION: told}

    def _parts(self, event: Json) -> tuple[dict[int, PartSoFar], int]:
        """The parts that an event is about, and which of them; of an unknown item, nobody's parts."""
        item = self._items.get(event["output_index"])
        if "summary_index" in event:
            return ({} if item is None else item.summary), event["summary_index"]
        return ({} if item is None else item.content), event["content_index"]


_HANDLERS: dict[str, Callable[[Folding, Any], None]] = {
    t.OUTPUT_ITEM_ADDED: Folding.item_added,
    t.OUTPUT_ITEM_DONE: Folding.item_done,
    t.CONTENT_PART_ADDED: Folding.part_added,
    t.CONTENT_PART_DONE: Folding.part_done,
    t.OUTPUT_TEXT_DELTA: Folding.delta,
    t.REFUSAL_DELTA: Folding.delta,
    t.REASONING_DELTA: Folding.delta,
    t.REASONING_TEXT_DELTA: Folding.delta,
    t.OUTPUT_TEXT_ANNOTATION_ADDED: Folding.annotation,
    t.REASONING_SUMMARY_PART_ADDED: Folding.part_added,
    t.REASONING_SUMMARY_PART_DONE: Folding.part_done,
    t.REASONING_SUMMARY_TEXT_DELTA: Folding.delta,
    **dict.fromkeys((t.FUNCTION_CALL_ARGUMENTS_DELTA, *ARGUMENTS_DELTAS), Folding.arguments_delta),
    **dict.fromkeys((t.FUNCTION_CALL_ARGUMENTS_DONE, *ARGUMENTS_DONES), Folding.arguments_done),
    t.ERROR: Folding.failed,
    t.TRUNCATION: Folding.truncated,
}
