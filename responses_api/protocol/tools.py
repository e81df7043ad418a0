"""Tools and tool choices as clients send them, and their canonical form.

Canonical function tools have all five fields, nulls included, as the response echoes them.
Specification: "Tools", `FunctionToolParam`, `ToolChoiceParam`.
"""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import AfterValidator, Field, Tag
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import TypedDict

from responses_api.protocol.errors import ProtocolError, invalid_request
from responses_api.protocol.items import FunctionName
from responses_api.protocol.plain import Json
from responses_api.protocol.validation import (
    FOREIGN,
    STRING,
    UNKNOWN_TYPE,
    branch,
    by_type,
    choose_by_type,
    of_other_type,
    unsupported,
)
from responses_api.protocol.wording import quoted

_Mode = Literal["auto", "required", "none"]


class FunctionTool(TypedDict):
    """A function that the caller runs; `parameters` is a JSON Schema."""

    type: Literal["function"]
    name: FunctionName
    description: NotRequired[str | None]
    parameters: NotRequired[dict[str, Any] | None]
    strict: NotRequired[bool | None]


def _refuse_tool_type(kind: object) -> str:
    raise unsupported("must be a string: 'function', or a type that the model's backend takes")


class _OfToolType(TypedDict):
    type: Annotated[Any, AfterValidator(_refuse_tool_type)]


def _canonical_function(tool: Json) -> Json:
    return {
        "type": "function",
        "name": tool["name"],
        "description": tool.get("description"),
        "parameters": tool.get("parameters"),
        "strict": tool.get("strict"),
    }


Tool = Annotated[
    Annotated[FunctionTool, AfterValidator(_canonical_function), Tag("~function")]
    | Annotated[
        dict[str, Any],
        Tag(FOREIGN),
        of_other_type("A tool of a type that the model's backend takes, kept whole.", "function"),
    ]
    | Annotated[_OfToolType, Tag(UNKNOWN_TYPE), SkipJsonSchema()],
    by_type("function", others=True),
]
"""One tool; those of other types than `function` are kept whole: not every model takes them."""


class FunctionChoice(TypedDict):
    """Exactly this function."""

    type: Literal["function"]
    name: Annotated[str, Field(min_length=1)]


class _OfChosenType(TypedDict):
    type: Literal["function"]


_Chosen = Annotated[
    Annotated[FunctionChoice, Tag("~function")]
    | Annotated[dict[str, Any], Tag(FOREIGN), of_other_type("A tool of this type.", "function")]
    | Annotated[_OfChosenType, Tag(UNKNOWN_TYPE), SkipJsonSchema()],
    by_type("function", others=True),
]


class AllowedTools(TypedDict):
    """Only these of the tools; `mode` is `auto` unless given."""

    type: Literal["allowed_tools"]
    tools: Annotated[list[_Chosen], Field(min_length=1, max_length=128)]
    mode: NotRequired[_Mode | None]


def _canonical_allowed(choice: Json) -> Json:
    return {"type": "allowed_tools", "tools": choice["tools"], "mode": choice.get("mode") or "auto"}


class _OfChoiceType(TypedDict):
    type: Literal["function", "allowed_tools"]


_choose_object = choose_by_type("function", "allowed_tools", others=True)


def _choose(value: Any) -> str | None:
    return STRING if isinstance(value, str) else _choose_object(value)


ToolChoice = Annotated[
    Annotated[_Mode, Tag(STRING)]
    | Annotated[FunctionChoice, Tag("~function")]
    | Annotated[AllowedTools, AfterValidator(_canonical_allowed), Tag("~allowed_tools")]
    | Annotated[
        dict[str, Any],
        Tag(FOREIGN),
        of_other_type("A tool of exactly this type.", "function", "allowed_tools"),
    ]
    | Annotated[_OfChoiceType, Tag(UNKNOWN_TYPE), SkipJsonSchema()],
    branch(_choose, "must be 'auto', 'required', 'none' or an object"),
]
"""How the model may choose among the tools."""


def check_tool_choice(choice: str | Json, tools: list[Json]) -> None:
    """Refuse a choice that the request's own tools cannot satisfy. Raises ProtocolError 400."""
    if isinstance(choice, str):
        if choice == "required" and not tools:
            raise _impossible("'tool_choice' is 'required', but the request has no 'tools'.")
        return
    known = {_key(tool) for tool in tools}
    wanted = choice["tools"] if choice["type"] == "allowed_tools" else [choice]
    for tool in wanted:
        if _key(tool) not in known:
            name = quoted(tool["name"] if tool["type"] == "function" else tool["type"])
            raise _impossible(f"'tool_choice' names '{name}', which is not among the request's 'tools'.")


def _key(tool: Json) -> tuple[str, str | None]:
    """What a choice refers to a tool by: a function's name, another tool's type."""
    return (tool["type"], tool["name"] if tool["type"] == "function" else None)


def _impossible(message: str) -> ProtocolError:
    return invalid_request(message, param="tool_choice", code="invalid_value")
