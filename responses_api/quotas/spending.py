"""What a response used, and what that costs. Pure.

Money is whole nano-units (1e-9) of the currency; prices are nano-units for a million tokens.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Final

from responses_api.protocol.items import ITEM_STATE
from responses_api.protocol.plain import Json
from tenants.metrics import MOST

_MILLION: Final = 1_000_000
_BYTES_PER_TOKEN: Final = 4


@dataclass(frozen=True, slots=True)
class Used:
    """The tokens of one response, or of several attempts at it. `is_estimated`: its backend told none."""

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    is_estimated: bool = False

    @property
    def tokens(self) -> int:
        """What a limit of tokens counts."""
        return min(MOST, self.input_tokens + self.output_tokens)

    def plus(self, other: "Used") -> "Used":
        """Both together."""
        return Used(
            self.input_tokens + other.input_tokens,
            self.cached_tokens + other.cached_tokens,
            self.output_tokens + other.output_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.is_estimated or other.is_estimated,
        )

    def at_least(self, told: "Used") -> "Used":
        """This, but of each kind no less than what a backend told."""
        most = {
            name: max(count, getattr(told, name))
            for name, count in self.to_plain().items()
            if name != "is_estimated"
        }
        return Used(**most, is_estimated=self.is_estimated)

    def to_plain(self) -> Json:
        """Every field as JSON."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @staticmethod
    def from_plain(plain: Json | None) -> "Used":
        """The inverse of `to_plain`; None is nothing."""
        return Used(**(plain or {}))

    @staticmethod
    def from_usage(usage: Json) -> "Used":
        """What a response's `usage` tells."""
        return Used(
            usage["input_tokens"],
            usage["input_tokens_details"]["cached_tokens"],
            usage["output_tokens"],
            usage["output_tokens_details"]["reasoning_tokens"],
        )


FREE_PRICES: Final[Json] = {"input": 0, "cached_input": 0, "output": 0}
"""Those of a model that has none."""


def cost(used: Used, prices: Json | None) -> int:
    """What was used costs so many nano-units, rounded up; at most `MOST`."""
    if not prices:
        return 0
    cached = min(used.cached_tokens, used.input_tokens)
    parts: tuple[int, ...] = (
        (used.input_tokens - cached) * prices["input"],
        cached * prices["cached_input"],
        used.output_tokens * prices["output"],
    )
    return min(MOST, -(-sum(parts) // _MILLION))


def most_cost(input_tokens: int, output_tokens: int, prices: Json | None) -> int:
    """The most that so many tokens can cost, however many of them are cached."""
    if not prices:
        return 0
    dearest = {**prices, "input": max(prices["input"], prices["cached_input"])}
    return cost(Used(input_tokens, 0, output_tokens), dearest)


def guessed(texts: Iterable[str]) -> int:
    """About how many tokens these texts have, for want of anybody who knows: one for four bytes."""
    size = sum(map(byte_length, texts))
    return -(-size // _BYTES_PER_TOKEN)


def said_in(output: Iterable[Json]) -> list[str]:
    """What a model said in these output items: its texts, and the names and arguments of its calls."""
    return [text for item in output for text in strings(item)]


_LABELS: Final = frozenset(
    {
        "type",
        "id",
        "status",
        "role",
        "image_url",
        "detail",
        "phase",
        "object",
        "encrypted_content",
        ITEM_STATE,
    }
)


def strings(value: Any) -> Iterable[str]:
    """The texts in an item that a model reads or says: without the labels around them, and without images."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            if name not in _LABELS:
                yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def byte_length(text: str) -> int:
    """How many bytes a text has in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
