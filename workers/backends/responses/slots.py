"""Which item of an answer an event is about, where servers number, name or merely order their items.

An id that was heard before decides; else the output index; else it is the latest item of the type that the event speaks
of. Ids may change from event to event, indexes may all be missing, or all be 0.
"""

from dataclasses import dataclass, field
from typing import Any, Final

from responses_api.protocol.errors import model_error
from responses_api.protocol.plain import Json
from workers.backends.values import text_of

# No model means as many, those that are not told included; each is looked for among all that are known.
_MOST_ITEMS: Final = 1024


@dataclass(slots=True, eq=False)
class Slot:
    """An item of the answer, and how much of it was told. `texts` are those of its parts and of its arguments, in
    pieces, by what they are and their place; `annotations` counts those of each.
    """

    number: int
    type: str
    texts: dict[tuple[str, int], list[str]] = field(default_factory=dict)
    annotations: dict[int, int] = field(default_factory=dict)
    is_done: bool = False

    def told(self, what: str, place: int = 0) -> str:
        """What was told so far of a text."""
        return "".join(self.texts.get((what, place), ()))

    def add(self, what: str, place: int, text: str) -> None:
        """More of a text is told."""
        self.texts.setdefault((what, place), []).append(text)


class Slots:
    """The items of one answer, in the order in which they were heard of. Raises `ProtocolError` for too many."""

    def __init__(self) -> None:
        self.all: list[Slot] = []
        self._by_id: dict[str, Slot] = {}
        self._by_index: dict[int, Slot] = {}

    def added(self, item: Json, event: Json) -> Slot:
        """The slot of an item that is announced: a new one, unless it was announced before."""
        known = self._by_id.get(text_of(item.get("id")))
        if known is None:
            known = self._by_index.get(_index(event))
            # Some servers number every item 0.
            if known is not None and (known.is_done or known.type != item["type"] or text_of(item.get("id"))):
                known = None
        return self._noted(known or self._new(item["type"]), item.get("id"), event)

    def of_item(self, item: Json, event: Json) -> Slot:
        """The slot of an item that is told whole; a new one where nothing was heard of it."""
        known = self._known(item.get("id"), event, item["type"])
        if known is None and _index(event) < 0:
            known = next(iter(self._open(item["type"])), None)
        return self._noted(known or self._new(item["type"]), item.get("id"), event)

    def of_event(self, event: Json, kind: str) -> Slot:
        """The slot of an item of the type `kind` that an event adds to."""
        known = self._known(event.get("item_id"), event, kind)
        if known is None and _index(event) < 0:
            known = next(reversed(self._open(kind)), None)
        return self._noted(known or self._new(kind), event.get("item_id"), event)

    def of_output(self, output: list[Json]) -> list[Slot]:
        """The slots of the final response's items, each by its id, else by its place, else by its order."""
        found = [self._known(item.get("id"), {}, item["type"]) for item in output]
        left = [slot for slot in self.all if slot not in found]
        for place, item in enumerate(output):
            if found[place] is None:
                same = [slot for slot in left if slot.type == item["type"]]
                at_place = self._by_index.get(place)
                slot = at_place if at_place in same else next(iter(same), None)
                found[place] = slot or self._new(item["type"])
                left = [other for other in left if other is not slot]
        return [slot for slot in found if slot is not None]

    def _known(self, id: Any, event: Json, kind: str) -> Slot | None:
        for slot in (self._by_id.get(text_of(id)), self._by_index.get(_index(event))):
            if slot is not None and slot.type == kind:
                return slot
        return None

    def _open(self, kind: str) -> list[Slot]:
        """The items of a type that are not done. What has an unknown index is another one; an id may have changed."""
        return [slot for slot in self.all if slot.type == kind and not slot.is_done]

    def _noted(self, slot: Slot, id: Any, event: Json) -> Slot:
        if text_of(id):
            self._by_id[text_of(id)] = slot
        if _index(event) >= 0:
            self._by_index[_index(event)] = slot
        return slot

    def _new(self, kind: str) -> Slot:
        if len(self.all) == _MOST_ITEMS:
            raise model_error(f"The backend's answer has more than {_MOST_ITEMS} items.")
        slot = Slot(len(self.all), kind)
        self.all.append(slot)
        return slot


def _index(event: Json) -> int:
    value = event.get("output_index")
    return value if isinstance(value, int) and not isinstance(value, bool) else -1
