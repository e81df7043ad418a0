"""How long MCP servers may take, and how much they may say."""

from dataclasses import dataclass
from typing import Final

from django.conf import settings

_MEGABYTE: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class McpLimits:
    """`connect_seconds` are for a new connection, and for a list of tools; `call_seconds` for a call. `result_bytes`
    are what a receipt holds of a result at most. A connection that nobody uses is kept for `idle_seconds`, a list of
    tools for `list_seconds` at most.
    """

    connect_seconds: float = 10.0
    call_seconds: float = 60.0
    result_bytes: int = _MEGABYTE
    idle_seconds: float = 120.0
    list_seconds: float = 300.0

    @property
    def answer_bytes(self) -> int:
        """The longest answer that is read: an image's bytes are in it, though no receipt holds them."""
        return 4 * max(self.result_bytes, _MEGABYTE)

    @classmethod
    def of_settings(cls) -> "McpLimits":
        """As the operator set them."""
        return cls(
            connect_seconds=settings.MCP_CONNECT_SECONDS,
            call_seconds=settings.TOOL_SECONDS,
            result_bytes=settings.MAX_TOOL_RESULT_BYTES,
        )
