"""Items of types that only their upstream knows: what came of the tools that a backend runs by itself.

They are told as it tells them, when they begin and when they are done, under ids of ours.
"""

from collections.abc import Callable, Hashable

from responses_api.protocol.ids import IdFactory, item_prefix
from responses_api.protocol.items import ITEM_STATE, OPENED_STATE
from responses_api.protocol.plain import Json
from workers.backends.parts import ForeignItem
from workers.rulings import Rulings

_FINAL = ("completed", "incomplete", "failed")
_OURS = (ITEM_STATE, OPENED_STATE)


class Foreign:
    """An item of a type that only its upstream knows, as it told it; but for the id, which is sealed with it."""

    __slots__ = ("done", "id", "index", "told", "type")

    def __init__(self, told: Json, id: str, index: int) -> None:
        self.type: str = told["type"]
        self.id = id
        self.index = index
        self.told = told
        self.done: Json | None = None

    @property
    def upstream_id(self) -> str:
        """What the upstream knows it by; "" where it told no id."""
        told = self.told.get("id")
        return told if isinstance(told, str) else ""

    def shape(self, status: str) -> Json:
        """The item as events and snapshots show it. It has a status where its type knows one: when it is done the
        upstream's own.
        """
        item: Json = {"type": self.type, "id": self.id}
        item.update({name: value for name, value in self.told.items() if name not in (*item, *_OURS)})
        if "status" in item:
            is_final = status == "completed" and item["status"] in _FINAL
            item["status"] = item["status"] if is_final else status
        return item


class ForeignItems:
    """Those of one answer, by their upstream's keys.

    `new_id` makes their ids, `open_item` announces one, `close` tells one that is done. `place` says which output index
    is next.
    """

    def __init__(
        self,
        rulings: Rulings,
        *,
        new_id: IdFactory,
        place: Callable[[], int],
        open_item: Callable[[Foreign], None],
        close: Callable[[Foreign, str], None],
    ) -> None:
        self._rulings = rulings
        self._new_id = new_id
        self._place = place
        self._open_item = open_item
        self._close = close
        self._items: dict[Hashable, Foreign] = {}

    def feed(self, part: ForeignItem) -> None:
        """An item as it stands now. Raises `ProtocolError` for one that may not be."""
        item = self._items.get(part.key)
        if item is None:
            self._rulings.tell_item(part.item)
            new_id = self._new_id(item_prefix(part.item["type"]))
            item = self._items[part.key] = Foreign(part.item, new_id, self._place())
            self._open_item(item)
        elif item.done is None and part.item["type"] == item.type:
            item.told = {**part.item, "id": part.item.get("id") or item.upstream_id}
        if part.is_done and item.done is None:
            self._close(item, "completed")

    def end_round(self) -> None:
        """An answer has ended: its upstream's keys say nothing of the next one's."""
        self._items.clear()
