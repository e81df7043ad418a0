"""What a compaction leaves of a conversation: the messages that others than the model wrote, and one compaction item.

Both ways to compact, `POST /v1/responses/compact` and a `compaction_trigger` in a create request, follow this rule, and
so does the chain that goes on behind one. Specification: "Compaction", `CompactResource`.
"""

from collections.abc import Sequence
from typing import Final

from responses_api.protocol.plain import Json

COMPACTION: Final = "compaction"
TRIGGER: Final = "compaction_trigger"

KEPT_ROLES: Final = ("user", "system", "developer")
"""Whose words are kept as they are. All else is in the summary."""


def kept(context: Sequence[Json]) -> list[Json]:
    """The items of a conversation that stay beside the compaction item, in their order."""
    return [item for item in context if item["type"] == "message" and item["role"] in KEPT_ROLES]


def continued(context: Sequence[Json], output: Sequence[Json]) -> list[Json]:
    """The conversation behind a response that was asked on top of `context` and answered `output`."""
    is_compacted = any(item["type"] == COMPACTION for item in output)
    return [*(kept(context) if is_compacted else context), *output]
