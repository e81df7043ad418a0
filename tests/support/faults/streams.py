"""Faults of streams: framing (S1) and events (S2 to S9)."""

from responses_api.conformance.prompts import COUNT, GOODBYE, HELLO
from responses_api.protocol import event_types as t
from responses_api.protocol.plain import Json
from tests.support.faults.changes import (
    asking,
    creates,
    creates_only,
    drop,
    find,
    in_response,
    insert,
    number_from,
    put,
    repeat,
    set_in,
    status,
)
from tests.support.faults.fault import Fault

TEXT = creates_only(input=HELLO, stream=True)
CALL = creates(stream=True, tool_choice="required")
_LATE: Json = {"type": "acme:late"}
_UNKNOWN: Json = {"type": "response.output_text.sung"}


def _framed(name: str, rule: str, frames: object) -> Fault:
    return Fault(name, (rule,), TEXT, frames=frames)  # type: ignore[arg-type]


def _split(frames: list[bytes]) -> list[bytes]:
    return [frames[0], frames[1][:20], frames[1][20:], *frames[2:]]


def _everywhere(*path: str | int, value: object) -> object:
    """Change a value of the first item, in its last event and in the final response."""

    def change(events: list[Json]) -> list[Json]:
        set_in(events[find(events, t.OUTPUT_ITEM_DONE)]["item"], *path, value=value)
        set_in(events[-1]["response"]["output"][0], *path, value=value)
        return events

    return change


FRAMING = [
    _framed("done is missing", "framing.done", lambda frames: frames[:-1]),
    _framed("done comes twice", "framing.done", lambda frames: [*frames, frames[-1]]),
    _framed("done comes early", "framing.done", lambda frames: [*frames[:-2], frames[-1], frames[-2]]),
    _framed(
        "a wrong event name",
        "framing.event-name",
        lambda frames: [one.replace(b"event: response.completed", b"event: response.done") for one in frames],
    ),
    _framed(
        "no event name",
        "framing.event-name",
        lambda frames: [one.replace(b"event: response.completed\n", b"") for one in frames],
    ),
    _framed("an id line", "framing.no-id", lambda frames: [b"id: 1\n" + frames[0], *frames[1:]]),
    _framed(
        "an event without a type",
        "framing.json",
        lambda frames: [frames[0], b"event: x\ndata: {}\n\n", *frames[1:]],
    ),
    _framed("an event that is no JSON", "framing.json", lambda frames: [b"data: {\n\n", *frames]),
    _framed("an event in two writes", "framing.whole-writes", _split),
    Fault("a stream of another type", ("framing.content-type",), TEXT, stream_type="text/plain"),
]

EVENTS = [
    Fault("no created", ("streams.beginning",), TEXT, events=drop(t.CREATED)),
    Fault("no in_progress", ("streams.beginning",), TEXT, events=drop(t.IN_PROGRESS)),
    Fault(
        "the first snapshot is completed",
        ("streams.beginning",),
        TEXT,
        events=put(t.CREATED, "response", "status", value="completed"),
    ),
    Fault(
        "a gap in the numbers",
        ("streams.numbers",),
        TEXT,
        events=number_from(1, t.OUTPUT_TEXT_DELTA),
        is_renumbered=False,
    ),
    Fault(
        "numbers from 1", ("streams.numbers",), TEXT, events=number_from(1, t.CREATED), is_renumbered=False
    ),
    Fault("two terminal events", ("streams.end",), TEXT, events=repeat(t.COMPLETED)),
    Fault("an event after the terminal one", ("streams.end",), TEXT, events=insert(_LATE, t.COMPLETED)),
    Fault("an item is never done", ("streams.items",), TEXT, events=drop(t.OUTPUT_ITEM_DONE)),
    Fault("an item is done twice", ("streams.items",), TEXT, events=repeat(t.OUTPUT_ITEM_DONE)),
    Fault("an item is added twice", ("streams.items",), TEXT, events=repeat(t.OUTPUT_ITEM_ADDED)),
    Fault(
        "a delta names another item",
        ("streams.ids",),
        TEXT,
        events=put(t.OUTPUT_TEXT_DELTA, "item_id", value="msg_other"),
    ),
    Fault(
        "an item ends under another id",
        ("streams.ids",),
        TEXT,
        events=put(t.OUTPUT_ITEM_DONE, "item", "id", value="msg_other"),
    ),
    Fault(
        "snapshots of two responses",
        ("streams.ids",),
        TEXT,
        events=put(t.IN_PROGRESS, "response", "id", value="resp_other"),
    ),
    Fault(
        "no text before its end",
        ("streams.deltas", "streams.parts"),
        TEXT,
        events=lambda events: [event for event in events if event["type"] != t.OUTPUT_TEXT_DELTA],
    ),
    Fault("a delta is lost", ("streams.parts",), TEXT, events=drop(t.OUTPUT_TEXT_DELTA)),
    Fault("a delta is told twice", ("streams.parts",), TEXT, events=repeat(t.OUTPUT_TEXT_DELTA)),
    Fault(
        "the joined text is wrong",
        ("streams.parts",),
        TEXT,
        events=put(t.OUTPUT_TEXT_DONE, "text", value="x"),
    ),
    Fault("a part is never done", ("streams.parts",), TEXT, events=drop(t.CONTENT_PART_DONE)),
    Fault("a part is never added", ("streams.parts",), TEXT, events=drop(t.CONTENT_PART_ADDED)),
    Fault(
        "an unfinished item in a completed response",
        ("streams.outcome",),
        TEXT,
        events=_everywhere("status", value="in_progress"),  # type: ignore[arg-type]
        response=in_response("output", 0, "status", value="in_progress"),
    ),
    Fault(
        "null where a number belongs",
        ("streams.shapes",),
        TEXT,
        events=put(t.CREATED, "response", "temperature", value=None),
    ),
    Fault(
        "null where a field may only be absent",
        ("streams.shapes",),
        TEXT,
        events=put(t.OUTPUT_TEXT_DELTA, "obfuscation", value=None),
    ),
    Fault("an event nobody knows", ("streams.shapes",), TEXT, events=insert(_UNKNOWN, t.OUTPUT_TEXT_DELTA)),
    Fault(
        "the end tells other usage than GET",
        ("streams.get-equal",),
        TEXT,
        events=put(t.COMPLETED, "response", "usage", "output_tokens", value=0),
    ),
    Fault(
        "GET is too early right after the end",
        ("streams.get-at-once",),
        creates(input=GOODBYE, stream=True),
        frames=list,
        reply=status(404),
    ),
    Fault(
        "no reason for an incomplete answer",
        ("streams.cut-short",),
        creates(input=COUNT, stream=True),
        events=put(t.INCOMPLETE, "response", "incomplete_details", "reason", value=""),
    ),
    Fault(
        "padding that nobody wants",
        ("streams.obfuscation",),
        creates(stream_options={"include_obfuscation": False}),
        call=asking(stream_options=None),
    ),
    Fault("arguments are lost", ("streams.calls",), CALL, events=drop(t.FUNCTION_CALL_ARGUMENTS_DELTA)),
    Fault("arguments are never done", ("streams.calls",), CALL, events=drop(t.FUNCTION_CALL_ARGUMENTS_DONE)),
    Fault(
        "a call's id changes",
        ("streams.calls",),
        CALL,
        events=put(t.OUTPUT_ITEM_ADDED, "item", "call_id", value="call_other"),
    ),
]
