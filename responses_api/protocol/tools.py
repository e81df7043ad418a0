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
from responses_api.protocol.mcp import McpChoice, McpTool, canonical_choice, canonical_mcp
from responses_api.protocol.mcp_filters import read_filter
from responses_api.protocol.plain import Json
from responses_api.protocol.server_tools import MCP
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
    raise unsupported(
        "must be a string: 'function', 'mcp', or a type that this server or the model's backend knows"
    )


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
    | Annotated[McpTool, AfterValidator(canonical_mcp), Tag("~mcp")]
    | Annotated[
        dict[str, Any],
        Tag(FOREIGN),
        of_other_type(
            "A hosted tool of this service, or a tool of a type that the model's backend takes, kept whole.",
            "function",
            MCP,
        ),
    ]
    | Annotated[_OfToolType, Tag(UNKNOWN_TYPE), SkipJsonSchema()],
    by_type("function", MCP, others=True),
]
"""One tool; those of other types than `function` and `mcp` are kept whole: which there are, other rooms know."""


class FunctionChoice(TypedDict):
    """Exactly this function."""

    type: Literal["function"]
    name: Annotated[str, Field(min_length=1)]


class _OfChosenType(TypedDict):
    type: Literal["function", "mcp"]


_Chosen = Annotated[
    Annotated[FunctionChoice, Tag("~function")]
    | Annotated[McpChoice, AfterValidator(canonical_choice), Tag("~mcp")]
    | Annotated[dict[str, Any], Tag(FOREIGN), of_other_type("A tool of this type.", "function", MCP)]
    | Annotated[_OfChosenType, Tag(UNKNOWN_TYPE), SkipJsonSchema()],
    by_type("function", MCP, others=True),
]


class AllowedTools(TypedDict):
    """Only these of the tools; `mode` is `auto` unless given."""

    type: Literal["allowed_tools"]
    tools: Annotated[list[_Chosen], Field(min_length=1, max_length=128)]
    mode: NotRequired[_Mode | None]


def _canonical_allowed(choice: Json) -> Json:
    return {"type": "allowed_tools", "tools": choice["tools"], "mode": choice.get("mode") or "auto"}


class _OfChoiceType(TypedDict):
    type: Literal["function", "mcp", "allowed_tools"]


_choose_object = choose_by_type("function", MCP, "allowed_tools", others=True)


def _choose(value: Any) -> str | None:
    return STRING if isinstance(value, str) else _choose_object(value)


ToolChoice = Annotated[
    Annotated[_Mode, Tag(STRING)]
    | Annotated[FunctionChoice, Tag("~function")]
    | Annotated[McpChoice, AfterValidator(canonical_choice), Tag("~mcp")]
    | Annotated[AllowedTools, AfterValidator(_canonical_allowed), Tag("~allowed_tools")]
    | Annotated[
        dict[str, Any],
        Tag(FOREIGN),
        of_other_type("A tool of exactly this type.", "function", MCP, "allowed_tools"),
    ]
    | Annotated[_OfChoiceType, Tag(UNKNOWN_TYPE), SkipJsonSchema()],
    branch(_choose, "must be 'auto', 'required', 'none' or an object"),
]
"""How the model may choose among the tools."""


def check_labels(tools: list[Json]) -> None:
    """Refuse two servers of one label: receipts and choices name a server by it. Raises ProtocolError 400."""
    seen: set[str] = set()
    for index, tool in enumerate(tools):
        if tool["type"] != MCP:
            continue
        label = tool["server_label"]
        if label in seen:
            raise invalid_request(
                f"'tools[{index}].server_label' must be another one than that of a server before: '{label}'.",
                param=f"tools[{index}].server_label",
                code="invalid_value",
            )
        seen.add(label)


def check_tool_choice(choice: str | Json, tools: list[Json]) -> None:
    """Refuse a choice that the request's own tools cannot satisfy. Raises ProtocolError 400."""
    if isinstance(choice, str):
        if choice == "required" and not tools:
            raise _impossible("'tool_choice' is 'required', but the request has no 'tools'.")
        return
    known = {_key(tool): tool for tool in tools}
    wanted = choice["tools"] if choice["type"] == "allowed_tools" else [choice]
    for tool in wanted:
        offered = known.get(_key(tool))
        if offered is None:
            name = quoted(_key(tool)[1] or tool["type"])
            what = f"the server '{name}'" if tool["type"] == MCP else f"'{name}'"
            raise _impossible(f"'tool_choice' names {what}, which is not among the request's 'tools'.")
        if tool["type"] == MCP and not read_filter(offered["allowed_tools"]).may_match(tool.get("name")):
            raise _impossible(
                f"'tool_choice' names '{quoted(tool['name'])}' of the server '{tool['server_label']}', which its"
                " 'allowed_tools' leave out."
            )


def _key(tool: Json) -> tuple[str, str | None]:
    """What a choice refers to a tool by: a function's name, a server's label, another tool's type."""
    kind = tool["type"]
    return (kind, tool["name"] if kind == "function" else tool["server_label"] if kind == MCP else None)


def _impossible(message: str) -> ProtocolError:
    return invalid_request(message, param="tool_choice", code="invalid_value")
