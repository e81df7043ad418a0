"""The payloads of the streaming events, as plain dicts without `sequence_number`.

Whoever emits stamps the number, in one place. Indexes count from 0.
Specification: "Streaming"; the `Response…StreamingEvent` schemas.
"""

from collections.abc import Sequence

from responses_api.protocol import event_types as t
from responses_api.protocol.event_types import Dialect
from responses_api.protocol.plain import Json
from responses_api.protocol.server_tools import arguments_event, step_event

_TERMINAL_BY_STATUS = {
    "completed": t.COMPLETED,
    "incomplete": t.INCOMPLETE,
    "failed": t.FAILED,
    # There is no event of its own for it: what a cancelled response holds is incomplete, and nothing failed.
    "cancelled": t.INCOMPLETE,
}


def created(response: Json) -> Json:
    """The first event: the response exists."""
    return {"type": t.CREATED, "response": response}


def queued(response: Json) -> Json:
    """The response waits for a worker, which nobody waits for: a background response."""
    return {"type": t.QUEUED, "response": response}


def in_progress(response: Json) -> Json:
    """The response is being generated."""
    return {"type": t.IN_PROGRESS, "response": response}


def truncation(payload: Json) -> Json:
    """Old turns were dropped from the input. The payload is `Truncation.to_plain()`; a later event replaces it."""
    return {"type": t.TRUNCATION, **payload}


def waiting(response: Json) -> list[Json]:
    """How the stream of a background response begins: it is queued."""
    return [created(response), queued(response)]


def terminal(response: Json) -> Json:
    """The terminal event that fits the response's status. Raises KeyError when the status is not final."""
    return {"type": _TERMINAL_BY_STATUS[response["status"]], "response": response}


def error(payload: Json) -> Json:
    """A failure inside a stream, always followed by `response.failed`. The payload is `ProtocolError.payload()`."""
    return {"type": t.ERROR, "error": payload}


def output_item_added(output_index: int, item: Json) -> Json:
    """An item begins."""
    return {"type": t.OUTPUT_ITEM_ADDED, "output_index": output_index, "item": item}


def output_item_done(output_index: int, item: Json) -> Json:
    """An item is final; nothing about it follows."""
    return {"type": t.OUTPUT_ITEM_DONE, "output_index": output_index, "item": item}


def content_part_added(item_id: str, output_index: int, content_index: int, part: Json) -> Json:
    """A content part of a message or of reasoning begins."""
    return _of_content(t.CONTENT_PART_ADDED, item_id, output_index, content_index, "part", part)


def content_part_done(item_id: str, output_index: int, content_index: int, part: Json) -> Json:
    """A content part is final."""
    return _of_content(t.CONTENT_PART_DONE, item_id, output_index, content_index, "part", part)


def output_text_delta(
    item_id: str,
    output_index: int,
    content_index: int,
    delta: str,
    logprobs: Sequence[Json] = (),
) -> Json:
    """More text. `logprobs` is always there, because some clients require it."""
    event = _of_content(t.OUTPUT_TEXT_DELTA, item_id, output_index, content_index, "delta", delta)
    event["logprobs"] = list(logprobs)
    return event


def output_text_annotation_added(
    item_id: str, output_index: int, content_index: int, annotation_index: int, annotation: Json
) -> Json:
    """The text of a part got an annotation."""
    event = _of_content(
        t.OUTPUT_TEXT_ANNOTATION_ADDED, item_id, output_index, content_index, "annotation", annotation
    )
    return {**event, "annotation_index": annotation_index}


def output_text_done(
    item_id: str, output_index: int, content_index: int, text: str, logprobs: Sequence[Json] = ()
) -> Json:
    """The whole text of a part."""
    event = _of_content(t.OUTPUT_TEXT_DONE, item_id, output_index, content_index, "text", text)
    event["logprobs"] = list(logprobs)
    return event


def refusal_delta(item_id: str, output_index: int, content_index: int, delta: str) -> Json:
    """More of a refusal."""
    return _of_content(t.REFUSAL_DELTA, item_id, output_index, content_index, "delta", delta)


