"""Which HTTP headers a client may have sent to an MCP server: those that say who asks, none that the protocols need.

MCP specification: "Transports", Streamable HTTP; RFC 9110, sections 5 to 8.
"""

import re
from typing import Final

_NAME: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
# Visible ASCII with spaces and tabs inside: what every server reads as one value.
_VALUE: Final = re.compile(r"[!-~](?:[ -~\t]*[!-~])?")
_OWN: Final = frozenset(
    {
        "host",
        "content-length",
        "content-type",
        "content-encoding",
        "transfer-encoding",
        "connection",
        "keep-alive",
        "upgrade",
        "te",
        "trailer",
        "expect",
        "accept",
        "accept-encoding",
        "last-event-id",
    }
)
_OWN_PREFIXES: Final = ("mcp-", "proxy-")


def is_own_header(name: str) -> bool:
    """Whether the service sets this header by itself, or the connection needs it, so that no client may."""
    lower = name.lower()
    return lower in _OWN or lower.startswith(_OWN_PREFIXES)


def is_header_name(name: str) -> bool:
    """Whether this can be a header's name at all."""
    return _NAME.fullmatch(name) is not None


def is_header_value(value: str) -> bool:
    """Whether this can be a header's value: visible ASCII characters, spaces and tabs inside."""
    return _VALUE.fullmatch(value) is not None
