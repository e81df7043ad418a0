"""The hosted tools of this process: those that come with the service, and those that installed packages add.

A package adds one by an entry point of the group `antiphon.tools` whose value is a `workers.tools.hosted.HostedTool`
(the object, or a class that is called without arguments). One that cannot be used is left out and told of, by the log
and by `manage.py check`: the service does not go down with a stranger's package.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any, Final

import structlog
from pydantic import TypeAdapter

from responses_api.protocol import file_search
from responses_api.protocol.hosted import Declaration, by_receipt
from responses_api.protocol.server_tools import MCP, is_receipt
from responses_api.protocol.validation import is_vendor_type

log = structlog.get_logger(__name__)

GROUP: Final = "antiphon.tools"
BUILT_IN: Final = (file_search.DECLARATION,)
_OWN_PREFIX: Final = "antiphon:"


class _Unusable(Exception):
    """A sentence that says why an entry point adds no tool."""


@dataclass(frozen=True, slots=True)
class Added:
    """What the entry points gave: the tools by their types, and a sentence about each that cannot be used."""

    tools: Mapping[str, Any]
    mistakes: tuple[str, ...]


@cache
def declarations() -> Mapping[str, Declaration]:
    """Every hosted tool of this process, by its type."""
    own = {declaration.type: declaration for declaration in BUILT_IN}
    return MappingProxyType(own | {kind: tool.declaration for kind, tool in added().tools.items()})


def is_served(tool_type: str) -> bool:
    """Whether the service runs tools of a type by itself."""
    return tool_type == MCP or tool_type in declarations()


def is_ours(item_type: str) -> bool:
    """Whether items of a type, in either spelling, are receipts of tools that the service runs."""
    return is_receipt(item_type) or item_type in by_receipt(declarations().values())


@cache
def added() -> Added:
    """What installed packages add, each loaded once in a process."""
    tools: dict[str, Any] = {}
    mistakes: list[str] = []
    taken = {name for declaration in BUILT_IN for name in (declaration.type, declaration.receipt_type)}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            tool = _loaded(point)
            _check_names(tool.declaration, taken)
        except _Unusable as error:
            package = point.dist.name if point.dist else "an installed package"
            mistakes.append(f"The tool '{point.name}' of {package} ({point.value}) cannot be used: {error}")
            log.error("a hosted tool cannot be used", tool=point.name, package=package, reason=str(error))
        else:
            taken.update(_names(tool.declaration))
            tools[tool.declaration.type] = tool
    return Added(MappingProxyType(tools), tuple(mistakes))


def _loaded(point: EntryPoint) -> Any:
    try:
        found = point.load()
        tool = found() if isinstance(found, type) else found
        declaration = tool.declaration
        if isinstance(declaration, Declaration):
            TypeAdapter(declaration.entry)
    except Exception as error:  # a stranger's code may raise anything
        raise _Unusable(f"it cannot be loaded ({type(error).__name__}: {error}).") from error
    if not isinstance(declaration, Declaration) or not callable(getattr(tool, "run", None)):
        raise _Unusable("it must be a HostedTool, with a 'declaration' and a 'run'.")
    return tool


def _check_names(declaration: Declaration, taken: set[str]) -> None:
    for name in _names(declaration):
        if not is_vendor_type(name) or name.startswith(_OWN_PREFIX):
            raise _Unusable(
                f"'{name}' must have its vendor's prefix, as 'acme:{name.rpartition(':')[2]}' has."
            )
        if name in taken:
            raise _Unusable(f"the type '{name}' is another tool's already.")
    if declaration.type == declaration.receipt_type:
        raise _Unusable(f"its receipts need another type than the tool itself: '{declaration.type}'.")


def _names(declaration: Declaration) -> Iterator[str]:
    yield declaration.type
    yield declaration.receipt_type
