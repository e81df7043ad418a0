"""Plays a scenario: the bytes of an upstream through its adapter and the emitter, ids and clock predictable."""

from collections.abc import Iterable
from pathlib import Path

from responses_api.protocol.backend import BackendSpec
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.plain import Json
from responses_api.protocol.sse import DONE
from tests.unit.workers.builders import base_snapshot, counting_ids, make_job
from workers.backends.answer import AnswerStream
from workers.backends.parts import Part
from workers.backends.registry import adapter_of
from workers.emitter import Emitter

FOLDER = Path(__file__).parent
UPSTREAM = ".upstream.txt"
EVENTS = ".events.jsonl"
EMULATED = "emulated"
ENDED_AT = 1_750_000_009
FIND_BOAT: Json = {"type": "function", "name": "find_boat"}
_ROWS: dict[str, Json] = {
    EMULATED: {"kind": "chat_completions", "tools": EMULATED},
    "responses": {
        "kind": "responses",
        "passthrough_tool_types": ["web_search", "code_interpreter", "acme:*"],
    },
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
    stream = open_stream(scenario.partition("/")[0])
    parts = [part for chunk in chunks for part in stream.feed(chunk)]
    try:
        return parts + stream.close(), None
    except ProtocolError as error:
        return parts, error


def open_stream(folder: str) -> AnswerStream:
    """What reads the answers of a folder: a kind's, or those of models that call tools by a schema."""
    row = _ROWS.get(folder, {"kind": folder})
    job = make_job(row=row, tools=[FIND_BOAT] if folder == EMULATED else [])
    return adapter_of(BackendSpec.from_plain(job.backend)).open_stream(job)


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
