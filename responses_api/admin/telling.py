"""The events of an ended response, in their order, a window at a time: made again of its items and its score."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from responses_api.admin.shown import cut, pretty
from responses_api.models.response import UNFINISHED
from responses_api.protocol.plain import Json
from responses_api.protocol.score import perform
from responses_api.protocol.sse import decode, frames_to_data
from responses_api.services.stored import snapshots
from tenants.admin.base import show_time

WINDOW: Final = 500
"""Events on one page."""

_LONGEST_TEXT: Final = 20_000


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its number and type, the text that it adds, and all of it as JSON."""

    number: int
    type: str
    text: str
    data: str


@dataclass(frozen=True, slots=True)
class Telling:
    """A window of the events. `as_sent` is false where nobody wrote down how the stream was cut."""

    events: list[Event]
    first: int
    previous: int | None
    following: int | None
    has_ended: bool
    as_sent: bool
    began: str | None
    ended: str | None


def told(row: Any, *, first: int) -> Telling:
    """The events of a row from the number `first` on, inside a scope that sees it."""
    has_ended = row.status not in UNFINISHED
    events = list(islice(_events(row), first, first + WINDOW + 1)) if has_ended else []
    return Telling(
        events=events[:WINDOW],
        first=first,
        previous=max(first - WINDOW, 0) if first else None,
        following=first + WINDOW if len(events) > WINDOW else None,
        has_ended=has_ended,
        as_sent="signs" in (row.score or {}),
        began=show_time(row.created_at),
        ended=show_time(row.completed_at),
    )


def _events(row: Any) -> Iterator[Event]:
    for number, frame in enumerate(perform(snapshots([row])[0], row.score)):
        for data in frames_to_data(frame):
            yield _event(number, decode(data))


def _event(number: int, event: Json) -> Event:
    delta = event.get("delta")
    text = delta if isinstance(delta, str) else ""
    return Event(number, str(event["type"]), text, cut(pretty(event), _LONGEST_TEXT))
