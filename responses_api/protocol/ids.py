"""The shape of every identifier: a prefix, the milliseconds it was made at, and unguessable bytes.

Ids sort by time, so that they are good primary keys. Time and entropy are handed in: this module has neither.
"""

from collections.abc import Callable

from responses_api.protocol.server_tools import (
    FILE_SEARCH_CALL,
    MCP_APPROVAL_REQUEST,
    MCP_APPROVAL_RESPONSE,
    MCP_CALL,
    MCP_LIST_TOOLS,
    canonical_type,
)

RESPONSE = "resp"
MESSAGE = "msg"
FUNCTION_CALL = "fc"
FUNCTION_CALL_OUTPUT = "fco"
REASONING = "rs"
COMPACTION = "cmp"
FILE = "file"
CHUNK = "chunk"

ENTROPY_BYTES = 16

IdFactory = Callable[[str], str]
"""Makes a new id for a prefix. Injected wherever ids are needed."""

_ITEM_PREFIXES = {
    "message": MESSAGE,
    "function_call": FUNCTION_CALL,
    "function_call_output": FUNCTION_CALL_OUTPUT,
    "reasoning": REASONING,
    "compaction": COMPACTION,
    MCP_LIST_TOOLS: "mcpl",
    MCP_CALL: "mcp",
    MCP_APPROVAL_REQUEST: "mcpr",
    MCP_APPROVAL_RESPONSE: "mcpa",
    FILE_SEARCH_CALL: "fs",
}


def build_id(prefix: str, unix_ms: int, entropy: bytes) -> str:
    """Join a prefix, a time in milliseconds since the epoch and 16 random bytes into an id.

    Raises ValueError when the entropy is not exactly 16 bytes: a short id would be guessable.
    """
    if len(entropy) != ENTROPY_BYTES:
        raise ValueError(f"an id needs {ENTROPY_BYTES} bytes of entropy, not {len(entropy)}")
    return f"{prefix}_{unix_ms:012x}{entropy.hex()}"


def first_id(prefix: str, unix_ms: int) -> str:
    """Sorts before every id of this prefix that was made at `unix_ms` (milliseconds) or later, and after all others."""
    return f"{prefix}_{max(0, unix_ms):012x}"


def item_prefix(item_type: str) -> str:
    """The id prefix of an item type, a receipt's in either spelling; other vendor-prefixed types share `item`."""
    return _ITEM_PREFIXES.get(canonical_type(item_type), "item")
