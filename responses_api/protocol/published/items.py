"""Items as responses, lists and events carry them.

Specification: `ItemField`; `Message`, `FunctionCall`, `FunctionCallOutput`, `ReasoningBody`, `CompactionBody`.
"""

from typing import Annotated, Final, Literal, NotRequired, get_args, get_type_hints

from pydantic import ConfigDict, Field, WithJsonSchema, with_config
from typing_extensions import TypeAliasType, TypedDict

from responses_api.protocol.published.parts import (
    MessagePart,
    ReasoningTextPart,
    SummaryTextPart,
    ToolOutputPart,
)
from responses_api.protocol.published.receipts import (
    FileSearchCall,
    McpApprovalRequest,
    McpApprovalResponse,
    McpCall,
    McpListTools,
)
from responses_api.protocol.published.shape import shape
from responses_api.protocol.validation import other_type

RECEIPTS: Final = (McpListTools, McpCall, McpApprovalRequest, McpApprovalResponse, FileSearchCall)
ItemStatus = Literal["in_progress", "completed", "incomplete"]
_OTHER_TYPES: Final = other_type(
    "message",
    "function_call",
    "function_call_output",
    "reasoning",
    "compaction",
    "item_reference",
    *(name for shape in RECEIPTS for name in get_args(get_type_hints(shape)["type"])),
)


@shape
class Message(TypedDict):
    """What somebody said."""

    type: Literal["message"]
    id: str
    status: ItemStatus
    role: Literal["user", "assistant", "system", "developer"]
    content: list[MessagePart]
    phase: NotRequired[Literal["commentary", "final_answer"]]


@shape
class FunctionCall(TypedDict):
    """A call the model made, for the caller to run."""

    type: Literal["function_call"]
    id: str
    call_id: str
    """What the `function_call_output` that answers it has to name."""
    name: str
    arguments: str
    """JSON text, as the model wrote it."""
    status: ItemStatus


@shape
class FunctionCallOutput(TypedDict):
    """The caller's answer to a call."""

    type: Literal["function_call_output"]
    id: str
    call_id: str
    output: str | list[ToolOutputPart]
    status: ItemStatus


@shape
class ReasoningItem(TypedDict):
    """What the model thought, as far as it is told."""

    type: Literal["reasoning"]
    id: str
    summary: list[SummaryTextPart]
    content: NotRequired[list[ReasoningTextPart]]
    """Raw reasoning; absent when there is none."""
    encrypted_content: NotRequired[str]
    """Sealed state, to be sent back as it is."""
    status: NotRequired[ItemStatus]


@shape
class CompactionItem(TypedDict):
    """What was compacted, sealed; to be sent back as it is."""

    type: Literal["compaction"]
    id: str
    encrypted_content: str


@with_config(ConfigDict(use_attribute_docstrings=True, extra="allow"))
class OtherItem(TypedDict):
    """An item of a vendor's own type, such as `acme:thing`, or of a tool that the model's backend runs, such as
    `web_search_call`; kept whole. So are the receipts of hosted tools that whoever runs the service added.
    """

    type: Annotated[str, WithJsonSchema(_OTHER_TYPES)]
    id: str
    status: NotRequired[str]
    antiphon_state: NotRequired[Annotated[str, Field(alias="antiphon:state")]]
    """What the backend knows the item by, sealed; to be sent back as it is."""


Item = TypeAliasType(
    "Item",
    Annotated[
        Message
        | FunctionCall
        | FunctionCallOutput
        | ReasoningItem
        | CompactionItem
        | McpListTools
        | McpCall
        | McpApprovalRequest
        | McpApprovalResponse
        | FileSearchCall,
        Field(discriminator="type"),
    ]
    | OtherItem,
)
