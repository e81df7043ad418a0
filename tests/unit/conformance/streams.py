"""Good streams of every shape, as lists of numbered events."""

from copy import deepcopy

from responses_api.protocol import event_types, events
from responses_api.protocol.plain import Json
from responses_api.protocol.receipts import begun, has_arguments
from responses_api.protocol.request import parse_create
from responses_api.protocol.response import snapshot, usage
from responses_api.protocol.server_tools import told_type
from responses_api.protocol.sse import DONE, encode, frame

_REQUEST = parse_create({"model": "m", "input": "hi", "tools": [{"type": "function", "name": "f"}]})
_CITATION: Json = {
    "type": "url_citation",
    "start_index": 0,
    "end_index": 2,
    "url": "https://h",
    "title": "H",
}
_LOGPROB: Json = {"token": "He", "logprob": -0.1, "bytes": [72, 101], "top_logprobs": []}


def response(status: str, output: list[Json] | None = None, **more: Json) -> Json:
    return snapshot(
        response_id="resp_1",
        created_at=100,
        request=_REQUEST,
        status=status,
        output=output or (),
        completed_at=101 if status == "completed" else None,
        usage=usage(1, 2) if status == "completed" else None,
        **more,
    )


def beginning(*, queued: bool = False) -> list[Json]:
    if queued:
        waiting = response("queued")
        return [
            events.created(waiting),
            {"type": event_types.QUEUED, "response": waiting},
            events.in_progress(response("in_progress")),
        ]
    return [events.created(response("in_progress")), events.in_progress(response("in_progress"))]


def message(
    index: int, item_id: str, deltas: list[str], status: str = "completed"
) -> tuple[list[Json], Json]:
    """The events of a message with one text part, and the finished item."""
    text = "".join(deltas)
    item: Json = {
        "type": "message",
        "id": item_id,
        "status": "in_progress",
        "role": "assistant",
        "content": [],
    }
    part: Json = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    done = part | {"text": text}
    final = item | {"status": status, "content": [done]}
    return [
        events.output_item_added(index, item),
        events.content_part_added(item_id, index, 0, part),
        *(events.output_text_delta(item_id, index, 0, delta) for delta in deltas),
        events.output_text_done(item_id, index, 0, text),
        events.content_part_done(item_id, index, 0, done),
        events.output_item_done(index, final),
    ], final


def refusal_and_cited_text(index: int, item_id: str) -> tuple[list[Json], Json]:
    """The events of a message with cited text that has log probabilities, and then a refusal."""
    item: Json = {
        "type": "message",
        "id": item_id,
        "status": "in_progress",
        "role": "assistant",
        "content": [],
    }
    text: Json = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    text_done = text | {"text": "He", "annotations": [_CITATION], "logprobs": [_LOGPROB]}
    refusal_done: Json = {"type": "refusal", "refusal": "No."}
    final = item | {"status": "completed", "content": [text_done, refusal_done]}
    return [
        events.output_item_added(index, item),
        events.content_part_added(item_id, index, 0, text),
        events.output_text_delta(item_id, index, 0, "He", [_LOGPROB]),
        {
            "type": event_types.OUTPUT_TEXT_ANNOTATION_ADDED,
            "item_id": item_id,
            "output_index": index,
            "content_index": 0,
            "annotation_index": 0,
            "annotation": _CITATION,
        },
        events.output_text_done(item_id, index, 0, "He", [_LOGPROB]),
        events.content_part_done(item_id, index, 0, text_done),
        events.content_part_added(item_id, index, 1, {"type": "refusal", "refusal": ""}),
        events.refusal_delta(item_id, index, 1, "N"),
        events.refusal_delta(item_id, index, 1, "o."),
        events.refusal_done(item_id, index, 1, "No."),
        events.content_part_done(item_id, index, 1, refusal_done),
        events.output_item_done(index, final),
    ], final


