"""The checker passes what is right and catches each thing that is wrong."""

from collections.abc import Callable
from copy import deepcopy

import pytest

from responses_api.conformance.stream import (
    assert_stream,
    check_events,
    check_messages,
    check_sse,
    compare_with_get,
)
from responses_api.protocol import event_types as t
from responses_api.protocol.plain import Json
from responses_api.protocol.sse import DONE, KEEP_ALIVE, encode
from tests.support.oracle import event_faults
from tests.unit.conformance.streams import GOOD, as_sse

Events = list[Json]


@pytest.mark.parametrize("name", GOOD)
def test_good_streams_pass(name: str) -> None:
    stream = assert_stream(as_sse(GOOD[name]), validate=event_faults)
    assert stream.events == GOOD[name]
    assert stream.final == GOOD[name][-1]["response"]


def test_keep_alives_are_no_fault() -> None:
    raw = as_sse(GOOD["text"])
    assert_stream(KEEP_ALIVE + raw.replace(b"\n\n", b"\n\n" + KEEP_ALIVE, 3))


def test_messages_of_a_websocket_are_checked_alike() -> None:
    messages = [encode(event).decode() for event in GOOD["text"]]
    assert check_messages(messages).violations == []
    assert rules(check_messages([*messages, "[DONE]"]).violations) == {"S1"}
    assert "S3" in rules(check_messages(messages[:-1]).violations)


def test_an_event_of_a_vendor_stands_between_the_beginning_and_the_end_under_its_own_number() -> None:
    created, started, told, *rest = deepcopy(GOOD["truncated"])
    assert rules(check_events(_numbered([told, created, started, *rest]))) == {"S2"}
    assert rules(check_events(_numbered([created, told, started, *rest]))) == {"S2"}
    assert "S3" in rules(check_events(_numbered([created, started, *rest, told])))
    del told["sequence_number"]
    assert rules(check_events([created, started, told, *rest])) == {"S2"}


def _numbered(events: Events) -> Events:
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def rules(violations: object) -> set[str]:
    assert isinstance(violations, list)
    return {violation.rule for violation in violations}


GOOD_RAW = as_sse(GOOD["text"])


@pytest.mark.parametrize(
    "raw",
    [
        GOOD_RAW.removesuffix(DONE),
        GOOD_RAW + DONE,
        GOOD_RAW.removesuffix(b"\n"),
        GOOD_RAW.replace(b"event: response.completed", b"event: response.done"),
        GOOD_RAW.replace(b"event: response.completed\n", b""),
        b"id: 1\n" + GOOD_RAW,
        GOOD_RAW.replace(b"\ndata", b"\r\nid: 4\r\ndata", 1),
        b"data: {}\n\n" + GOOD_RAW,
        b"data: {\n\n" + GOOD_RAW,
        b"data: []\n\n" + GOOD_RAW,
    ],
)
def test_faults_of_framing_break_s1(raw: bytes) -> None:
    assert rules(check_sse(raw).violations) == {"S1"}


def find(events: Events, kind: str, nth: int = 0) -> Json:
    return [event for event in events if event["type"] == kind][nth]


def drop(kind: str, nth: int = 0) -> Callable[[Events], None]:
    return lambda events: events.remove(find(events, kind, nth))


def repeat(kind: str) -> Callable[[Events], None]:
    def fault(events: Events) -> None:
        event = find(events, kind)
        events.insert(events.index(event) + 1, deepcopy(event))

    return fault


def swap(kind: str, with_kind: str) -> Callable[[Events], None]:
    def fault(events: Events) -> None:
        first, second = events.index(find(events, kind)), events.index(find(events, with_kind))
        events[first], events[second] = events[second], events[first]

    return fault


def put(kind: str, *path: str | int, value: object, nth: int = 0) -> Callable[[Events], None]:
    def fault(events: Events) -> None:
        *steps, last = path
        target = find(events, kind, nth)
        for step in steps:
            target = target[step]  # type: ignore[index]
        target[last] = value  # type: ignore[index]

    return fault


