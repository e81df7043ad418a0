"""The body of a create request as clients write it: what validates it, and what the reference shows of it.

Specification: `CreateResponseBody`.
"""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import AfterValidator, ConfigDict, Field, Tag, WithJsonSchema, with_config
from typing_extensions import TypedDict

from responses_api.protocol.backend_options import FIELD, SCHEMA, check_options
from responses_api.protocol.content import Text
from responses_api.protocol.items import Item
from responses_api.protocol.text_format import TextConfig
from responses_api.protocol.tools import Tool, ToolChoice
from responses_api.protocol.validation import INTEGER_LIMIT, LIST, STRING, WHOLE, refusal, string_or_list

METADATA_ENTRIES = 16
METADATA_KEY_LIMIT = 64
METADATA_VALUE_LIMIT = 512

ServiceTier = Literal["auto", "default", "flex", "priority"]
Include = Literal["reasoning.encrypted_content", "message.output_text.logprobs"]
Truncation = Literal["auto", "disabled"]


def _check_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    if len(metadata) > METADATA_ENTRIES:
        raise refusal(f"must have at most {METADATA_ENTRIES} entries")
    for key, value in metadata.items():
        if len(key) > METADATA_KEY_LIMIT:
            raise refusal(f"must have keys of at most {METADATA_KEY_LIMIT} characters")
        if not isinstance(value, str):
            raise refusal("must be a string", at=key, code="invalid_type")
        if len(value) > METADATA_VALUE_LIMIT:
            raise refusal(f"must have at most {METADATA_VALUE_LIMIT} characters", at=key)
    return metadata


_METADATA_SCHEMA = {
    "type": "object",
    "additionalProperties": {"type": "string", "maxLength": METADATA_VALUE_LIMIT},
    "propertyNames": {"maxLength": METADATA_KEY_LIMIT},
    "maxProperties": METADATA_ENTRIES,
}

_Metadata = Annotated[dict[str, Any], AfterValidator(_check_metadata), WithJsonSchema(_METADATA_SCHEMA)]
_BackendOptions = Annotated[dict[str, Any], AfterValidator(check_options), WithJsonSchema(SCHEMA)]
_Penalty = Annotated[float, Field(ge=-2, le=2, allow_inf_nan=False)]
_Key = Annotated[str, Field(max_length=64)]


class ReasoningSettings(TypedDict):
    """How much the model reasons, and what of it is told."""

    effort: NotRequired[Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None]
    summary: NotRequired[Literal["concise", "detailed", "auto"] | None]


class StreamOptions(TypedDict):
    """How a stream is told."""

    include_obfuscation: NotRequired[bool | None]


@with_config(ConfigDict(use_attribute_docstrings=True))
class CreateResponseBody(TypedDict):
    """What a response is asked with. `null` means the default; unknown fields are ignored."""

    model: Annotated[str, Field(min_length=1)]
    """One of the models that `GET /v1/models` lists."""
    input: NotRequired[
        Annotated[
            Annotated[Text, Tag(STRING)] | Annotated[list[Item], Field(fail_fast=True), Tag(LIST)],
            string_or_list("items"),
        ]
        | None
    ]
    """A string, which is one user message, or items. Only with `previous_response_id` may it be empty or left out."""
    previous_response_id: NotRequired[Annotated[str, Field(min_length=1)] | None]
    """Continue this response: its whole conversation comes before `input`. Settings are not inherited."""
    instructions: NotRequired[str | None]
    """A system message that holds for this response alone."""
    tools: NotRequired[Annotated[list[Tool], Field(fail_fast=True)] | None]
    """What the model may call."""
    tool_choice: NotRequired[ToolChoice | None]
    """Which of the tools the model may or must call: `auto` unless given."""
    parallel_tool_calls: NotRequired[bool | None]
    """Whether there may be several calls in a response: true unless given."""
    temperature: NotRequired[Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] | None]
    """How much chance there is in the answer; the model's own default unless given."""
    top_p: NotRequired[Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None]
    """Choose among the likeliest tokens that together have this probability."""
    presence_penalty: NotRequired[_Penalty | None]
    """Above 0: disfavour tokens that have occurred."""
    frequency_penalty: NotRequired[_Penalty | None]
    """Above 0: disfavour tokens the more, the more often they have occurred."""
    max_output_tokens: NotRequired[Annotated[int, Field(ge=16, le=INTEGER_LIMIT), WHOLE] | None]
    """The longest answer, reasoning included; at it the response is `incomplete`."""
    max_tool_calls: NotRequired[Annotated[int, Field(ge=1, le=INTEGER_LIMIT), WHOLE] | None]
    """The most calls in the response."""
    reasoning: NotRequired[ReasoningSettings | None]
    """For models that reason."""
    text: NotRequired[TextConfig | None]
    """The form of the answer: text unless given."""
    metadata: NotRequired[_Metadata | None]
    """Up to 16 notes of your own, which the response carries."""
    include: NotRequired[Annotated[list[Include], Field(fail_fast=True)] | None]
    """What the response is to have besides."""
    top_logprobs: NotRequired[Annotated[int, Field(ge=0, le=20), WHOLE] | None]
    """How many of the likeliest tokens to tell at each place."""
    truncation: NotRequired[Truncation | None]
    """What to do when the conversation is longer than the model's context: `disabled`, to fail, unless given."""
    service_tier: NotRequired[ServiceTier | None]
    """The queue to wait in; the response tells which it was."""
    store: NotRequired[bool | None]
    """Whether the response can be retrieved and continued later: true unless given."""
    stream: NotRequired[bool | None]
    """Whether to tell the response as server-sent events while it is generated."""
    background: NotRequired[bool | None]
    """Whether to generate it in the background and answer at once."""
    stream_options: NotRequired[StreamOptions | None]
    """How the stream is told."""
    safety_identifier: NotRequired[_Key | None]
    """A name of your own for who is asking, without personal data."""
    prompt_cache_key: NotRequired[_Key | None]
    """What requests that share a beginning have in common, for the model's prompt cache."""
    backend_options: NotRequired[Annotated[_BackendOptions | None, Field(alias=FIELD)]]
    """Fields of the model's own backend, such as `{"top_k": 40}`: they go into its body as they are. Only those that
    the operator has allowed for the model, and no tool policy denies. Not portable: another model may refuse them."""


COUNTED = (
    "model",
    "input",
    "previous_response_id",
    "instructions",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "text",
    "reasoning",
    "truncation",
)
"""The fields of which a model reads something: those that a request to count tokens has."""

COMPACTED = (
    "model",
    "input",
    "previous_response_id",
    "instructions",
    "prompt_cache_key",
    "reasoning",
    "service_tier",
    "safety_identifier",
)
"""The fields that a request to compact has."""
