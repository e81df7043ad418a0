"""The response resource. Specification: `ResponseResource`; every field is always there."""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, Field, WithJsonSchema, with_config
from typing_extensions import TypeAliasType, TypedDict

from responses_api.protocol.published.items import Item
from responses_api.protocol.published.shape import shape
from responses_api.protocol.validation import other_type

ToolMode = Literal["auto", "required", "none"]


@shape
class InputTokensDetails(TypedDict):
    """Of the input tokens."""

    cached_tokens: int


@shape
class OutputTokensDetails(TypedDict):
    """Of the output tokens."""

    reasoning_tokens: int


@shape
class Usage(TypedDict):
    """How many tokens were read and written, as the model's backend counted them."""

    input_tokens: int
    input_tokens_details: InputTokensDetails
    output_tokens: int
    output_tokens_details: OutputTokensDetails
    total_tokens: int


@shape
class IncompleteDetails(TypedDict):
    """Why a response is incomplete."""

    reason: Literal["max_output_tokens", "content_filter"]


@shape
class ResponseError(TypedDict):
    """Why a response failed."""

    code: str
    message: str


@shape
class FunctionTool(TypedDict):
    """A function that the caller runs."""

    type: Literal["function"]
    name: str
    description: str | None
    parameters: dict[str, Any] | None
    strict: bool | None


@with_config(ConfigDict(extra="allow"))
class OtherTool(TypedDict):
    """A tool of another type, which the model's backend takes; kept whole."""

    type: Annotated[str, WithJsonSchema(other_type("function", "allowed_tools"))]


@shape
class FunctionToolChoice(TypedDict):
    """Exactly this function."""

    type: Literal["function"]
    name: str


@shape
class AllowedToolsChoice(TypedDict):
    """Only these of the tools."""

    type: Literal["allowed_tools"]
    tools: list[FunctionToolChoice | OtherTool]
    mode: ToolMode


@shape
class TextFormat(TypedDict):
    """Any text."""

    type: Literal["text"]


@shape
class JsonObjectFormat(TypedDict):
    """A JSON object."""

    type: Literal["json_object"]


@shape
class JsonSchemaFormat(TypedDict):
    """JSON that a JSON Schema describes; the schema itself is not repeated."""

    type: Literal["json_schema"]
    name: str
    description: str | None
    schema: None
    strict: bool


@shape
class TextField(TypedDict):
    """The form of the answer."""

    format: Annotated[TextFormat | JsonObjectFormat | JsonSchemaFormat, Field(discriminator="type")]
    verbosity: NotRequired[Literal["low", "medium", "high"]]


@shape
class ReasoningField(TypedDict):
    """How much the model was to reason."""

    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None
    summary: Literal["concise", "detailed", "auto"] | None


Tool = TypeAliasType("Tool", FunctionTool | OtherTool)
ToolChoice = TypeAliasType("ToolChoice", ToolMode | FunctionToolChoice | AllowedToolsChoice | OtherTool)


@shape
class Truncation(TypedDict):
    """What of the conversation was dropped, so that the rest fits."""

    dropped_items: int
    dropped_turns: int
    input_tokens: int | None
    """Those of the rest; null where nobody counted them."""
    context_window: int | None
    """The tokens that the model reads at most; null where nobody knows it."""


@shape
class RefusedCall(TypedDict):
    """A call that the model made, that is not allowed, and that was left out of the response."""

    tool: str
    policy: Literal["tenant", "key", "request"]
    """Whose policy refused it; `request` where a field of the request did."""
    version: int | None
    """Of the policy; null for the request."""
    rule: str
    """The rule of the policy; `default` where none spoke of it, `max_tool_calls`; or the field of the request."""
    why: str


@shape
class PolicyReport(TypedDict):
    """What the tool policies of the tenant and of the key kept from being told."""

    refused_calls: list[RefusedCall]


@shape
class Response(TypedDict):
    """A response as it is now: its settings, its state, its output."""

    id: str
    object: Literal["response"]
    created_at: int
    """Unix seconds."""
    completed_at: int | None
    """Unix seconds; null unless the response is completed."""
    status: Literal["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"]
    incomplete_details: IncompleteDetails | None
    model: str
    previous_response_id: str | None
    instructions: str | None
    output: list[Item]
    error: ResponseError | None
    tools: list[Tool]
    tool_choice: ToolChoice
    truncation: Literal["auto", "disabled"]
    parallel_tool_calls: bool
    text: TextField
    top_p: float
    presence_penalty: float
    frequency_penalty: float
    top_logprobs: int
    temperature: float
    reasoning: ReasoningField
    usage: Usage | None
    max_output_tokens: int | None
    max_tool_calls: int | None
    store: bool
    background: bool
    service_tier: Literal["default", "flex", "priority"]
    """The queue that the response got."""
    metadata: dict[str, str]
    safety_identifier: str | None
    prompt_cache_key: str | None
    antiphon_backend_options: NotRequired[Annotated[dict[str, Any], Field(alias="antiphon:backend_options")]]
    """The fields of the backend's own that the request set; not there where it set none."""
    antiphon_truncation: NotRequired[Annotated[Truncation, Field(alias="antiphon:truncation")]]
    """With `truncation: "auto"`: what was dropped, if something was."""
    antiphon_policy: NotRequired[Annotated[PolicyReport, Field(alias="antiphon:policy")]]
    """Where a tool policy leaves calls that are not allowed out: those that were, once the response has ended."""
