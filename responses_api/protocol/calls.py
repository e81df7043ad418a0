"""The pairing of function calls and their outputs within a conversation.

Models refuse a conversation with a call left open or an answer to nothing; we say so first, and clearly.
Specification: "Function calling".
"""

from collections.abc import Sequence

from responses_api.protocol.errors import ProtocolError, invalid_request
from responses_api.protocol.plain import Json


def check_call_pairs(context: Sequence[Json], new_from: int) -> None:
    """Check that every output answers an open call before it, and that no call is left open.

    `context` holds canonical items, oldest first; those from `new_from` on are the request's own input, and
    the error's `param` counts from there. A `call_id` may be used again once it is answered.
    Raises ProtocolError 400 naming the `call_id`.
    """
    open_calls: dict[str, int] = {}
    for index, item in enumerate(context):
        kind = item["type"]
        if kind == "function_call":
            if item["call_id"] in open_calls:
                raise _unpaired("is used by two calls at once", item["call_id"], index - new_from)
            open_calls[item["call_id"]] = index
        elif kind == "function_call_output" and open_calls.pop(item["call_id"], None) is None:
            raise _unpaired("answers no function call before it", item["call_id"], index - new_from)
    for call_id, index in open_calls.items():
        raise _unpaired("has no function_call_output", call_id, index - new_from)


def _unpaired(fault: str, call_id: str, index: int) -> ProtocolError:
    param = f"input[{index}].call_id" if index >= 0 else "input"
    return invalid_request(f"The call_id '{call_id}' {fault}.", param=param, code="unpaired_call_id")
