"""Receipts: the items of tools that the service runs by itself, under our names and under OpenAI's.

OpenAI's API reference: "MCP tool", "File search". Which of the two names a response has follows from who asked for it.
"""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from responses_api.protocol.published.shape import shape

ReceiptStatus = Literal["in_progress", "searching", "completed", "incomplete", "failed"]


@shape
class McpTool(TypedDict):
    """A tool, as its server describes it."""

    name: str
    description: str | None
    input_schema: Any
    """The JSON Schema of its arguments."""
    annotations: Any


@shape
class McpListTools(TypedDict):
    """Which tools of an MCP server the model was offered."""

    type: Literal["antiphon:mcp_list_tools", "mcp_list_tools"]
    id: str
    server_label: str
    tools: list[McpTool]
    error: str | None
    """Why there are none."""
    status: NotRequired[ReceiptStatus]
    antiphon_sent_id: NotRequired[Annotated[str, Field(alias="antiphon:sent_id")]]
    """The id that the client sent it under, of a receipt that came back as input."""


@shape
class RefusedBy(TypedDict):
    """What kept a call from being made."""

    effect: Literal["deny"]
    policy: Literal["tenant", "key", "request"]
    """Whose policy refused it; `request` where a field of the request did."""
    version: int | None
    """Of the policy; null for the request."""
    rule: str
    """The rule of the policy; `default` where none spoke of it, `max_tool_calls`; or the field of the request."""
    why: str


@shape
class McpCall(TypedDict):
    """A call of an MCP server's tool, which the service made for the model, and what came of it."""

    type: Literal["antiphon:mcp_call", "mcp_call"]
    id: str
    server_label: str
    name: str
    arguments: str
    """JSON text, as the model wrote it."""
    output: str | None
    error: str | None
    """Why there is no output, or what went wrong."""
    approval_request_id: str | None
    """The request that the caller approved this call by."""
    status: ReceiptStatus
    antiphon_refused_by: NotRequired[Annotated[RefusedBy, Field(alias="antiphon:refused_by")]]
    """The verdict of the tool policy that refused the call: it was not made."""
    antiphon_sent_id: NotRequired[Annotated[str, Field(alias="antiphon:sent_id")]]
    """The id that the client sent it under, of a receipt that came back as input."""


@shape
class McpApprovalRequest(TypedDict):
    """A call that is made once the caller approves it, by an `mcp_approval_response`."""

    type: Literal["antiphon:mcp_approval_request", "mcp_approval_request"]
    id: str
    server_label: str
    name: str
    arguments: str
    status: NotRequired[ReceiptStatus]
    antiphon_sent_id: NotRequired[Annotated[str, Field(alias="antiphon:sent_id")]]
    """The id that the client sent it under, of a receipt that came back as input."""


@shape
class McpApprovalResponse(TypedDict):
    """The caller's answer to an approval request."""

    type: Literal["antiphon:mcp_approval_response", "mcp_approval_response"]
    id: str
    status: NotRequired[ReceiptStatus]
    approval_request_id: str
    approve: bool
    reason: NotRequired[str | None]


@shape
class FileSearchResult(TypedDict):
    """A passage of a file."""

    file_id: str
    filename: str
    score: NotRequired[float | None]
    """How well it fits, from 0 to 1; null or left out only where a client sent it so."""
    text: str
    attributes: NotRequired[dict[str, Any] | None]
    """Where in the file: its page, the headings above it."""


@shape
class FileSearchCall(TypedDict):
    """A search in the tenant's files, and the passages that the model was shown."""

    type: Literal["antiphon:file_search_call", "file_search_call"]
    id: str
    status: ReceiptStatus
    queries: list[str]
    results: NotRequired[list[FileSearchResult] | None]
    """Always there; null or left out only where a client sent the search so."""
    error: NotRequired[str | None]
    approval_request_id: NotRequired[str]
    """The request that the caller approved this call by."""
    antiphon_refused_by: NotRequired[Annotated[RefusedBy, Field(alias="antiphon:refused_by")]]
    """The verdict that refused the call: nothing was searched."""
