"""The words for tools that the service runs by itself: MCP servers' and hosted ones, their receipts and their events.

A receipt is an item that says what was called, how it ended and what came of it; sent back as input it stands for the
call and its result. Receipts have the vendor's prefix, as the specification wants it of items that are not its own
("Extending"); clients of OpenAI's family get them under OpenAI's names, and either spelling is taken as input.
OpenAI's API reference: "MCP tool", "File search".
"""

from typing import Final

from responses_api.protocol.event_types import Dialect
from responses_api.protocol.plain import Json

MCP: Final = "mcp"
"""The type of a tool that stands for all tools of an MCP server."""

MCP_LIST_TOOLS: Final = "antiphon:mcp_list_tools"
MCP_CALL: Final = "antiphon:mcp_call"
MCP_APPROVAL_REQUEST: Final = "antiphon:mcp_approval_request"
MCP_APPROVAL_RESPONSE: Final = "antiphon:mcp_approval_response"
FILE_SEARCH: Final = "antiphon:file_search"
FILE_SEARCH_CALL: Final = "antiphon:file_search_call"

_VENDOR: Final = "antiphon:"
_KNOWN_TO_OPENAI: Final = frozenset(
    {MCP_LIST_TOOLS, MCP_CALL, MCP_APPROVAL_REQUEST, MCP_APPROVAL_RESPONSE, FILE_SEARCH_CALL}
)
_CANONICAL: Final = {name.removeprefix(_VENDOR): name for name in _KNOWN_TO_OPENAI}

RECEIPTS: Final = _KNOWN_TO_OPENAI - {MCP_APPROVAL_RESPONSE}
"""The receipts that the service makes by itself; a hosted tool's that somebody added has a type of its own."""

APPROVALS: Final = frozenset({MCP_APPROVAL_REQUEST, MCP_APPROVAL_RESPONSE})
"""Receipts that say nothing was called yet, or whether it may be."""


def canonical_type(item_type: str) -> str:
    """The item type in our own spelling; types that have no other come back as they are."""
    return _CANONICAL.get(item_type, item_type)


def is_known(item_type: str) -> bool:
    """Whether an item of this type, in either spelling, is about a tool that the service runs by itself."""
    return canonical_type(item_type) in _KNOWN_TO_OPENAI


def is_receipt(item_type: str) -> bool:
    """Whether items of this type, in either spelling, are receipts of the service's own tools."""
    return canonical_type(item_type) in RECEIPTS


def told_type(item_type: str, dialect: Dialect) -> str:
    """How a canonical item type is told in a dialect."""
    if dialect == "openai" and item_type in _KNOWN_TO_OPENAI:
        return item_type.removeprefix(_VENDOR)
    return item_type


def told_item(item: Json, dialect: Dialect) -> Json:
    """A canonical item as it is told in a dialect."""
    return {**item, "type": told_type(item["type"], dialect)}


def step_event(item_type: str, step: str, dialect: Dialect) -> str:
    """The type of the event that a receipt of this canonical type has come to a step (`in_progress`, `searching`,
    `completed`, `failed`): `antiphon:mcp_call.in_progress`, to OpenAI's clients `response.mcp_call.in_progress`.
    """
    told = told_type(item_type, dialect)
    return f"{told}.{step}" if ":" in told else f"response.{told}.{step}"


def arguments_event(item_type: str, step: str, dialect: Dialect) -> str:
    """The type of the event that tells a call's arguments (`delta`, `done`): `antiphon:mcp_call_arguments.delta`."""
    told = f"{told_type(item_type, dialect)}_arguments.{step}"
    return told if ":" in told else f"response.{told}"


ARGUMENTS_DELTAS: Final = frozenset(
    {arguments_event(MCP_CALL, "delta", "open"), arguments_event(MCP_CALL, "delta", "openai")}
)
"""The events that tell more of a server-run call's arguments, in either spelling."""

ARGUMENTS_DONES: Final = frozenset(
    {arguments_event(MCP_CALL, "done", "open"), arguments_event(MCP_CALL, "done", "openai")}
)
"""The events that tell the whole arguments of a server-run call, in either spelling."""


def step_of(event_type: str, told_type: str) -> str | None:
    """The step that an event tells of an item whose type is told as this; None where it tells none."""
    if ":" not in told_type and not is_receipt(told_type):
        return None
    step = event_type.removeprefix(step_event(told_type, "", "open"))
    return step if step != event_type and step and "." not in step else None
