"""What a request's `tool_choice` means for the tools that the service runs, which the model knows as functions. Pure.

A demand binds the first round only: once something was called the model may answer, else it never could.
"""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from responses_api.protocol.plain import Json
from workers.tools.toolbox import Served

_FUNCTION: Final = "function"


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools that the model is offered of those that the service runs, and the types of their entries."""

    tools: Sequence[Served]
    types: Container[str]


def leaves(choice: str | Json, tool: Served) -> bool:
    """Whether the choice leaves this tool to be called."""
    if isinstance(choice, str):
        return choice != "none"
    if choice["type"] == "allowed_tools":
        return choice["mode"] != "none" and any(_names(named, tool) for named in choice["tools"])
    return _names(choice, tool)


def demands_served(choice: str | Json, types: Container[str]) -> bool:
    """Whether the choice is one tool that the service runs, or one server's."""
    return not isinstance(choice, str) and choice["type"] in types


def first_choice(choice: str | Json, served: Offer) -> str | Json:
    """The choice in terms of functions, as a model's adapter takes it. A demand that nothing is left for is "none":
    see `is_unmet`.
    """
    if isinstance(choice, str):
        return choice
    if choice["type"] == _FUNCTION:
        return choice
    if choice["type"] == "allowed_tools":
        return _allowed(choice["mode"], _as_functions(choice["tools"], served))
    named = _as_functions([choice], served)
    if len(named) == 1 and named[0]["type"] == _FUNCTION:
        return named[0]
    return _allowed("required", named)


def later_choice(choice: str | Json, served: Offer) -> str | Json:
    """The choice for the rounds after the first: what may be called stays as it is, nothing has to be."""
    if isinstance(choice, str):
        return "auto" if choice == "required" else choice
    if choice["type"] != "allowed_tools":
        return "auto"
    mode = "none" if choice["mode"] == "none" else "auto"
    return _allowed(mode, _as_functions(choice["tools"], served))


def is_unmet(choice: str | Json, mapped: str | Json, offered: Sequence[Json]) -> bool:
    """Whether a demand of the choice cannot be met any more: no tool that it leaves could be offered."""
    if isinstance(choice, str):
        return choice == "required" and not offered
    if choice["type"] == "allowed_tools":
        return choice["mode"] == "required" and mapped == "none"
    return mapped == "none"


def _names(named: Json, tool: Served) -> bool:
    """Whether an entry of a choice names this tool."""
    if named["type"] != tool.entry["type"]:
        return False
    label, name = named.get("server_label"), named.get("name")
    return (label is None or label == tool.label) and (name is None or name == tool.own_name)


def _as_functions(named: Iterable[Json], served: Offer) -> list[Json]:
    """What is named, each tool that the service runs as its function; others stay as they are."""
    found: list[Json] = []
    for choice in named:
        if choice["type"] in served.types:
            found += [{"type": _FUNCTION, "name": tool.name} for tool in served.tools if _names(choice, tool)]
        else:
            found.append(choice)
    return found


def _allowed(mode: str, named: list[Json]) -> str | Json:
    return {"type": "allowed_tools", "mode": mode, "tools": named} if named and mode != "none" else "none"
