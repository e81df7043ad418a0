"""The receipts of tools that the service runs: each announced, told step by step, and done, side by side with others.

In the order of OpenAI's own streams: the item, `in_progress`, the arguments as one delta and as a whole, the step that
it ends with, the item again.
"""

from collections.abc import Callable, Hashable

from responses_api.protocol import events
from responses_api.protocol.event_types import Dialect
from responses_api.protocol.ids import IdFactory, item_prefix
from responses_api.protocol.plain import Json
from responses_api.protocol.receipts import begun, broken_off, has_arguments, with_status
from responses_api.protocol.server_tools import told_item
from responses_api.protocol.wording import safe_json
from workers.backends.parts import Receipt
from workers.frames import Frames
from workers.rulings import Rulings

_BEGINNING = "in_progress"


class ReceiptItem:
    """A receipt, as it was told last: under the names of a dialect, without its id."""

    __slots__ = ("done", "has_told_arguments", "id", "index", "told", "type")

    def __init__(self, told: Json, id: str, index: int) -> None:
        self.type: str = told["type"]
        self.id = id
        self.index = index
        self.told = told
        self.has_told_arguments = not has_arguments(self.type)
        self.done: Json | None = None

    def shape(self, status: str) -> Json:
        """The item as events and snapshots show it. Its status is its own, but for one that is broken off."""
        item = {"type": self.type, "id": self.id, **self.told}
        return broken_off(item) if status == "incomplete" else item


class Receipts:
    """The receipts that are open.

    `new_id` makes their ids, `open_item` announces one, `close` tells one that is done. `place` says which output index
    is next.
    """

    def __init__(
        self,
        frames: Frames,
        dialect: Dialect,
        rulings: Rulings,
        *,
        new_id: IdFactory,
        place: Callable[[], int],
        open_item: Callable[[ReceiptItem], None],
        close: Callable[[ReceiptItem, str], None],
    ) -> None:
        self._frames = frames
        self._dialect: Dialect = dialect
        self._rulings = rulings
        self._new_id = new_id
        self._place = place
        self._open_item = open_item
        self._close = close
        self._open: dict[Hashable, ReceiptItem] = {}

    @property
    def are_done(self) -> bool:
        """Whether none is open."""
        return not self._open

    def feed(self, receipt: Receipt) -> None:
        """A receipt as it stands now. Raises `ProtocolError` for one item too many."""
        given = with_status(safe_json(receipt.item), is_done=receipt.is_done)
        told = told_item(given, self._dialect)
        item = self._open.get(receipt.key)
        if item is None:
            item = self._announce(receipt, told)
        elif receipt.called is not None:
            self._rulings.judged_again(receipt.called, item.id, receipt.verdicts)
        # In the order of the fields that it was announced with: what is told again is made of what was stored.
        item.told = {name: told[name] for name in item.told if name in told} | told
        self.go_on(item, receipt.step)
        if receipt.is_done:
            del self._open[receipt.key]
            self._close(item, "completed")

    def go_on(self, item: ReceiptItem, step: str | None) -> None:
        """Tell the step that a receipt has come to, and the arguments of a call that has begun."""
        if step != _BEGINNING:
            self.tell_arguments(item)
        if step is not None:
            self._frames.tell(events.receipt_step(item.type, step, item.id, item.index, self._dialect))
        if step == _BEGINNING:
            self.tell_arguments(item)

    def tell_arguments(self, item: ReceiptItem) -> None:
        """Tell the arguments of a call, once."""
        if item.has_told_arguments:
            return
        item.has_told_arguments = True
        arguments, place = item.told["arguments"], (item.type, item.id, item.index)
        if arguments:
            self._frames.tell(events.receipt_arguments_delta(*place, arguments, self._dialect))
        self._frames.tell(events.receipt_arguments_done(*place, arguments, self._dialect))

    def _announce(self, receipt: Receipt, told: Json) -> ReceiptItem:
        item = ReceiptItem(begun(told), self._new_id(item_prefix(told["type"])), self._place())
        self._open_item(item)
        self._open[receipt.key] = item
        if receipt.called is not None:
            self._rulings.tell_ran(receipt.called, item.id, receipt.verdicts)
        return item
