"""What is open while a response is told: items, their parts, and how each kind is announced, grown and
closed.

The table of part kinds is the only place that knows which event belongs to what; the emitter follows it.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cache, partial

import orjson

from responses_api.protocol import events
from responses_api.protocol.event_types import Dialect
from responses_api.protocol.plain import Json
from responses_api.protocol.sse import encode
from workers.backends.parts import ReasoningDelta, RefusalDelta, SummaryDelta, TextDelta
from workers.backends.text import GrowingText
from workers.foreign import Foreign
from workers.receipts import ReceiptItem
from workers.resuming import TakenUp

Place = tuple[str, int, int]
"""Item id, output index, index of the part in its list."""


@dataclass(frozen=True, slots=True)
class PartKind:
    """One row: the item it lives in, the list and the field that hold it, and its four events."""

    item_type: str
    slot: str
    field: str
    blank: Json
    added: Callable[..., Json]
    delta: Callable[..., Json]
    done: Callable[..., Json]
    closed: Callable[..., Json]


@cache
def part_kinds(dialect: Dialect) -> dict[type, PartKind]:
    """The row for each kind of delta, under the names of a dialect."""
    content = {"added": events.content_part_added, "closed": events.content_part_done}
    return {
        TextDelta: PartKind(
            item_type="message",
            slot="content",
            field="text",
            blank={"type": "output_text", "text": "", "annotations": [], "logprobs": []},
            delta=events.output_text_delta,
            done=events.output_text_done,
            **content,
        ),
        RefusalDelta: PartKind(
            item_type="message",
            slot="content",
            field="refusal",
            blank={"type": "refusal", "refusal": ""},
            delta=events.refusal_delta,
            done=events.refusal_done,
            **content,
        ),
        ReasoningDelta: PartKind(
            item_type="reasoning",
            slot="content",
            field="text",
            blank={"type": "reasoning_text", "text": ""},
            delta=partial(events.reasoning_delta, dialect=dialect),
            done=partial(events.reasoning_done, dialect=dialect),
            **content,
        ),
        SummaryDelta: PartKind(
            item_type="reasoning",
            slot="summary",
            field="text",
            blank={"type": "summary_text", "text": ""},
            added=events.reasoning_summary_part_added,
            delta=events.reasoning_summary_text_delta,
            done=events.reasoning_summary_text_done,
            closed=events.reasoning_summary_part_done,
        ),
    }


class SpokenPart:
    """A part that grows. Its delta event is laid out once, because it is made once a token."""

    __slots__ = (
        "_head",
        "_tail",
        "_told",
        "annotations",
        "delta_type",
        "index",
        "key",
        "kind",
        "logprobs",
        "place",
        "text",
    )

    def __init__(self, kind: PartKind, key: Hashable, place: Place) -> None:
        self.kind = kind
        self.key = key
        self.place = place
        self.index = place[1]
        self.text = GrowingText()
        self.logprobs: list[Json] = []
        self.annotations: list[Json] = []
        self._told = 0
        event = kind.delta(*place, "")
        self.delta_type: str = event["type"]
        head, self._tail = encode(event).split(b'"delta":""')
        self._head = head + b'"delta":'

    def delta(self, text: bytes, logprobs: Sequence[Json] = ()) -> bytes:
        """The delta event as JSON; `text` is a JSON string already."""
        tail = b',"logprobs":%b}' % encode(logprobs) if logprobs else self._tail
        return self._head + text + tail

    def untold_logprobs(self) -> Sequence[Json]:
        """Those that the next delta tells: with its own, those of text that was held back before it."""
        if not self.logprobs:
            return ()
        told, self._told = self._told, len(self.logprobs)
        return self.logprobs[told:]

    def shape(self) -> Json:
        """The part as items and events show it."""
        shape = {**self.kind.blank, self.kind.field: str(self.text), **self.extra()}
        return {**shape, "annotations": list(self.annotations)} if self.annotations else shape

    def extra(self) -> Json:
        """What the part carries besides its text."""
        return {"logprobs": list(self.logprobs)} if self.logprobs else {}


class Spoken:
    """A message or a reasoning item: a run of parts, of which the last may be open."""

    __slots__ = ("done", "id", "index", "led_to_refusal", "parts", "states", "type")

    def __init__(self, type: str, id: str, index: int) -> None:
        self.type = type
        self.id = id
        self.index = index
        self.parts: list[SpokenPart] = []
        self.states: list[Json] = []
        self.led_to_refusal = False
        self.done: Json | None = None

    def add_part(self, kind: PartKind, key: Hashable) -> SpokenPart:
        """A new part at the end of the list that its kind belongs to."""
        index = sum(part.kind.slot == kind.slot for part in self.parts)
        part = SpokenPart(kind, key, (self.id, self.index, index))
        self.parts.append(part)
        return part

    def shape(self, status: str) -> Json:
        """The item as events and snapshots show it."""
        item: Json = {"type": self.type, "id": self.id, "status": status}
        if self.type == "message":
            return {**item, "role": "assistant", "content": self._slot("content")}
        item["summary"] = self._slot("summary")
        content = self._slot("content")
        # Optional in the schema but not nullable: absent until there is some.
        return {**item, "content": content} if content else item

    def _slot(self, slot: str) -> list[Json]:
        return [part.shape() for part in self.parts if part.kind.slot == slot]


class Call:
    """A function call. It has no item id until its call id and its name are known and it was announced."""

    __slots__ = ("arguments", "call_id", "delta_head", "done", "held", "id", "index", "name")

    type = "function_call"

    def __init__(self) -> None:
        self.id = ""
        self.index = -1
        self.call_id = ""
        self.name = ""
        self.held: list[str] = []
        self.arguments = GrowingText()
        self.delta_head = b""
        self.done: Json | None = None

    def settle(self, id: str, index: int) -> None:
        """Take a place in the output; id and name are fixed from here on."""
        self.id = id
        self.index = index
        event = encode(events.function_call_arguments_delta(id, index, ""))
        self.delta_head = event.removesuffix(b'""}')

    def has_said(self, arguments: str) -> bool:
        """Whether these are the whole arguments once more (some servers repeat a call when they end it)."""
        if self.done is not None and not arguments.strip():
            return True
        return arguments[0] == "{" and str(self.arguments) == arguments and is_whole_object(arguments)

    def is_whole(self) -> bool:
        """Whether the arguments are one JSON object: nothing is missing."""
        return not self.arguments.is_torn and is_whole_object(str(self.arguments))

    def shape(self, status: str) -> Json:
        """The item as events and snapshots show it."""
        return {
            "type": self.type,
            "id": self.id,
            "call_id": self.call_id,
            "name": self.name,
            "arguments": str(self.arguments),
            "status": status,
        }


class Compaction:
    """A compaction item: whole as soon as it is there."""

    __slots__ = ("done", "id", "index", "sealed")

    type = "compaction"

    def __init__(self, id: str, index: int, sealed: str) -> None:
        self.id = id
        self.index = index
        self.sealed = sealed
        self.done: Json | None = None

    def shape(self, status: str) -> Json:
        """The item as events and snapshots show it. Its schema knows no status."""
        return {"type": self.type, "id": self.id, "encrypted_content": self.sealed}


Item = Spoken | Call | Compaction | Foreign | ReceiptItem | TakenUp


def state_at_the_end(item: Item) -> str:
    """An answer that came to its own end is complete. Models do write arguments that are no JSON: those are told as
    they are, for the caller to answer.
    """
    return "completed"


def state_at_a_cut(item: Item) -> str:
    """Clients run completed calls, so one that was cut must not be among them; one that is whole was not cut. Calls
    grow side by side: several may be cut, with whole ones after them.
    """
    return "completed" if isinstance(item, Call) and item.is_whole() else "incomplete"


def state_when_broken_off(item: Item) -> str:
    """Nobody can tell what would have followed."""
    return "incomplete"


def is_whole_object(text: str) -> bool:
    """Whether the text is one JSON object from end to end, so that nothing but space can follow."""
    if not text.startswith("{") or not text.endswith("}"):
        return False
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True