def reasoning(index: int, item_id: str, dialect: event_types.Dialect = "open") -> tuple[list[Json], Json]:
    """The events of reasoning with raw content and a summary, and the finished item."""
    item: Json = {"type": "reasoning", "id": item_id, "status": "in_progress", "summary": []}
    content: Json = {"type": "reasoning_text", "text": "thinking"}
    summary: Json = {"type": "summary_text", "text": "thought"}
    final = item | {"status": "completed", "content": [content], "summary": [summary]}
    return [
        events.output_item_added(index, item),
        events.content_part_added(item_id, index, 0, content | {"text": ""}),
        events.reasoning_delta(item_id, index, 0, "think", dialect),
        events.reasoning_delta(item_id, index, 0, "ing", dialect) | {"obfuscation": "xx"},
        events.reasoning_done(item_id, index, 0, "thinking", dialect),
        events.content_part_done(item_id, index, 0, content),
        events.reasoning_summary_part_added(item_id, index, 0, summary | {"text": ""}),
        events.reasoning_summary_text_delta(item_id, index, 0, "thought"),
        events.reasoning_summary_text_done(item_id, index, 0, "thought"),
        events.reasoning_summary_part_done(item_id, index, 0, summary),
        events.output_item_done(index, final),
    ], final


def call(index: int, item_id: str, call_id: str, deltas: list[str]) -> tuple[list[Json], Json]:
    """The events of a function call, and the finished item."""
    item: Json = {
        "type": "function_call",
        "id": item_id,
        "status": "in_progress",
        "call_id": call_id,
        "name": "f",
        "arguments": "",
    }
    final = item | {"status": "completed", "arguments": "".join(deltas)}
    return [
        events.output_item_added(index, item),
        *(events.function_call_arguments_delta(item_id, index, delta) for delta in deltas),
        events.function_call_arguments_done(item_id, index, "".join(deltas)),
        events.output_item_done(index, final),
    ], final


def numbered(stream: list[Json]) -> list[Json]:
    """Copies of the events with their sequence numbers."""
    return [{**deepcopy(event), "sequence_number": number} for number, event in enumerate(stream)]


def as_sse(stream: list[Json]) -> bytes:
    """The events as the body of an SSE answer."""
    return b"".join(frame(event["type"], encode(event)) for event in stream) + DONE


def _text() -> list[Json]:
    told, item = message(0, "msg_1", ["Hel", "lo"])
    return [*beginning(), *told, events.terminal(response("completed", [item]))]


def _everything() -> list[Json]:
    """Reasoning, a message of two kinds, and two calls whose deltas come interleaved."""
    thought, thought_item = reasoning(0, "rs_1")
    said, said_item = refusal_and_cited_text(1, "msg_1")
    first, first_item = call(2, "fc_1", "call_1", ['{"a"', ":1}"])
    second, second_item = call(3, "fc_2", "call_2", ["{", "}"])
    interleaved = [event for pair in zip(first, second, strict=True) for event in pair]
    output = [thought_item, said_item, first_item, second_item]
    return [
        *beginning(queued=True),
        *thought,
        *said,
        *interleaved,
        events.terminal(response("completed", output)),
    ]


def _incomplete() -> list[Json]:
    told, item = message(0, "msg_1", ["Hel"], status="incomplete")
    final = response("incomplete", [item], incomplete_details={"reason": "max_output_tokens"})
    return [*beginning(), *told, events.terminal(final)]


def _cancelled() -> list[Json]:
    told, item = message(0, "msg_1", ["Hel"], status="incomplete")
    return [*beginning(), *told, events.terminal(response("cancelled", [item]))]


def _failed() -> list[Json]:
    told, item = message(0, "msg_1", ["Hel"], status="incomplete")
    payload: Json = {"type": "model_error", "code": "upstream_error", "message": "Cut.", "param": None}
    final = response("failed", [item], error={"code": "upstream_error", "message": "Cut."})
    return [*beginning(), *told, events.error(payload), events.terminal(final)]


def _openai_reasoning() -> list[Json]:
    told, item = reasoning(0, "rs_1", "openai")
    return [*beginning(), *told, events.terminal(response("completed", [item]))]


