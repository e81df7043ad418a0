"""Where the finished rounds of a response end, as far as it was told.

A round is what the model says, and the calls of it that the service runs. Pure: events in, a number out.
"""

from collections.abc import Callable, Sequence

from responses_api.protocol import event_types as t
from responses_api.protocol.plain import Json
from responses_api.protocol.server_tools import is_receipt


def last_round_end(told: Sequence[Json], of_our_tools: Callable[[str], bool] = is_receipt) -> int:
    """How many of the events were told up to the end of the last round whose calls were run, or were being run when
    nothing more was told; 0 where there was none. `of_our_tools` says whether items of a type are receipts.
    """
    open_receipts: dict[int, bool] = {}
    latest = settled = 0
    for count, event in enumerate(told, 1):
        index = event.get("output_index")
        if index is None:
            continue
        if event["type"] == t.OUTPUT_ITEM_ADDED:
            open_receipts[index] = of_our_tools(event["item"]["type"])
        is_ours = open_receipts.get(index, False)
        if event["type"] == t.OUTPUT_ITEM_DONE:
            open_receipts.pop(index, None)
        if is_ours and all(open_receipts.values()):
            latest = count
            settled = settled if open_receipts else count
    return latest if latest == len(told) else settled