def refusal_done(item_id: str, output_index: int, content_index: int, refusal: str) -> Json:
    """The whole refusal."""
    return _of_content(t.REFUSAL_DONE, item_id, output_index, content_index, "refusal", refusal)


def reasoning_delta(
    item_id: str,
    output_index: int,
    content_index: int,
    delta: str,
    dialect: Dialect = "open",
) -> Json:
    """More raw reasoning, named as the dialect names it."""
    name = t.REASONING_DELTA_TYPES[dialect]
    return _of_content(name, item_id, output_index, content_index, "delta", delta)


def reasoning_done(
    item_id: str, output_index: int, content_index: int, text: str, dialect: Dialect = "open"
) -> Json:
    """The whole raw reasoning of a part, named as the dialect names it."""
    return _of_content(t.REASONING_DONE_TYPES[dialect], item_id, output_index, content_index, "text", text)


def reasoning_summary_part_added(item_id: str, output_index: int, summary_index: int, part: Json) -> Json:
    """A part of a reasoning summary begins."""
    return _of_summary(t.REASONING_SUMMARY_PART_ADDED, item_id, output_index, summary_index, "part", part)


def reasoning_summary_part_done(item_id: str, output_index: int, summary_index: int, part: Json) -> Json:
    """A part of a reasoning summary is final."""
    return _of_summary(t.REASONING_SUMMARY_PART_DONE, item_id, output_index, summary_index, "part", part)


def reasoning_summary_text_delta(item_id: str, output_index: int, summary_index: int, delta: str) -> Json:
    """More summary text."""
    name = t.REASONING_SUMMARY_TEXT_DELTA
    return _of_summary(name, item_id, output_index, summary_index, "delta", delta)


def reasoning_summary_text_done(item_id: str, output_index: int, summary_index: int, text: str) -> Json:
    """The whole text of a summary part."""
    return _of_summary(t.REASONING_SUMMARY_TEXT_DONE, item_id, output_index, summary_index, "text", text)


def function_call_arguments_delta(item_id: str, output_index: int, delta: str) -> Json:
    """More of a call's arguments, a fragment of JSON text."""
    return {
        "type": t.FUNCTION_CALL_ARGUMENTS_DELTA,
        "item_id": item_id,
        "output_index": output_index,
        "delta": delta,
    }


def function_call_arguments_done(item_id: str, output_index: int, arguments: str) -> Json:
    """The whole arguments of a call, as JSON text."""
    return {
        "type": t.FUNCTION_CALL_ARGUMENTS_DONE,
        "item_id": item_id,
        "output_index": output_index,
        "arguments": arguments,
    }


def receipt_step(item_type: str, step: str, item_id: str, output_index: int, dialect: Dialect) -> Json:
    """The receipt of a tool that the service runs has come to a step, named as the dialect names it."""
    return {
        "type": step_event(item_type, step, dialect),
        "item_id": item_id,
        "output_index": output_index,
    }


def receipt_arguments_delta(
    item_type: str, item_id: str, output_index: int, delta: str, dialect: Dialect
) -> Json:
    """More of the arguments of a call that the service runs: all of them, as it knows them before."""
    name = arguments_event(item_type, "delta", dialect)
    return {"type": name, "item_id": item_id, "output_index": output_index, "delta": delta}


def receipt_arguments_done(
    item_type: str, item_id: str, output_index: int, arguments: str, dialect: Dialect
) -> Json:
    """The whole arguments of a call that the service runs, as JSON text."""
    name = arguments_event(item_type, "done", dialect)
    return {"type": name, "item_id": item_id, "output_index": output_index, "arguments": arguments}


def _of_content(
    name: str, item_id: str, output_index: int, content_index: int, field: str, value: str | Json
) -> Json:
    return {
        "type": name,
        "item_id": item_id,
        "output_index": output_index,
        "content_index": content_index,
        field: value,
    }


def _of_summary(
    name: str, item_id: str, output_index: int, summary_index: int, field: str, value: str | Json
) -> Json:
    return {
        "type": name,
        "item_id": item_id,
        "output_index": output_index,
        "summary_index": summary_index,
        field: value,
    }
