"""The `text` setting: which form the answer takes, and how wordy it is.

Specification: `TextParam`, `TextFormatParam`.
"""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import AfterValidator, Field, Tag
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import TypedDict

from responses_api.protocol.plain import Json
from responses_api.protocol.validation import NAME_PATTERN, TAG, UNKNOWN_TYPE, branch, choose_by_type


class TextFormat(TypedDict):
    """Any text."""

    type: Literal["text"]


class JsonObjectFormat(TypedDict):
    """A JSON object."""

    type: Literal["json_object"]


class JsonSchemaFormat(TypedDict):
    """JSON that a JSON Schema describes."""

    type: NotRequired[Literal["json_schema"] | None]
    name: Annotated[str, Field(pattern=NAME_PATTERN)]
    description: NotRequired[str | None]
    schema: dict[str, Any]
    strict: NotRequired[bool | None]


class _OfFormatType(TypedDict):
    type: Literal["text", "json_object", "json_schema"]


def _canonical_schema_format(value: Json) -> Json:
    return {
        "type": "json_schema",
        "name": value["name"],
        "description": value.get("description"),
        "schema": value["schema"],
        "strict": value.get("strict") is True,
    }


_choose_by_type = choose_by_type("text", "json_object", "json_schema")


def _choose(value: Any) -> str | None:
    # The published schema lets this one leave its type out.
    if isinstance(value, dict) and value.get("type") is None and "schema" in value:
        return TAG + "json_schema"
    return _choose_by_type(value)


_Format = Annotated[
    Annotated[TextFormat, Tag("~text")]
    | Annotated[JsonObjectFormat, Tag("~json_object")]
    | Annotated[JsonSchemaFormat, AfterValidator(_canonical_schema_format), Tag("~json_schema")]
    | Annotated[_OfFormatType, Tag(UNKNOWN_TYPE), SkipJsonSchema()],
    branch(_choose, "must be an object"),
]


class TextSettings(TypedDict):
    """The form of the answer, and how wordy it is."""

    format: NotRequired[_Format | None]
    verbosity: NotRequired[Literal["low", "medium", "high"] | None]


def _canonical_text(value: Json) -> Json:
    text: Json = {"format": value.get("format") or {"type": "text"}}
    if value.get("verbosity") is not None:
        text["verbosity"] = value["verbosity"]
    return text


TextConfig = Annotated[TextSettings, AfterValidator(_canonical_text)]
"""Validated, it always has a `format`; a JSON Schema format has all its five fields."""
