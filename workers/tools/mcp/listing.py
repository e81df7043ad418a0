"""The tools of a server as the model is offered them and as a receipt lists them: those that the request lets in, under
names that are names of functions, with schemas that are schemas of arguments, no more and no longer than there is room.
"""

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any, Final

import orjson
from mcp_types import Tool as ServersTool

from responses_api.protocol.function_names import LONGEST, fit_letters
from responses_api.protocol.mcp import LONGEST_NAME
from responses_api.protocol.mcp_filters import Filter
from responses_api.protocol.plain import Json
from responses_api.protocol.wording import quoted, safe_text
from workers.tools.mcp.failures import McpFailure

MOST_OFFERED: Final = 256
MOST_BYTES: Final = 512 * 1024
MOST_BYTES_OF_ONE: Final = 64 * 1024
_INTEGERS: Final = range(-(1 << 63), 1 << 64)
"""Those that can be stored as such; JSON knows no bounds."""
_MOST_FLOAT: Final = 1 << 1023
_NARROW: Final = "Name those that are wanted in 'allowed_tools'."


def listed(
    tools: Sequence[ServersTool], allowed: Filter, without_secrets: Callable[[str], str]
) -> list[Json]:
    """The tools as a receipt lists them. Raises `McpFailure` where they are too many or too long."""
    told = [
        {
            "name": tool.name,
            "description": tool.description,
            "input_schema": tool.input_schema,
            "annotations": None
            if tool.annotations is None
            else tool.annotations.model_dump(mode="json", by_alias=True, exclude_none=True),
        }
        for tool in tools
    ]
    meant = [tool for tool in told if allowed.matches(tool)]
    for tool in meant:
        length = len(str(tool["name"]))
        if not 0 < length <= LONGEST_NAME:
            raise McpFailure(
                f"offers a tool whose name has {length} characters; it must have 1 to {LONGEST_NAME}. "
                f"{_NARROW}"
            )
    return bounded([_storable(tool, without_secrets) for tool in meant])


def known(tools: Sequence[Any], allowed: Filter) -> list[Json]:
    """The tools that an earlier receipt lists, which a client may have sent. What is no tool is left out: the server
    would not know it. Raises `McpFailure` as `listed`.
    """
    told = [
        {
            "name": tool["name"],
            "description": tool.get("description") if isinstance(tool.get("description"), str) else None,
            "input_schema": tool.get("input_schema") if isinstance(tool.get("input_schema"), dict) else {},
            "annotations": tool.get("annotations") if isinstance(tool.get("annotations"), dict) else None,
        }
        for tool in tools
        if isinstance(tool, dict) and isinstance(tool.get("name"), str) and tool["name"]
    ]
    return bounded([tool for tool in told if allowed.matches(tool)])


def bounded(tools: list[Json]) -> list[Json]:
    """The same tools. Raises `McpFailure` for too much of them."""
    if len(tools) > MOST_OFFERED:
        raise McpFailure(f"offers {len(tools)} tools, and no more than {MOST_OFFERED} can be. {_NARROW}")
    sizes = [len(orjson.dumps(tool)) for tool in tools]
    for tool, size in zip(tools, sizes, strict=True):
        if size > MOST_BYTES_OF_ONE:
            raise McpFailure(
                f"takes {size} bytes to describe its tool '{quoted(tool['name'])}', and there is room for "
                f"{MOST_BYTES_OF_ONE}. {_NARROW}"
            )
    if sum(sizes) > MOST_BYTES:
        raise McpFailure(
            f"takes {sum(sizes)} bytes to describe its tools, and there is room for {MOST_BYTES}. {_NARROW}"
        )
    return tools


def functions(tools: Sequence[Json], about: str | None = None) -> list[Json]:
    """The function that each listed tool is offered as; no two have the same name. `about` is what the request says of
    the server: the model reads it with each of its tools.
    """
    taken: set[str] = set()
    made: list[Json] = []
    for tool in tools:
        name = _free(fit_letters(tool["name"])[:LONGEST] or "tool", taken)
        taken.add(name)
        made.append(
            {
                "type": "function",
                "name": name,
                "description": "\n\n".join(filter(None, (tool["description"], about))) or None,
                "parameters": _parameters(tool["input_schema"]),
                "strict": None,
            }
        )
    return made


def _free(name: str, taken: set[str]) -> str:
    number, free = 2, name
    while free in taken:
        end = f"_{number}"
        free, number = name[: LONGEST - len(end)] + end, number + 1
    return free


def _parameters(schema: Json) -> Json:
    """A schema of arguments: theirs where it is one of an object, which the older versions of MCP want it to be."""
    if schema.get("type") == "object":
        return schema if isinstance(schema.get("properties"), dict) else {**schema, "properties": {}}
    if "type" not in schema:
        return {"type": "object", "properties": {}, **schema}
    return {"type": "object", "properties": {}}


def _storable(tool: Json, without_secrets: Callable[[str], str]) -> Json:
    """The tool with texts that can be stored, and may be."""

    def clean(value: Any) -> Any:
        match value:
            case str():
                return without_secrets(safe_text(value))
            case dict():
                return {clean(name): clean(inner) for name, inner in value.items()}
            case list():
                return [clean(inner) for inner in value]
            case float() if not isfinite(value):
                return None
            case int() if value not in _INTEGERS:
                return float(value) if abs(value) < _MOST_FLOAT else None
        return value

    return {name: clean(value) for name, value in tool.items()}
