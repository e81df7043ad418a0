"""The streaming events as the reference lists them: their names and what they tell, from the published types."""

from dataclasses import dataclass
from typing import get_args, get_type_hints

from responses_api.protocol.published.events import ResponseStreamEvent


@dataclass(frozen=True, slots=True)
class Event:
    """An event: its names (raw reasoning and receipts have two), what it tells, and its fields besides the type."""

    names: tuple[str, ...]
    tells: str
    fields: tuple[str, ...]


def events() -> list[Event]:
    """Every event that a stream may have."""
    union, _ = get_args(ResponseStreamEvent.__value__)
    return [_event(shape) for shape in get_args(union)]


def _event(shape: type) -> Event:
    hints = get_type_hints(shape)
    return Event(
        names=get_args(hints["type"]),
        tells=" ".join((shape.__doc__ or "").split()),
        fields=tuple(name for name in hints if name not in ("type", "sequence_number")),
    )
