"""Which part of a conversation may be left out so that the rest fits a model's context window.

Only whole turns are dropped, the oldest first: a turn is a message of the user and what follows it until the next.
System and developer messages and the newest turn are never dropped, nor a function call without its output or the
reverse: turns that such a pair joins go together.
Specification: `TruncationEnum`. What was dropped is told in `antiphon:truncation`, an event and a field of the
response.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from responses_api.protocol.plain import Json

_INSTRUCTING = frozenset({"system", "developer"})
_MOST_RESERVED = 4096


@dataclass(frozen=True, slots=True)
class Truncation:
    """What was dropped; `input_tokens` are those of the rest. Both figures are None where nobody knows them."""

    dropped_items: int
    dropped_turns: int
    input_tokens: int | None
    context_window: int | None

    def to_plain(self) -> Json:
        """The field, and the payload of the event."""
        return {
            "dropped_items": self.dropped_items,
            "dropped_turns": self.dropped_turns,
            "input_tokens": self.input_tokens,
            "context_window": self.context_window,
        }


def input_budget(context_window: int, max_output_tokens: int | None) -> int:
    """The tokens that an input may have, with room left for its answer.

    The room is `max_output_tokens`; without it, or where that alone would fill the window, a quarter of the window, at
    most 4,096 tokens.
    """
    room = max_output_tokens
    if room is None or room >= context_window:
        room = min(context_window // 4, _MOST_RESERVED)
    return context_window - room


def droppable_turns(context: Sequence[Json]) -> list[list[int]]:
    """The turns that may be dropped, oldest first, each as the places of its items in `context` (canonical items)."""
    starts = _turn_starts(context)
    turns: list[list[int]] = [[] for _ in starts]
    for place, item in enumerate(context):
        if not _instructs(item):
            turns[bisect_right(starts, place) - 1].append(place)
    return turns[:-1]


def _turn_starts(context: Sequence[Json]) -> list[int]:
    """The places at which turns begin, in order."""
    starts: list[int] = []
    calls: dict[str, int] = {}
    for place, item in enumerate(context):
        kind = item["type"]
        if _instructs(item):
            continue
        if not starts or (kind == "message" and item["role"] == "user"):
            starts.append(place)
        if kind == "function_call":
            calls[item["call_id"]] = place
        elif kind == "function_call_output":
            # The turns from that of its call on are one.
            of_call = bisect_right(starts, calls.get(item["call_id"], place))
            del starts[of_call:]
    return starts


def _instructs(item: Json) -> bool:
    return item["type"] == "message" and item["role"] in _INSTRUCTING
