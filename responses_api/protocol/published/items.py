"""Items as responses, lists and events carry them.

Specification: `ItemField`; `Message`, `FunctionCall`, `FunctionCallOutput`, `ReasoningBody`, `CompactionBody`.
"""

from typing import Annotated, Literal, NotRequired

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypeAliasType, TypedDict

from responses_api.protocol.published.parts import (
    MessagePart,
    ReasoningTextPart,
    SummaryTextPart,
    ToolOutputPart,
)
from responses_api.protocol.published.shape import shape
from responses_api.protocol.validation import VENDOR_PATTERN

ItemStatus = Literal["in_progress", "completed", "incomplete"]


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
class VendorItem(TypedDict):
    """An item of a vendor's own type, such as `acme:thing`, kept whole."""

    type: Annotated[str, Field(pattern=VENDOR_PATTERN)]
    id: str
    status: NotRequired[str]


Item = TypeAliasType(
    "Item",
    Annotated[
        Message | FunctionCall | FunctionCallOutput | ReasoningItem | CompactionItem,
        Field(discriminator="type"),
    ]
    | VendorItem,
)
