"""What another attempt told of a response, up to the end of its last finished round: taken up as it is.

Behind its end (`protocol.rounds`) the conversation goes on: nothing is asked again, and no tool is run a second time. A
call that the other attempt left in the middle ends as failed: nobody knows whether it took effect.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from responses_api.protocol import event_types as t
from responses_api.protocol.fold import fold
from responses_api.protocol.plain import Json
from responses_api.protocol.receipts import interrupted
from responses_api.protocol.server_tools import ARGUMENTS_DONES
from workers.receipts import ReceiptItem


class TakenUp:
    """An item that another attempt finished."""

    __slots__ = ("done", "id", "index", "type")

    def __init__(self, done: Json, index: int) -> None:
        self.type: str = done["type"]
        self.id: str = done["id"]
        self.index = index
        self.done: Json = done

    def shape(self, status: str) -> Json:
        """The item as events and snapshots show it."""
        return self.done


@dataclass(slots=True)
class Taken:
    """What was told: the items in order, of them the receipts that are still open, and what was truncated."""

    items: list[TakenUp | ReceiptItem] = field(default_factory=list)
    open: list[ReceiptItem] = field(default_factory=list)
    truncation: Json | None = None


def taken_up(told: Sequence[Json]) -> Taken:
    """What these events, as many as `last_round_end` says, tell."""
    response = fold(told) or {"output": []}
    done = {event["output_index"] for event in told if event["type"] == t.OUTPUT_ITEM_DONE}
    with_arguments = {event["output_index"] for event in told if event["type"] in ARGUMENTS_DONES}
    taken = Taken(truncation=response.get(t.TRUNCATION))
    for index, item in enumerate(response["output"]):
        if index in done:
            taken.items.append(TakenUp(item, index))
            continue
        left = {name: value for name, value in interrupted(item).items() if name != "id"}
        receipt = ReceiptItem(left, item["id"], index)
        receipt.has_told_arguments |= index in with_arguments
        taken.items.append(receipt)
        taken.open.append(receipt)
    return taken
