"""Input items as clients send them, and their canonical form.

Canonical items have known fields only, no id and no status, and message content is always a list of parts.
Specification: "Items", the `…ItemParam` schemas; items of other types are kept whole (see `passthrough`).
"""

from typing import Annotated, Any, Final, Literal, NotRequired

from pydantic import AfterValidator, ConfigDict, Field, Tag, with_config
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import TypeAliasType, TypedDict

from responses_api.protocol.content import (
    InputPart,
    InstructionPart,
    OutputPart,
    ReasoningText,
    SummaryText,
    Text,
    ToolOutputPart,
    without_nulls,
)
from responses_api.protocol.given_receipts import RECEIPT_TAGS, SPELLINGS, Receipt
from responses_api.protocol.plain import Json
from responses_api.protocol.validation import (
    FOREIGN,
    LIST,
    NAME_PATTERN,
    STRING,
    TAG,
    UNKNOWN_TYPE,
    branch,
    of_other_type,
    string_or_list,
    unsupported,
)

SealedType = Literal["reasoning", "compaction", "item"]
"""What carries sealed state: reasoning and compaction items in `encrypted_content`, items of other types in
`ITEM_STATE`.
"""

ITEM_STATE: Final = "antiphon:state"
"""Where an item of a type that only its backend knows has what that knows it by, sealed."""

OPENED_STATE: Final = "antiphon:opened"
"""Where an item has what was sealed in it, while an adapter maps it: of no client's making, and never told."""

CallId = Annotated[str, Field(min_length=1, max_length=64)]
FunctionName = Annotated[str, Field(pattern=NAME_PATTERN)]

_PARTS = "content parts"

SUPPORTED_TYPES = (
    "message",
    "function_call",
    "function_call_output",
    "reasoning",
    "compaction",
    "compaction_trigger",
    "item_reference",
)
TYPE_RULE = (
    f"must be one of {', '.join(repr(name) for name in SUPPORTED_TYPES)}, have a vendor prefix like 'acme:thing', or be"
    " a type that the model's backend takes"
)
"""What an item's type must be; completes a sentence that begins with its path."""


class UserMessage(TypedDict):
    """What the user said."""

    type: NotRequired[Literal["message"] | None]
    role: Literal["user"]
    content: Annotated[
        Annotated[Text, Tag(STRING)] | Annotated[list[InputPart], Field(fail_fast=True), Tag(LIST)],
        string_or_list(_PARTS),
    ]


class InstructionMessage(TypedDict):
    """What the system or the developer demands."""

    type: NotRequired[Literal["message"] | None]
    role: Literal["system", "developer"]
    content: Annotated[
        Annotated[Text, Tag(STRING)] | Annotated[list[InstructionPart], Field(fail_fast=True), Tag(LIST)],
        string_or_list(_PARTS),
    ]


class AssistantMessage(TypedDict):
    """What the model said."""

    type: NotRequired[Literal["message"] | None]
    role: Literal["assistant"]
    content: Annotated[
        Annotated[Text, Tag(STRING)] | Annotated[list[OutputPart], Field(fail_fast=True), Tag(LIST)],
        string_or_list(_PARTS),
    ]
    phase: NotRequired[Literal["commentary", "final_answer"] | None]


class FunctionCall(TypedDict):
    """A call the model made; `arguments` is JSON text."""

    type: Literal["function_call"]
    call_id: CallId
    name: FunctionName
    arguments: str


class FunctionCallOutput(TypedDict):
    """The caller's answer to a call."""

    type: Literal["function_call_output"]
    call_id: CallId
    output: Annotated[
        Annotated[Text, Tag(STRING)] | Annotated[list[ToolOutputPart], Field(fail_fast=True), Tag(LIST)],
        string_or_list(_PARTS),
    ]


class Reasoning(TypedDict):
    """Reasoning, replayed: `content` is accepted although the schema only sends it out."""

    type: Literal["reasoning"]
    summary: NotRequired[Annotated[list[SummaryText], Field(fail_fast=True)] | None]
    content: NotRequired[Annotated[list[ReasoningText], Field(fail_fast=True)] | None]
    encrypted_content: NotRequired[str | None]


class Compaction(TypedDict):
    """What was compacted, sealed."""

    type: Literal["compaction"]
    encrypted_content: Text


class CompactionTrigger(TypedDict):
    """Not a part of the conversation: asks that it be compacted. See `request.parse_create` for its place."""

    type: Literal["compaction_trigger"]