def _cut_call() -> list[Json]:
    told, item = call(0, "fc_1", "call_1", ['{"a'])
    item = item | {"status": "incomplete"}
    final = response("incomplete", [item], incomplete_details={"reason": "max_output_tokens"})
    return [*beginning(), *told[:-2], events.output_item_done(0, item), events.terminal(final)]


def _silent() -> list[Json]:
    return [*beginning(), events.terminal(response("completed"))]


def _truncated() -> list[Json]:
    told, item = message(0, "msg_1", ["Hel", "lo"])
    dropped: Json = {"dropped_items": 2, "dropped_turns": 1, "input_tokens": 90, "context_window": 100}
    final = response("completed", [item], extensions={event_types.TRUNCATION: dropped})
    return [*beginning(), events.truncation(dropped), *told, events.terminal(final)]


def receipt(
    index: int, id: str, final: Json, steps: list[str], dialect: event_types.Dialect
) -> tuple[list[Json], Json]:
    """The events of a receipt that ends with the last of its steps, and the finished item."""
    kind = told_type(final["type"], dialect)
    item = {"id": id, **final, "type": kind}
    told = [events.output_item_added(index, begun(item))]
    for step in steps:
        told.append(events.receipt_step(kind, step, id, index, dialect))
        if step == "in_progress" and has_arguments(kind):
            told.append(events.receipt_arguments_delta(kind, id, index, item["arguments"], dialect))
            told.append(events.receipt_arguments_done(kind, id, index, item["arguments"], dialect))
    return [*told, events.output_item_done(index, item)], item


def _receipts(dialect: event_types.Dialect) -> list[Json]:
    """A list of tools, a call that failed beside one that did not, a search and a request for approval."""
    ended: Json = {"error": None, "status": "completed"}
    listed: Json = {"type": "antiphon:mcp_list_tools", "server_label": "dice", "tools": [], **ended}
    named: Json = {"server_label": "dice", "name": "roll", "arguments": '{"a":1}'}
    called: Json = {"type": "antiphon:mcp_call", **named, "approval_request_id": None}
    rolled = {**called, "output": "4", "error": None, "status": "completed"}
    broken = {**called, "output": None, "error": "It is down.", "status": "failed"}
    passage: Json = {"file_id": "file_1", "filename": "birds.md", "score": 0.5, "text": "Grey."}
    found: Json = {"status": "completed", "queries": ["herons"], "results": [passage], "error": None}
    list_told, list_item = receipt(0, "mcpl_1", listed, ["in_progress", "completed"], dialect)
    first, first_item = receipt(1, "mcp_1", rolled, ["in_progress", "completed"], dialect)
    second, second_item = receipt(2, "mcp_2", broken, ["in_progress", "failed"], dialect)
    search, search_item = receipt(
        3,
        "fs_1",
        {"type": "antiphon:file_search_call", **found},
        ["in_progress", "searching", "completed"],
        dialect,
    )
    wanted: Json = {"type": "antiphon:mcp_approval_request", **named, "status": "completed"}
    asked, asked_item = receipt(4, "mcpr_1", wanted, [], dialect)
    interleaved = [event for pair in zip(first, second, strict=True) for event in pair]
    output = [list_item, first_item, second_item, search_item, asked_item]
    final = events.terminal(response("completed", output))
    return [*beginning(), *list_told, *interleaved, *search, *asked, final]


GOOD: dict[str, list[Json]] = {
    "text": numbered(_text()),
    "everything": numbered(_everything()),
    "incomplete": numbered(_incomplete()),
    "cancelled": numbered(_cancelled()),
    "failed": numbered(_failed()),
    "openai reasoning": numbered(_openai_reasoning()),
    "a cut call": numbered(_cut_call()),
    "no output": numbered(_silent()),
    "truncated": numbered(_truncated()),
    "receipts": numbered(_receipts("open")),
    "openai receipts": numbered(_receipts("openai")),
}
