"""The invariants of a response stream, checked from what a client receives.

S1 framing; S2 the beginning and the numbers; S3 the end; S4 the life of items; S5 ids and indexes; S6 parts;
S7 function calls; S8 what the final status implies; S9 schemas and the later GET.
Specification: "Streaming".
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from responses_api.conformance.items import ItemLife, is_of_item
from responses_api.conformance.violations import Findings, Violation
from responses_api.protocol import event_types as t
from responses_api.protocol.passthrough import is_foreign
from responses_api.protocol.plain import Json
from responses_api.protocol.server_tools import is_receipt
from responses_api.protocol.sse import SseDecoder, SseEvent, decode

Validate = Callable[[Json], Iterable[str]]
"""Says what is wrong with an event by its schema; nothing when it is valid."""

_STATUS = {
    t.CREATED: ("queued", "in_progress"),
    t.QUEUED: ("queued",),
    t.IN_PROGRESS: ("in_progress",),
    t.COMPLETED: ("completed",),
    t.FAILED: ("failed",),
    t.INCOMPLETE: ("incomplete", "cancelled"),
}
_ID_LINE = re.compile(rb"(?:\A|[\r\n])id(?:[:\r\n]|\Z)")


@dataclass(frozen=True, slots=True)
class Stream:
    """A received stream: its frames, the events in them, and every rule they break."""

    frames: list[SseEvent]
    events: list[Json]
    violations: list[Violation]

    @property
    def final(self) -> Json | None:
        """The response of the terminal event."""
        for event in self.events:
            if event.get("type") in t.TERMINAL_TYPES:
                return _object(event.get("response"))
        return None


def check_sse(raw: bytes, *, validate: Validate | None = None) -> Stream:
    """Check the whole body of an SSE answer against all rules."""
    findings = Findings()
    decoder = SseDecoder()
    frames = decoder.feed(raw)
    cut = decoder.close()
    findings.require(not cut, "S1", "the last event is not ended by a blank line", "json")
    findings.require(not _ID_LINE.search(raw), "S1", "there are id: lines", "id")
    frames += cut
    events = _events_of_frames(frames, findings)
    return Stream(frames, events, findings.found + check_events(events, validate=validate))


def check_messages(messages: Iterable[str], *, validate: Validate | None = None) -> Stream:
    """Check the text frames of one response on a WebSocket against all rules."""
    findings = Findings()
    frames = [SseEvent(None, message) for message in messages]
    events = [event for frame in frames if (event := _parse(frame.data, findings)) is not None]
    return Stream(frames, events, findings.found + check_events(events, validate=validate))


def check_events(events: Sequence[Json], *, validate: Validate | None = None) -> list[Violation]:
    """Check parsed events, in the order they came, against S2 to S9."""
    findings = Findings()
    _check_beginning(events, findings)
    _check_end(events, findings)
    _check_items(events, findings)
    if validate is not None:
        for event in events:
            for fault in validate(event):
                findings.add("S9", f"{event.get('type')} {event.get('sequence_number')}: {fault}")
    return findings.found


def assert_stream(raw: bytes, *, validate: Validate | None = None) -> Stream:
    """The checked stream; raises AssertionError listing every violation when there is one."""
    stream = check_sse(raw, validate=validate)
    if stream.violations:
        raise AssertionError("\n".join(map(str, stream.violations)))
    return stream


def compare_with_get(final: Json, got: Json) -> list[Violation]:
    """S9: the terminal snapshot is what GET answers afterwards, field by field."""
    return [
        Violation("S9", f"'{name}' ended as {final.get(name)!r} and GET answers {got.get(name)!r}")
        for name in sorted(final.keys() | got.keys())
        if name not in final or name not in got or final[name] != got[name]
    ]


def _events_of_frames(frames: Sequence[SseEvent], findings: Findings) -> list[Json]:
    """The events in SSE frames, checking S1 on the way."""
    events: list[Json] = []
    dones = [index for index, frame in enumerate(frames) if frame.data == "[DONE]"]
    if dones != [len(frames) - 1]:
        findings.add("S1", f"[DONE] must come once, last: seen at {dones} of {len(frames)} frames", "done")
    for frame in frames:
        if frame.data == "[DONE]":
            continue
        event = _parse(frame.data, findings)
        if event is not None:
            named = event.get("type")
            findings.require(
                frame.event == named, "S1", f"event: {frame.event} names the type {named}", "name"
            )
            events.append(event)
    return events


def _parse(data: str, findings: Findings) -> Json | None:
    try:
        event = decode(data)
    except ValueError:
        event = None
    if not isinstance(event, dict) or not isinstance(event.get("type"), str):
        findings.add("S1", f"not a JSON object with a type: {data[:80]!r}", "json")
        return None
    return event


def _check_beginning(events: Sequence[Json], findings: Findings) -> None:
    """S2, and that every snapshot is of one response, with the status its event says."""
    kinds = [event["type"] for event in events]
    starts = [kind for kind in kinds if kind in (t.CREATED, t.QUEUED, t.IN_PROGRESS)]
    expected = [t.CREATED, t.QUEUED, t.IN_PROGRESS] if t.QUEUED in starts else [t.CREATED, t.IN_PROGRESS]
    findings.require(
        starts == expected and kinds[: len(starts)] == starts,
        "S2",
        f"the stream begins with {kinds[:3]}",
        "beginning",
    )
    for expected_number, event in enumerate(events):
        number = event.get("sequence_number")
        if number != expected_number or isinstance(number, bool):
            message = f"{event['type']} has sequence_number {number}, not {expected_number}"
            findings.add("S2", message, "numbers")
            break
    snapshots = [event for event in events if event["type"] in t.SNAPSHOT_TYPES]
    ids = {str(_object(event.get("response")).get("id")) for event in snapshots}
    findings.require(len(ids) <= 1, "S5", f"snapshots of different responses: {sorted(ids)}")


def _check_end(events: Sequence[Json], findings: Findings) -> None:
    """S3, and that a snapshot's status is the one its event announces."""
    kinds = [event["type"] for event in events]
    ends = [kind for kind in kinds if kind in t.TERMINAL_TYPES]
    if len(ends) != 1 or kinds[-1] not in t.TERMINAL_TYPES:
        findings.add("S3", f"terminal events {ends}, and the last event is {kinds[-1] if kinds else None}")
    for position, kind in enumerate(kinds):
        if kind == t.ERROR:
            after = kinds[position + 1 :]
            findings.require(after == [t.FAILED], "S3", f"error is followed by {after}, not response.failed")
    for event in events:
        allowed = _STATUS.get(event["type"])
        status = _object(event.get("response")).get("status")
        if allowed is not None and status not in allowed:
            rule, aspect = ("S3", "") if event["type"] in t.TERMINAL_TYPES else ("S2", "beginning")
            findings.add(rule, f"{event['type']} carries a response that is {status}", aspect)