@with_config(
    ConfigDict(
        json_schema_extra={
            "properties": {
                "type": {"anyOf": [{"type": "string", "const": "item_reference"}, {"type": "null"}]},
                "id": {"type": "string", "minLength": 1},
            },
            "anyOf": [
                {"properties": {"type": {"const": "item_reference"}}, "required": ["type"]},
                {"properties": {"type": {"type": "null"}, "role": {"type": "null"}}},
            ],
        }
    )
)
class ItemReference(TypedDict):
    """An item of a stored response, by its id. The type may be left out where there is no `role`."""

    id: Annotated[str, Field(min_length=1)]


class _OfRole(TypedDict):
    role: Literal["user", "assistant", "system", "developer"]


def _refuse_type(kind: object) -> str:
    raise unsupported(TYPE_RULE)


class _OfType(TypedDict):
    type: Annotated[Any, AfterValidator(_refuse_type)]


def _canonical_input(message: Json) -> Json:
    content = message["content"]
    if isinstance(content, str):
        content = [{"type": "input_text", "text": content}]
    return {"type": "message", "role": message["role"], "content": content}


def _canonical_output(message: Json) -> Json:
    content = message["content"]
    if isinstance(content, str):
        content = [{"type": "output_text", "text": content, "annotations": []}]
    item: Json = {"type": "message", "role": "assistant", "content": content}
    if message.get("phase") is not None:
        item["phase"] = message["phase"]
    return item


def _canonical_reasoning(item: Json) -> Json:
    item["summary"] = item.get("summary") or []
    return without_nulls(item)


def _canonical_reference(item: Json) -> Json:
    return {"type": "item_reference", "id": item["id"]}


def _canonical_foreign(item: Json) -> Json:
    item.pop("id", None)
    item.pop(OPENED_STATE, None)
    return item


_ROLE_TAGS = {
    "user": "~user",
    "system": "~instruction",
    "developer": "~instruction",
    "assistant": "~assistant",
}
_ROLE_UNKNOWN = TAG + "role"
_TYPE_TAGS = {
    kind: TAG + kind
    for kind in (
        "function_call",
        "function_call_output",
        "reasoning",
        "compaction",
        "compaction_trigger",
        "item_reference",
    )
} | RECEIPT_TAGS


def _choose(item: Any) -> str | None:
    """The branch of an item: by its type, a message's by its role; see the tags below."""
    if not isinstance(item, dict):
        return None
    kind = item.get("type")
    if kind is None:
        kind = _implied_type(item)
    if kind == "message":
        role = item.get("role")
        return _ROLE_TAGS.get(role, _ROLE_UNKNOWN) if isinstance(role, str) else _ROLE_UNKNOWN
    if not isinstance(kind, str):
        return UNKNOWN_TYPE
    return _TYPE_TAGS.get(kind) or (FOREIGN if kind else UNKNOWN_TYPE)


def _implied_type(item: Json) -> str | None:
    if item.get("role") is not None:
        return "message"
    return "item_reference" if item.get("id") is not None else None


Item = TypeAliasType(
    "Item",
    Annotated[
        Annotated[UserMessage, AfterValidator(_canonical_input), Tag("~user")]
        | Annotated[InstructionMessage, AfterValidator(_canonical_input), Tag("~instruction")]
        | Annotated[AssistantMessage, AfterValidator(_canonical_output), Tag("~assistant")]
        | Annotated[FunctionCall, Tag("~function_call")]
        | Annotated[FunctionCallOutput, Tag("~function_call_output")]
        | Annotated[Reasoning, AfterValidator(_canonical_reasoning), Tag("~reasoning")]
        | Annotated[Compaction, Tag("~compaction")]
        | Annotated[CompactionTrigger, Tag("~compaction_trigger")]
        | Annotated[ItemReference, AfterValidator(_canonical_reference), Tag("~item_reference")]
        | Receipt
        | Annotated[
            dict[str, Any],
            AfterValidator(_canonical_foreign),
            Tag(FOREIGN),
            of_other_type(
                "An item of a vendor's own type, or of one that the model's backend takes; kept whole.",
                *SUPPORTED_TYPES,
                *SPELLINGS,
            ),
        ]
        | Annotated[_OfRole, Tag(_ROLE_UNKNOWN), SkipJsonSchema()]
        | Annotated[_OfType, Tag(UNKNOWN_TYPE), SkipJsonSchema()],
        branch(_choose, "must be an object"),
    ],
)
"""One input item; validated, it is in the canonical form."""
