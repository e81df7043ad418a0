"""The items of one response, in their order: each announced once and closed once.

At most one message or reasoning item is open, while any number of calls and receipts may be.
"""

from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any

from responses_api.protocol import events, ids
from responses_api.protocol.errors import model_error
from responses_api.protocol.items import ITEM_STATE, SealedType
from responses_api.protocol.plain import Json
from responses_api.protocol.response import shown_item
from workers.foreign import Foreign
from workers.frames import Frames
from workers.items import Call, Compaction, Item, Spoken

# No model means as many; each new item looks at all that are open.
_MOST_ITEMS = 1024

Seal = Callable[[SealedType, Any], str]
"""Makes `encrypted_content` of plain JSON, for the type of item that will carry it."""
Endings = Mapping[type, Callable[[Any, str], None]]
"""What tells the rest of an item that is closed with a status, by the item's type."""


class Output:
    """`endings` are heard of before an item is done; without `seal` no state is kept. `include` are the request's
    wishes: which of it is shown.
    """

    def __init__(
        self, frames: Frames, new_id: ids.IdFactory, *, seal: Seal | None, include: Container[str]
    ) -> None:
        self.endings: Endings = {}
        self._frames = frames
        self._new_id = new_id
        self._seal = seal
        self._include = include
        self._items: list[Item] = []
        self._spoken: Spoken | None = None

    @property
    def items(self) -> list[Json]:
        """The items as far as they were told, with the state that is kept of them."""
        return [item.done or item.shape("in_progress") for item in self._items]

    @property
    def done(self) -> list[Json]:
        """Those that are closed."""
        return [item.done for item in self._items if item.done is not None]

    def place(self) -> int:
        """The index that the next item will have."""
        return len(self._items)

    def take_up(self, items: Iterable[Item]) -> None:
        """Items that another attempt told come first."""
        self._items = [*items]

    def check_room(self, more: int) -> None:
        """Check that so many items more may be told. Raises `ProtocolError`."""
        if len(self._items) + more > _MOST_ITEMS:
            raise model_error(f"The response has more than {_MOST_ITEMS} items.")

    def open(self, item: Item) -> None:
        """Announce an item; what cannot grow any more is closed before. Raises `ProtocolError` for one too many."""
        self.check_room(1)
        if self._spoken is not None:
            self.close(self._spoken, "completed")
        for call in self._items:
            if type(call) is Call and call.done is None and call.is_whole():
                self.close(call, "completed")
        self._items.append(item)
        self._frames.tell(events.output_item_added(item.index, item.shape("in_progress")))

    def open_spoken(self, item_type: str) -> Spoken:
        """A message or reasoning begins."""
        item = Spoken(item_type, self._new_id(ids.item_prefix(item_type)), self.place())
        self.open(item)
        self._spoken = item
        return item

    def open_call(self, call: Call) -> None:
        """A function call takes its place."""
        call.settle(self._new_id(ids.FUNCTION_CALL), self.place())
        self.open(call)

    def tell_compaction(self, summary: str) -> None:
        """A compaction item is announced and done at once: nothing of it grows."""
        if self._seal is None:
            raise RuntimeError("a compaction cannot be told without a seal")
        item = Compaction(self._new_id(ids.COMPACTION), self.place(), self._seal("compaction", summary))
        self.open(item)
        self.close(item, "completed")

    def close(self, item: Item, status: str) -> None:
        """An item is done."""
        ending = self.endings.get(type(item))
        if ending is not None:
            ending(item, status)
        if item is self._spoken:
            self._spoken = None
        item.done = {**item.shape(status), **self._sealed(item)}
        self._frames.tell(events.output_item_done(item.index, shown_item(item.done, self._include)))

    def close_open(self, state: Callable[[Item], str], *, but: type[Item] | None = None) -> None:
        """All that are open are done, each with its own state."""
        for item in self._items:
            if item.done is None and type(item) is not but:
                self.close(item, state(item))

    def _sealed(self, item: Item) -> Json:
        """What an item must keep to itself, for whoever gives it back."""
        if self._seal is None:
            return {}
        if isinstance(item, Foreign) and item.upstream_id:
            return {ITEM_STATE: self._seal("item", {"id": item.upstream_id})}
        if isinstance(item, Spoken) and item.states:
            return {"encrypted_content": self._seal("reasoning", item.states)}
        return {}