def _check_items(events: Sequence[Json], findings: Findings) -> None:
    """S4 to S8: every item's own life, then the terminal response as a whole."""
    lives: dict[Any, ItemLife] = {}
    final: Json | None = None
    for event in events:
        if event["type"] in t.TERMINAL_TYPES:
            final = _object(event.get("response"))
        elif is_of_item(event):
            index = event.get("output_index")
            if not isinstance(index, int):
                findings.add("S5", f"{event['type']} has no output_index")
                continue
            lives.setdefault(index, ItemLife(index, findings)).take(event)
    ids = [life.added.get("id") for life in lives.values() if life.added is not None]
    findings.require(len(set(map(str, ids))) == len(ids), "S5", f"two items share an id: {ids}")
    if final is None:
        return
    output = [_object(item) for item in final.get("output") or ()]
    for life in lives.values():
        life.check_end(output)
    findings.require(
        sorted(lives) == [*range(len(output))],
        "S5",
        f"events told of the output indexes {sorted(lives)}, the response has {len(output)} items",
    )
    _check_outcome(final, output, findings)


def _check_outcome(final: Json, output: Sequence[Json], findings: Findings) -> None:
    """S8: the items' states fit the response's."""
    status = final.get("status")
    states = [item.get("status", "completed") for item in output]
    for index, state in enumerate(states):
        kind = str(output[index].get("type"))
        if is_receipt(kind):
            is_told = state in ("completed", "failed") or (state == "incomplete" and status != "completed")
            findings.require(is_told, "S8", f"output[{index}] is {state} in a response that is {status}")
            continue  # several tools may run side by side when the response is broken off
        if is_foreign(kind):
            continue  # its states are its vendor's
        if state not in ("completed", "incomplete") or (state == "incomplete" and status == "completed"):
            findings.add("S8", f"output[{index}] is {state} in a response that is {status}")
        elif state == "incomplete" and status == "incomplete" and index != len(states) - 1:
            # Function calls grow side by side: where they are cut short, several are, and whole ones may follow.
            is_cut_call = output[index].get("type") == "function_call"
            findings.require(is_cut_call, "S8", f"output[{index}] is incomplete and not the last")
    if status == "failed":
        findings.require(bool(final.get("error")), "S3", "the failed response has no error")
    if status == "incomplete":
        findings.require(bool(final.get("incomplete_details")), "S8", "incomplete without incomplete_details")


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}
