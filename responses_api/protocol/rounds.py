"""The rounds of a response, as far as it was told: where the finished ones end, how many there were, what was said.

A round is what the model says, and the calls of it that the service runs. Pure: events or items in.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final

from responses_api.protocol import event_types as t
from responses_api.protocol.plain import Json
from responses_api.protocol.server_tools import APPROVALS, MCP_LIST_TOOLS, canonical_type, is_receipt

_NO_CALLS: Final = APPROVALS | {MCP_LIST_TOOLS}


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


def rounds_in(output: Sequence[Json], of_our_tools: Callable[[str], bool] = is_receipt) -> int:
    """How many rounds have run calls in these output items: neighbours are of one."""
    ran = [_tells_call(item, of_our_tools) for item in output]
    return sum(now and not before for before, now in pairwise([False, *ran]))


def said_by_model(output: Sequence[Json], of_our_tools: Callable[[str], bool] = is_receipt) -> list[Json]:
    """What the model said of these output items: of a receipt the call, not what came of it, and no lists."""
    return [
        {name: item[name] for name in ("name", "arguments") if name in item}
        if _tells_call(item, of_our_tools)
        else item
        for item in output
        if not of_our_tools(item["type"]) or _tells_call(item, of_our_tools)
    ]


def _tells_call(item: Json, of_our_tools: Callable[[str], bool]) -> bool:
    return of_our_tools(item["type"]) and canonical_type(item["type"]) not in _NO_CALLS
