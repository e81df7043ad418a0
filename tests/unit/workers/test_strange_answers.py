"""Answers that no backend should give: each ends as an answer or as a failure, and takes no worker with it."""

import time
from collections.abc import Iterator

import orjson
import pytest

from responses_api.conformance.stream import assert_stream
from responses_api.protocol.backend import BackendSpec
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.plain import Json
from responses_api.protocol.sse import DONE
from tests.support.oracle import event_faults
from tests.unit.workers.builders import base_snapshot, counting_ids, make_job
from workers.backends.answer import AnswerStream
from workers.backends.registry import KINDS, adapter_of
from workers.emitter import Emitter

LOOK: Json = {"type": "function", "name": "look"}
ROW: Json = {
    "passthrough_tool_types": ["acme:*"],
    "native_features": ["encrypted_content", "previous_response_id"],
}
COMPLETED: Json = {"type": "response.completed", "response": {"status": "completed", "output": []}}
DEPTHS = (200, 239, 245, 250, 251, 252, 253, 254, 260, 400, 700, 900, 20_000)


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


def open_stream(kind: str) -> AnswerStream:
    job = make_job(row={**ROW, "kind": kind}, tools=[LOOK])
    return adapter_of(BackendSpec.from_plain(job.backend)).open_stream(job)


def sealed(item_type: str, content: object) -> str:
    return f"sealed {item_type} {orjson.dumps({'of': content}).decode()}"


def ended(kind: str, *events: str | Json) -> Json:
    """The end of the answer: the response, after a stream that fits the rules."""
    emitter = Emitter(base_snapshot(), new_id=counting_ids(), clock=lambda: 9, seal=sealed)
    emitter.start()
    stream = open_stream(kind)
    try:
        for event in events:
            data = event if isinstance(event, str) else orjson.dumps(event).decode()
            for part in stream.feed(f"data: {data}\n\n".encode()):
                emitter.feed(part)
        for part in stream.close():
            emitter.feed(part)
        emitter.finish()
    except ProtocolError as error:
        emitter.fail(error)
    final = assert_stream(emitter.drain() + emitter.terminal() + DONE, validate=event_faults).final
    assert final is not None
    return final


# ---------------------------------------------------------------- values that are nested too deeply


def deep_answers(deep: str) -> Iterator[tuple[str, tuple[str | Json, ...]]]:
    """Answers of each kind with this JSON in what goes back to the backend, or is told as it came."""
    yield (
        "anthropic",
        (
            '{"type": "content_block_start", "index": 0, "content_block":'
            f' {{"type": "thinking", "thinking": "Hm.", "signature": "s", "more": {deep}}}}}',
            {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "Hi"}},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
            {"type": "message_stop"},
        ),
    )
    yield (
        "chat_completions",
        (
            f'{{"choices": [{{"delta": {{"reasoning_details": [{{"type": "a", "data": {deep}}}]}}}}]}}',
            {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]},
        ),
    )
    yield (
        "chat_completions",
        (
            f'{{"choices": [{{"delta": {{"reasoning_details": [{{"type": "a", "data": {deep}}}]}}}}]}}',
            {"choices": [{"delta": {}, "finish_reason": "stop"}]},
        ),
    )
    yield (
        "gemini",
        (
            '{"candidates": [{"finishReason": "STOP", "content": {"parts": [{"thoughtSignature": "s",'
            f' "functionCall": {{"name": "look", "args": {{"at": {deep}}}}}}}]}}}}]}}',
        ),
    )
    for item in (
        f'{{"type": "acme:thing", "id": "a", "more": {deep}}}',
        f'{{"type": "reasoning", "id": "r", "summary": [], "encrypted_content": {deep}}}',
        f'{{"type": "function_call", "call_id": "c", "name": "look", "arguments": {deep}}}',
    ):
        done = f'{{"type": "response.output_item.done", "output_index": 0, "item": {item}}}'
        yield "responses", (done, COMPLETED)


@pytest.mark.parametrize("depth", DEPTHS)
def test_what_is_nested_too_deeply_fails_the_answer_or_is_carried(depth: int) -> None:
    for kind, events in deep_answers(nested(depth)):
        final = ended(kind, *events)
        assert final["status"] in ("completed", "failed")
        if final["error"] is not None:
            assert final["error"]["code"] == "upstream_error"
        # What is told is kept, queued and sent back in a conversation: each puts levels around it.
        orjson.dumps([[[[[[[[final]]]]]]]])


def test_a_paused_message_that_cannot_go_back_fails_by_name() -> None:
    stream = open_stream("anthropic")
    block = f'{{"type": "server_tool_use", "id": "a", "name": "b", "input": {nested(500)}}}'
    for data in (
        f'{{"type": "content_block_start", "index": 0, "content_block": {block}}}',
        '{"type": "message_delta", "delta": {"stop_reason": "pause_turn"}}',
        '{"type": "message_stop"}',
    ):
        stream.feed(f"data: {data}\n\n".encode())
    stream.close()
    with pytest.raises(ProtocolError, match="nested too deeply"):
        stream.resume({"messages": []})  # type: ignore[attr-defined]


# ---------------------------------------------------------------- names and marks that make no sense


def test_an_id_of_a_response_that_is_no_text_is_mended() -> None:
    final = ended("responses", r'{"type": "response.created", "response": {"id": "resp_\ud800"}}', COMPLETED)
    assert final["status"] == "completed"


@pytest.mark.parametrize("status", ["null", "7", "{}", "[]", "true", '"odd"'])
def test_a_status_of_an_item_that_is_none_is_told_as_how_it_ended(status: str) -> None:
    item = f'{{"type": "acme:thing", "id": "a", "status": {status}}}'
    final = ended(
        "responses", f'{{"type": "response.output_item.done", "output_index": 0, "item": {item}}}', COMPLETED
    )
    assert [item["status"] for item in final["output"]] == ["completed"]


@pytest.mark.parametrize("name", ["antiphon:state", "antiphon:opened"])
def test_no_backend_sets_what_the_service_keeps_in_items(name: str) -> None:
    item = {"type": "acme:thing", "more": 1, name: "mine"}
    final = ended(
        "responses", {"type": "response.output_item.done", "output_index": 0, "item": item}, COMPLETED
    )
    assert final["output"] == [{"type": "acme:thing", "id": final["output"][0]["id"], "more": 1}]


# ---------------------------------------------------------------- very much of nothing


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_blanks_without_end_are_each_looked_at_once(kind: str) -> None:
    stream, began = open_stream(kind), time.process_time()
    for _ in range(4_000):
        stream.feed(b" " * 256)
    assert time.process_time() - began < 2


def test_a_backend_that_lists_items_without_end_fails() -> None:
    began = time.process_time()
    added: Json = {"type": "response.output_item.added", "item": {"type": "other"}}
    final = ended(
        "responses",
        *[added] * 5_000,
        {
            "type": "response.completed",
            "response": {"status": "completed", "output": [{"type": "other"}] * 5_000},
        },
    )
    assert final["status"] == "failed"
    assert time.process_time() - began < 2
