"""Everything an emitter told, read back from its frames and judged by the rules of streams."""

from collections.abc import Callable, Iterable
from typing import Any

from responses_api.conformance.stream import assert_stream
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.plain import Json
from responses_api.protocol.sse import DONE
from tests.support.oracle import event_faults
from tests.unit.workers.builders import base_snapshot, counting_ids
from workers.backends.parts import Part
from workers.emitter import Emitter

ENDED_AT = 1_750_000_009


def new_emitter(**options: Any) -> Emitter:
    """An emitter with predictable ids and a stopped clock."""
    return Emitter(base_snapshot(), new_id=counting_ids(), clock=lambda: ENDED_AT, **options)


def tell(
    parts: Iterable[Part],
    end: Callable[[Emitter], None] = Emitter.finish,
    *,
    check: bool = True,
    **options: Any,
) -> list[Json]:
    """The events of an answer made of these parts, in order; every stream is checked against the rules.

    Parts that the emitter refuses fail the response, as a worker does.
    """
    emitter = new_emitter(**options)
    play(emitter, parts, end)
    return read_back(emitter, check=check)


def play(emitter: Emitter, parts: Iterable[Part], end: Callable[[Emitter], None]) -> None:
    """Run an emitter from its start to its end; parts that it refuses fail the response, as in a worker."""
    emitter.start()
    try:
        for part in parts:
            emitter.feed(part)
        end(emitter)
    except ProtocolError as error:
        emitter.fail(error)


def read_back(emitter: Emitter, *, check: bool = True) -> list[Json]:
    """The events that an ended emitter made, its terminal event included."""
    final = emitter.response
    raw = emitter.drain() + emitter.terminal() + DONE
    stream = assert_stream(raw, validate=event_faults if check else None)
    assert stream.final == final
    return stream.events


def kinds(events: Iterable[Json]) -> list[str]:
    """The types of events without the common prefix."""
    return [event["type"].removeprefix("response.") for event in events]


def final(events: list[Json]) -> Json:
    """The response of the terminal event."""
    response: Json = events[-1]["response"]
    return response


def of_kind(events: Iterable[Json], kind: str) -> list[Json]:
    """The events of one type."""
    return [event for event in events if event["type"] == f"response.{kind}"]
