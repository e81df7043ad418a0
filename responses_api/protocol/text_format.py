"""The `text` setting: which form the answer takes, and how wordy it is.

Specification: `TextParam`, `TextFormatParam`.
"""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import AfterValidator, Field, Tag
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import TypedDict

from responses_api.protocol.plain import Json
from responses_api.protocol.validation import NAME_PATTERN, UNKNOWN_TYPE, by_type


class TextFormat(TypedDict):
    """Any text."""

    type: Literal["text"]


class JsonObjectFormat(TypedDict):
    """A JSON object."""

    type: Literal["json_object"]


class JsonSchemaFormat(TypedDict):
    """JSON that a JSON Schema describes."""

    type: Literal["json_schema"]
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


_Format = Annotated[
    Annotated[TextFormat, Tag("~text")]
    | Annotated[JsonObjectFormat, Tag("~json_object")]
    | Annotated[JsonSchemaFormat, AfterValidator(_canonical_schema_format), Tag("~json_schema")]
    | Annotated[_OfFormatType, Tag(UNKNOWN_TYPE), SkipJsonSchema()],
    by_type("text", "json_object", "json_schema"),
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
