"""Plays a scenario: the bytes of an upstream through its adapter and the emitter, ids and clock predictable."""

from collections.abc import Iterable
from pathlib import Path

from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.plain import Json
from responses_api.protocol.sse import DONE
from tests.unit.workers.builders import base_snapshot, counting_ids, make_job
from workers.backends.parts import Part
from workers.backends.registry import adapter_for
from workers.emitter import Emitter

FOLDER = Path(__file__).parent
UPSTREAM = ".upstream.txt"
EVENTS = ".events.jsonl"
ENDED_AT = 1_750_000_009
_ROWS: dict[str, Json] = {
    "responses": {"kind": "responses", "passthrough_tool_types": ["web_search", "code_interpreter", "acme:*"]}
}


def scenarios() -> list[str]:
    """The names of all scenarios, as `kind/name`."""
    return sorted(
        f"{path.parent.name}/{path.name.removesuffix(UPSTREAM)}" for path in FOLDER.glob(f"*/*{UPSTREAM}")
    )


def upstream_bytes(scenario: str) -> bytes:
    """What the upstream says."""
    return (FOLDER / (scenario + UPSTREAM)).read_bytes()


def events_path(scenario: str) -> Path:
    """Where the expected events are, one a line."""
    return FOLDER / (scenario + EVENTS)


def parts_of(scenario: str, chunks: Iterable[bytes]) -> tuple[list[Part], ProtocolError | None]:
    """What the adapter makes of the chunks, and how it fails at the end."""
    kind = scenario.partition("/")[0]
    stream = adapter_for(kind).open_stream(make_job(row=_ROWS.get(kind)))
    parts = [part for chunk in chunks for part in stream.feed(chunk)]
    try:
        return parts + stream.close(), None
    except ProtocolError as error:
        return parts, error


def play(scenario: str) -> bytes:
    """The whole stream a client would get."""
    emitter = Emitter(base_snapshot(), new_id=counting_ids(), clock=lambda: ENDED_AT)
    emitter.start()
    parts, error = parts_of(scenario, [upstream_bytes(scenario)])
    for part in parts:
        emitter.feed(part)
    if error is None:
        emitter.finish()
    else:
        emitter.fail(error)
    return emitter.drain() + emitter.terminal() + DONE