FAULTS: list[tuple[str, str, Callable[[Events], None]]] = [
    ("S2", "text", drop(t.CREATED)),
    ("S2", "text", drop(t.IN_PROGRESS)),
    ("S2", "text", swap(t.CREATED, t.IN_PROGRESS)),
    ("S2", "everything", swap(t.QUEUED, t.IN_PROGRESS)),
    ("S2", "text", repeat(t.IN_PROGRESS)),
    ("S2", "text", put(t.IN_PROGRESS, "response", "status", value="completed")),
    ("S3", "text", drop(t.COMPLETED)),
    ("S3", "text", repeat(t.COMPLETED)),
    ("S3", "text", put(t.COMPLETED, "response", "status", value="failed")),
    ("S3", "text", swap(t.COMPLETED, t.OUTPUT_ITEM_DONE)),
    ("S3", "failed", drop(t.FAILED)),
    ("S3", "failed", put(t.FAILED, "type", value=t.COMPLETED)),
    ("S3", "failed", put(t.FAILED, "response", "error", value=None)),
    ("S3", "failed", swap(t.ERROR, t.FAILED)),
    ("S4", "text", drop(t.OUTPUT_ITEM_ADDED)),
    ("S4", "text", drop(t.OUTPUT_ITEM_DONE)),
    ("S4", "text", repeat(t.OUTPUT_ITEM_ADDED)),
    ("S4", "text", repeat(t.OUTPUT_ITEM_DONE)),
    ("S4", "text", swap(t.OUTPUT_ITEM_DONE, t.CONTENT_PART_DONE)),
    ("S5", "text", put(t.CREATED, "response", "id", value="resp_2")),
    ("S5", "text", put(t.OUTPUT_TEXT_DELTA, "item_id", value="msg_2")),
    ("S5", "text", put(t.OUTPUT_TEXT_DELTA, "output_index", value=None)),
    ("S5", "text", put(t.OUTPUT_ITEM_ADDED, "item", "id", value="")),
    ("S5", "text", put(t.OUTPUT_ITEM_DONE, "item", "id", value="msg_2")),
    ("S5", "text", put(t.COMPLETED, "response", "output", 0, "id", value="msg_2")),
    ("S5", "text", put(t.COMPLETED, "response", "output", value=[])),
    ("S5", "no output", put(t.COMPLETED, "response", "output", value=[{"id": "msg_1"}])),
    ("S5", "everything", put(t.OUTPUT_ITEM_ADDED, "item", "id", value="rs_1", nth=1)),
    ("S6", "text", drop(t.CONTENT_PART_ADDED)),
    ("S6", "text", drop(t.CONTENT_PART_DONE)),
    ("S6", "text", drop(t.OUTPUT_TEXT_DONE)),
    ("S6", "text", drop(t.OUTPUT_TEXT_DELTA)),
    ("S6", "text", repeat(t.CONTENT_PART_ADDED)),
    ("S6", "text", repeat(t.CONTENT_PART_DONE)),
    ("S6", "text", repeat(t.OUTPUT_TEXT_DONE)),
    ("S6", "text", swap(t.OUTPUT_TEXT_DELTA, t.OUTPUT_TEXT_DONE)),
    ("S6", "text", put(t.CONTENT_PART_ADDED, "part", "text", value="Hel")),
    ("S6", "text", put(t.CONTENT_PART_ADDED, "part", "type", value="refusal")),
    ("S6", "text", put(t.OUTPUT_TEXT_DELTA, "delta", value="help")),
    ("S6", "text", put(t.OUTPUT_TEXT_DONE, "text", value="help")),
    ("S6", "text", put(t.CONTENT_PART_DONE, "part", "text", value="help")),
    ("S6", "text", put(t.OUTPUT_ITEM_DONE, "item", "content", 0, "text", value="help")),
    ("S6", "text", put(t.OUTPUT_ITEM_DONE, "item", "content", value=[])),
    ("S6", "everything", put(t.REFUSAL_DELTA, "delta", value="Yes")),
    ("S6", "everything", put(t.REFUSAL_DONE, "refusal", value="Yes")),
    ("S6", "everything", drop(t.REASONING_DELTA)),
    ("S6", "everything", put(t.REASONING_DONE, "text", value="x")),
    ("S6", "everything", drop(t.REASONING_SUMMARY_PART_ADDED)),
    ("S6", "everything", put(t.REASONING_SUMMARY_TEXT_DELTA, "delta", value="x")),
    ("S6", "everything", put(t.OUTPUT_ITEM_DONE, "item", "summary", 0, "text", value="x")),
    ("S7", "everything", drop(t.FUNCTION_CALL_ARGUMENTS_DELTA)),
    ("S7", "everything", drop(t.FUNCTION_CALL_ARGUMENTS_DONE)),
    ("S7", "everything", repeat(t.FUNCTION_CALL_ARGUMENTS_DONE)),
    ("S7", "everything", put(t.FUNCTION_CALL_ARGUMENTS_DONE, "arguments", value="{}")),
    ("S7", "everything", put(t.OUTPUT_ITEM_DONE, "item", "arguments", value="[]", nth=2)),
    ("S7", "everything", put(t.OUTPUT_ITEM_ADDED, "item", "call_id", value="call_9", nth=2)),
    ("S7", "everything", put(t.OUTPUT_ITEM_DONE, "item", "name", value="", nth=2)),
    ("S7", "everything", swap(t.FUNCTION_CALL_ARGUMENTS_DELTA, t.FUNCTION_CALL_ARGUMENTS_DONE)),
    ("S7", "receipts", drop("antiphon:mcp_call_arguments.delta")),
    ("S7", "receipts", drop("antiphon:mcp_call_arguments.done")),
    ("S7", "receipts", repeat("antiphon:mcp_call_arguments.done")),
    (
        "S7",
        "receipts",
        put("antiphon:mcp_call_arguments.done", "type", value="response.mcp_call_arguments.done"),
    ),
    (
        "S7",
        "receipts",
        put("antiphon:mcp_call_arguments.delta", "type", value=t.FUNCTION_CALL_ARGUMENTS_DELTA),
    ),
    ("S7", "receipts", put(t.OUTPUT_ITEM_DONE, "item", "server_label", value="cards", nth=1)),
    ("S7", "receipts", drop("antiphon:mcp_call.in_progress")),
    ("S7", "receipts", drop("antiphon:mcp_call.completed")),
    ("S7", "receipts", repeat("antiphon:mcp_call.completed")),
    ("S7", "receipts", drop("antiphon:mcp_call.failed")),
    ("S7", "receipts", put("antiphon:mcp_call.failed", "type", value="antiphon:mcp_call.completed")),
    ("S7", "receipts", swap("antiphon:file_search_call.in_progress", "antiphon:file_search_call.searching")),
    ("S7", "receipts", swap("antiphon:mcp_call.completed", "antiphon:mcp_call_arguments.delta")),
    ("S7", "openai receipts", repeat("response.mcp_call.in_progress")),
    ("S5", "receipts", put("antiphon:mcp_call.in_progress", "item_id", value="mcp_9")),
    ("S4", "receipts", swap("antiphon:mcp_list_tools.completed", t.OUTPUT_ITEM_DONE)),
    ("S8", "receipts", put(t.COMPLETED, "response", "output", 1, "status", value="incomplete")),
    ("S8", "receipts", put(t.COMPLETED, "response", "output", 1, "status", value="in_progress")),
    ("S9", "receipts", put("antiphon:mcp_call.in_progress", "step", value=1)),
    ("S8", "text", put(t.COMPLETED, "response", "output", 0, "status", value="incomplete")),
    ("S8", "text", put(t.COMPLETED, "response", "output", 0, "status", value="in_progress")),
    ("S8", "incomplete", put(t.INCOMPLETE, "response", "incomplete_details", value=None)),
    ("S9", "text", put(t.OUTPUT_TEXT_DELTA, "content_index", value="first")),
    ("S9", "text", put(t.COMPLETED, "response", "temperature", value=None)),
    ("S9", "text", put(t.OUTPUT_TEXT_DONE, "type", value="response.output_text.finished")),
]


