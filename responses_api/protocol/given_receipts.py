"""Receipts of MCP servers' tools as clients send them back, and their canonical form.

Either spelling of a type is taken, and kept: items are listed as they were sent. An item gets an id of its own where it
is stored; the one that its client knows it by stays beside it (`SENT_ID`), for approvals name that, and what models are
told is made of it (`replay`). Receipts of hosted tools are of as many kinds as there are tools: those that declare the
tools check them (`hosted`).
OpenAI's API reference: "MCP tool call", "MCP list tools", "MCP approval request", "MCP approval response".
"""

from typing import Annotated, Any, Final, Literal, NotRequired

from pydantic import AfterValidator, ConfigDict, Field, Tag, with_config
from typing_extensions import TypedDict

from responses_api.protocol.mcp import LONGEST_NAME
from responses_api.protocol.plain import Json
from responses_api.protocol.receipts import REFUSED_BY
from responses_api.protocol.server_tools import (
    MCP_APPROVAL_REQUEST,
    MCP_APPROVAL_RESPONSE,
    MCP_CALL,
    MCP_LIST_TOOLS,
)
from responses_api.protocol.sse import encode
from responses_api.protocol.validation import TAG

SENT_ID: Final = "antiphon:sent_id"
"""The field of a stored receipt that has the id which its client sent."""

MCP_RECEIPTS: Final = (MCP_CALL, MCP_LIST_TOOLS, MCP_APPROVAL_REQUEST, MCP_APPROVAL_RESPONSE)
SPELLINGS: Final = {
    spelling: kind for kind in MCP_RECEIPTS for spelling in (kind, kind.removeprefix("antiphon:"))
}
"""Every type that is a receipt of an MCP server's tools, in either spelling, with the canonical one."""

NAMED: Final = frozenset(name for name, kind in SPELLINGS.items() if kind != MCP_APPROVAL_RESPONSE)
"""Those of them that something else may name by their ids."""

_Id = Annotated[str, Field(min_length=1, max_length=128)]
_Label = Annotated[str, Field(min_length=1, max_length=64)]
_ToolName = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
_Fault = str | dict[str, Any]
"""OpenAI's API tells errors as text, and as objects."""

_STATUSES: Final = {"calling": "in_progress"}
"""OpenAI's words for what has another here."""

_ALIASED: Final = ConfigDict(use_attribute_docstrings=True)


def receipt_type(item: Json) -> str | None:
    """The canonical type of an item that is a receipt of an MCP server's tools, or about its approval; else None."""
    return SPELLINGS.get(item["type"])


def known_id(item: Json) -> str:
    """The id that the client of a stored receipt knows it by."""
    return str(item.get(SENT_ID) or item["id"])


class RefusedBy(TypedDict):
    """The verdict of the tool policy, or of the request, that kept a call from being run."""

    effect: Literal["deny"]
    policy: Literal["tenant", "key", "request"]
    version: int | None
    rule: str
    why: str


@with_config(_ALIASED)
class McpCall(TypedDict):
    """A call of an MCP server's tool that the service has run, or was not allowed to."""

    type: Literal["antiphon:mcp_call", "mcp_call"]
    id: NotRequired[_Id | None]
    server_label: _Label
    name: _ToolName
    arguments: str
    output: NotRequired[str | None]
    error: NotRequired[_Fault | None]
    status: NotRequired[Literal["in_progress", "calling", "completed", "incomplete", "failed"] | None]
    approval_request_id: NotRequired[_Id | None]
    refused_by: NotRequired[Annotated[RefusedBy | None, Field(alias=REFUSED_BY)]]
    sent_id: NotRequired[Annotated[_Id | None, Field(alias=SENT_ID)]]


class ListedTool(TypedDict):
    """A tool as its server lists it."""

    name: _ToolName
    description: NotRequired[str | None]
    input_schema: NotRequired[Any]
    annotations: NotRequired[Any]


@with_config(_ALIASED)
class McpListTools(TypedDict):
    """The tools that an MCP server offered."""

    type: Literal["antiphon:mcp_list_tools", "mcp_list_tools"]
    id: NotRequired[_Id | None]
    server_label: _Label
    tools: Annotated[list[ListedTool], Field(max_length=4096)]
    error: NotRequired[_Fault | None]
    sent_id: NotRequired[Annotated[_Id | None, Field(alias=SENT_ID)]]


@with_config(_ALIASED)
class McpApprovalRequest(TypedDict):
    """A call that waits to be approved."""

    type: Literal["antiphon:mcp_approval_request", "mcp_approval_request"]
    id: _Id
    server_label: _Label
    name: _ToolName
    arguments: str
    sent_id: NotRequired[Annotated[_Id | None, Field(alias=SENT_ID)]]


class McpApprovalResponse(TypedDict):
    """Whether a call may be run that waits to be approved."""

    type: Literal["antiphon:mcp_approval_response", "mcp_approval_response"]
    approval_request_id: _Id
    approve: bool
    reason: NotRequired[Annotated[str, Field(max_length=4096)] | None]


def _named(item: Json) -> Json:
    """With the id that the client sent where it is kept."""
    sent = item.get("sent_id") or item.get("id")
    return {SENT_ID: sent} if sent else {}


def _fault(error: str | Json | None) -> str | None:
    return encode(error).decode() if isinstance(error, dict) else error


def _canonical_call(item: Json) -> Json:
    refused_by, status = item.get("refused_by"), item.get("status") or "completed"
    return {
        "type": item["type"],
        "server_label": item["server_label"],
        "name": item["name"],
        "arguments": item["arguments"],
        "output": item.get("output"),
        "error": _fault(item.get("error")),
        "status": _STATUSES.get(status, status),
        "approval_request_id": item.get("approval_request_id"),
        **({REFUSED_BY: refused_by} if refused_by else {}),
        **_named(item),
    }


def _canonical_list(item: Json) -> Json:
    tools = [
        {
            "name": tool["name"],
            "description": tool.get("description"),
            "input_schema": tool.get("input_schema"),
            "annotations": tool.get("annotations"),
        }
        for tool in item["tools"]
    ]
    return {
        "type": item["type"],
        "server_label": item["server_label"],
        "tools": tools,
        "error": _fault(item.get("error")),
        **_named(item),
    }


def _canonical_request(item: Json) -> Json:
    kept = {name: item[name] for name in ("type", "server_label", "name", "arguments")}
    return {**kept, **_named(item)}


def _canonical_response(item: Json) -> Json:
    return {
        "type": item["type"],
        "approval_request_id": item["approval_request_id"],
        "approve": item["approve"],
        "reason": item.get("reason"),
    }


Receipt = (
    Annotated[McpCall, AfterValidator(_canonical_call), Tag(TAG + MCP_CALL)]
    | Annotated[McpListTools, AfterValidator(_canonical_list), Tag(TAG + MCP_LIST_TOOLS)]
    | Annotated[McpApprovalRequest, AfterValidator(_canonical_request), Tag(TAG + MCP_APPROVAL_REQUEST)]
    | Annotated[McpApprovalResponse, AfterValidator(_canonical_response), Tag(TAG + MCP_APPROVAL_RESPONSE)]
)
"""The branches of an input item that are receipts; their tags are of the canonical types."""

RECEIPT_TAGS: Final = {spelling: TAG + kind for spelling, kind in SPELLINGS.items()}
