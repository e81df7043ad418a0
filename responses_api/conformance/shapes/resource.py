"""The response resource, the compacted window, and the body of an error.

Specification: "ResponseResource", "CompactResource", `ErrorPayload`.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal, NotRequired

from pydantic import Discriminator, Tag, TypeAdapter
from typing_extensions import TypedDict

from responses_api.conformance.shapes.faults import faults_of
from responses_api.conformance.shapes.items import Item, Other, by_type
from responses_api.protocol.plain import Json

_Mode = Literal["auto", "required", "none"]


class FunctionTool(TypedDict):
    """A tool as the response echoes it."""

    type: Literal["function"]
    name: str
    description: str | None
    parameters: dict[str, Any] | None
    strict: bool | None


class _Choice(TypedDict):
    type: Literal["function"]
    name: NotRequired[str]


class _AllowedTools(TypedDict):
    type: Literal["allowed_tools"]
    tools: list[Annotated[Annotated[_Choice, Tag("function")] | Other, by_type("function")]]
    mode: _Mode


def _choose_choice(value: Any) -> str | None:
    return "mode" if isinstance(value, str) else value.get("type") if isinstance(value, dict) else None


class _Plain(TypedDict):
    type: Literal["text", "json_object"]


class _JsonSchema(TypedDict):
    type: Literal["json_schema"]
    name: str
    description: str | None
    schema: None
    strict: bool


class _Text(TypedDict):
    format: Annotated[
        Annotated[_Plain, Tag("text")]
        | Annotated[_Plain, Tag("json_object")]
        | Annotated[_JsonSchema, Tag("json_schema")],
        by_type("text", "json_object", "json_schema"),
    ]
    verbosity: NotRequired[Literal["low", "medium", "high"]]


class _EchoedReasoning(TypedDict):
    effort: str | None
    summary: str | None


class _Cached(TypedDict):
    cached_tokens: int


class _Reasoned(TypedDict):
    reasoning_tokens: int


class Usage(TypedDict):
    """What a response took."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    input_tokens_details: _Cached
    output_tokens_details: _Reasoned


class _Error(TypedDict):
    code: str
    message: str


class _Incomplete(TypedDict):
    reason: str


class Response(TypedDict):
    """The response resource."""

    id: str
    object: Literal["response"]
    created_at: int
    completed_at: int | None
    status: Literal["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"]
    incomplete_details: _Incomplete | None
    model: str
    previous_response_id: str | None
    instructions: str | None
    output: list[Item]
    error: _Error | None
    tools: list[Annotated[Annotated[FunctionTool, Tag("function")] | Other, by_type("function")]]
    tool_choice: Annotated[
        Annotated[_Mode, Tag("mode")]
        | Annotated[_Choice, Tag("function")]
        | Annotated[_AllowedTools, Tag("allowed_tools")],
        Discriminator(_choose_choice),
    ]
    truncation: Literal["auto", "disabled"]
    parallel_tool_calls: bool
    text: _Text
    top_p: float
    presence_penalty: float
    frequency_penalty: float
    top_logprobs: int
    temperature: float
    reasoning: _EchoedReasoning | None
    usage: Usage | None
    max_output_tokens: int | None
    max_tool_calls: int | None
    store: bool
    background: bool
    service_tier: str
    metadata: dict[str, str] | None
    safety_identifier: str | None
    prompt_cache_key: str | None


class CompactedWindow(TypedDict):
    """What `/responses/compact` answers."""

    id: str
    object: Literal["response.compaction"]
    output: list[Item]
    created_at: int
    usage: Usage


class ErrorPayload(TypedDict):
    """The `error` object of an error event and of an error's body."""

    type: str
    code: str | None
    message: str
    param: str | None


class _ErrorBody(TypedDict):
    error: ErrorPayload


_RESPONSE: Final[TypeAdapter[Any]] = TypeAdapter(Response)
_COMPACTED: Final[TypeAdapter[Any]] = TypeAdapter(CompactedWindow)
_BODY: Final[TypeAdapter[Any]] = TypeAdapter(_ErrorBody)


def response_faults(response: Json) -> Iterator[str]:
    """What is wrong with a response resource by its schema."""
    return faults_of(_RESPONSE, response)


def compaction_faults(window: Json) -> Iterator[str]:
    """What is wrong with a compacted window by its schema."""
    return faults_of(_COMPACTED, window)


def error_faults(body: Json) -> Iterator[str]:
    """What is wrong with the body of an error."""
    return faults_of(_BODY, body)