@pytest.mark.parametrize(("rule", "name", "fault"), FAULTS)
def test_a_planted_fault_is_caught_by_its_rule(rule: str, name: str, fault: Callable[[Events], None]) -> None:
    events = deepcopy(GOOD[name])
    fault(events)
    for number, event in enumerate(events):
        event["sequence_number"] = number
    assert rule in rules(check_events(events, validate=event_faults))


@pytest.mark.parametrize("number", [0, 5, None, "3", True])
def test_a_wrong_sequence_number_breaks_s2(number: object) -> None:
    events = deepcopy(GOOD["text"])
    events[3]["sequence_number"] = number
    assert rules(check_events(events)) == {"S2"}


def test_an_incomplete_item_must_be_the_last() -> None:
    events = deepcopy(GOOD["everything"])
    for held in (find(events, t.OUTPUT_ITEM_DONE)["item"], events[-1]["response"]["output"][0]):
        held["status"] = "incomplete"
    events[-1]["type"] = t.INCOMPLETE
    events[-1]["response"] |= {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}
    assert rules(check_events(events)) == {"S8"}


def test_calls_that_were_cut_may_be_several_and_not_the_last() -> None:
    events = deepcopy(GOOD["everything"])
    for held in (
        *(event["item"] for event in events if event["type"] == t.OUTPUT_ITEM_DONE),
        *events[-1]["response"]["output"],
    ):
        held["status"] = "incomplete" if held["id"] == "fc_1" else "completed"
    events[-1]["type"] = t.INCOMPLETE
    events[-1]["response"] |= {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    assert check_events(events) == []


def test_any_stream_cut_short_is_caught() -> None:
    for stream in GOOD.values():
        for end in range(len(stream)):
            assert check_events(stream[:end])


def test_the_checker_survives_nonsense() -> None:
    kinds = sorted({event["type"] for stream in GOOD.values() for event in stream})
    assert check_events([{"type": kind} for kind in kinds])
    assert check_events(
        [{"type": kind, "output_index": 0, "item": 1, "part": [], "response": 2} for kind in kinds]
    )


def test_faults_are_listed_when_asserting() -> None:
    with pytest.raises(AssertionError, match="S1: "):
        assert_stream(b"")


def test_a_get_that_differs_is_told_field_by_field() -> None:
    final = GOOD["text"][-1]["response"]
    assert compare_with_get(final, deepcopy(final)) == []
    got = final | {"status": "in_progress", "extra": None}
    del got["usage"]
    violations = compare_with_get(final, got)
    assert rules(violations) == {"S9"}
    assert [str(violation).split("'")[1] for violation in violations] == ["extra", "status", "usage"]
