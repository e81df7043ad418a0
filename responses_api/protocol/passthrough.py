"""Types of tools and items that the service knows nothing of, and which of them belong together.

A backend that speaks Responses may run or know tools of its own (`web_search`, `acme:lookup`); its row names their
types, by patterns where `*` stands for anything. What such a tool leaves in a conversation are items: of its type with
`_call`, answered by `_call_output`, unless the table says otherwise; of a vendor's tools all items of that vendor.
"""

import re
from collections.abc import Iterable
from typing import Final

from responses_api.protocol.given_receipts import SPELLINGS
from responses_api.protocol.items import SUPPORTED_TYPES
from responses_api.protocol.patterns import matches
from responses_api.protocol.validation import is_vendor_type

_NEVER: Final = frozenset({"function", "mcp"})
"""Functions are no passthrough. What the tools of an MCP server may do is a matter of policies, by its address and
their names: a backend that calls them by itself could not be held to that.
"""

_ITEMS: Final[dict[str, tuple[str, ...]]] = {
    "custom": ("custom_tool_call", "custom_tool_call_output"),
    **dict.fromkeys(("computer", "computer_use"), ("computer_call", "computer_call_output")),
    "tool_search": ("tool_search_call", "tool_search_output"),
}
_VERSION: Final = re.compile(r"(_preview)?(_\d{4}_\d{2}_\d{2})?$")
"""How a tool's type says which version of it is meant; its items do not."""


def is_foreign(item_type: str) -> bool:
    """Whether an item's type is none of the specification's, a vendor's types among them."""
    return item_type not in SUPPORTED_TYPES


def takes_tool(patterns: Iterable[str], tool_type: str) -> bool:
    """Whether a tool of this type is one of those that these patterns name."""
    return tool_type not in _NEVER and any(matches(pattern, tool_type) for pattern in patterns)


def takes_item(patterns: Iterable[str], item_type: str) -> bool:
    """Whether an item of this type can come of a tool that these patterns name. Receipts of MCP servers' tools are the
    service's own.
    """
    return (
        is_foreign(item_type)
        and item_type not in SPELLINGS
        and any(matches(pattern, item_type) for named in patterns for pattern in _items_of(named))
    )


def _items_of(tool_type: str) -> tuple[str, ...]:
    """The types, or patterns of types, of the items that come of a tool."""
    if is_vendor_type(tool_type):
        return (tool_type.partition(":")[0] + ":*",)
    if tool_type in _NEVER:
        return ()
    if tool_type == "*":
        return ("*",)
    plain = _VERSION.sub("", tool_type)
    return _ITEMS.get(plain, (f"{plain}_call", f"{plain}_call_output"))
