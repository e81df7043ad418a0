"""How the receipts of tools that the service runs are announced, and what they say when they were not finished. Pure.

What grows while a tool runs is left out of the announcement, so that it follows from the finished item: a stream can be
told again from the items alone. Types are taken in either spelling (`protocol.server_tools`).
"""

from typing import Any, Final

from responses_api.protocol.plain import Json
from responses_api.protocol.server_tools import (
    FILE_SEARCH_CALL,
    MCP_CALL,
    MCP_LIST_TOOLS,
    canonical_type,
)

REFUSED_BY: Final = "antiphon:refused_by"
"""The field of a call's receipt that holds the verdict which refused it."""

NOT_LISTED: Final = "The tools were not listed: the response ended before the server had answered."
"""What an unfinished list of tools says."""

INTERRUPTED: Final = "The call was interrupted; it is not known whether it took effect."
"""What a call says that another worker had begun."""

_UNTOLD: Final[dict[str, dict[str, Any]]] = {
    MCP_CALL: {"arguments": "", "output": None, "error": None},
    MCP_LIST_TOOLS: {"tools": [], "error": None},
    FILE_SEARCH_CALL: {"results": [], "error": None},
}
STEPS: Final = {
    MCP_CALL: ("in_progress", "completed", "failed"),
    MCP_LIST_TOOLS: ("in_progress", "completed", "failed"),
    FILE_SEARCH_CALL: ("in_progress", "searching", "completed", "failed"),
}
"""The steps of each receipt that tells any, in order; it comes to one of the last two."""


def mcp_call(
    label: str,
    name: str,
    arguments: str,
    status: str,
    *,
    output: str | None = None,
    error: str | None = None,
    approval_request_id: str | None = None,
) -> Json:
    """The receipt of a call of an MCP server's tool, without its id."""
    return {
        "type": MCP_CALL,
        "server_label": label,
        "name": name,
        "arguments": arguments,
        "output": output,
        "error": error,
        "approval_request_id": approval_request_id,
        "status": status,
    }


def has_arguments(item_type: str) -> bool:
    """Whether events of their own tell the arguments of such a receipt."""
    return canonical_type(item_type) == MCP_CALL


def begun(item: Json) -> Json:
    """A receipt as it is announced: with nothing of what comes of it. Of a type that is nobody's here, as it is."""
    told = {name: value for name, value in item.items() if name != REFUSED_BY}
    untold = _UNTOLD.get(canonical_type(item["type"]), {})
    told |= {name: value for name, value in untold.items() if name in item}
    return {**told, "status": "in_progress"} if "status" in told else told


def with_status(item: Json, *, is_done: bool) -> Json:
    """A receipt with its status. Those that have none at OpenAI have one, too: the specification wants it of every type
    that is not its own ("Extending Items").
    """
    if "status" in item:
        return item
    end = "completed" if item.get("error") is None else "failed"
    return {**item, "status": end if is_done else "in_progress"}


def broken_off(item: Json) -> Json:
    """An item that will not be finished: `incomplete`, where its type has a status. A list of tools has an error, too:
    OpenAI's clients know no status of it.
    """
    broken = {**item, "status": "incomplete"} if "status" in item else item
    if canonical_type(item["type"]) == MCP_LIST_TOOLS and item.get("error") is None:
        return {**broken, "error": NOT_LISTED}
    return broken


def interrupted(item: Json) -> Json:
    """A receipt that was broken off, in a response that goes on: it failed."""
    return {
        **item,
        "status": "failed",
        **({"error": item["error"] or INTERRUPTED} if "error" in item else {}),
    }


def steps(item: Json) -> list[str]:
    """The steps that an ended receipt of the service's own has come to, in order."""
    known = STEPS.get(canonical_type(item["type"]), ())
    end = with_status(item, is_done=True)["status"]
    return [step for step in known if step == end or step not in ("completed", "failed")]
