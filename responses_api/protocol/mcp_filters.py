"""Which tools of an MCP server a request means: by its `allowed_tools`, and by the sides of its `require_approval`."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from responses_api.protocol.plain import Json


@dataclass(frozen=True, slots=True)
class Filter:
    """Tools by their names (in the order in which the request has them), and by what the server says of them. What is
    None does not matter.
    """

    names: Set[str] | None = None
    read_only: bool | None = None

    def matches(self, tool: Json) -> bool:
        """Whether a listed tool is meant."""
        hint = bool((tool.get("annotations") or {}).get("readOnlyHint"))
        return (self.names is None or tool["name"] in self.names) and (
            self.read_only is None or hint == self.read_only
        )

    def may_match(self, name: str | None) -> bool:
        """Whether a tool of this name (None: any at all) may be meant, before the server has listed any."""
        return self.names is None or (bool(self.names) if name is None else name in self.names)


def read_filter(told: Sequence[str] | Json | None) -> Filter:
    """A list of names, or an object with `tool_names` and `read_only`; nothing means all."""
    if told is None:
        return Filter()
    if not isinstance(told, Mapping):
        return Filter(_in_order(told))
    names = told.get("tool_names")
    return Filter(None if names is None else _in_order(names), told.get("read_only"))


def wants_approval(told: str | Json | None, tool: Json) -> bool:
    """Whether calls of a listed tool have to be allowed first, by a request's `require_approval`: always, unless it
    says otherwise of this tool.
    """
    if not isinstance(told, Mapping):
        return told != "never"
    never, always = told.get("never"), told.get("always")
    if always is not None and read_filter(always).matches(tool):
        return True
    return never is None or not read_filter(never).matches(tool)


def _in_order(names: Sequence[str]) -> Set[str]:
    return dict.fromkeys(names).keys()
