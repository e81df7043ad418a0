"""Bodies an upstream that speaks Anthropic Messages would send: builders for replies in scripts.

They return the exact bytes, so that a test can cut, reorder or damage them before it hands them on.
"""

import json
from collections.abc import Sequence
from typing import Any

from tests.support.chat import Json, cut

MODEL = "upstream-claude"


def text_block(text: str) -> Json:
    """Text, whole."""
    return {"type": "text", "text": text}


def thinking_block(text: str, signature: str = "c2lnLTE=") -> Json:
    """Thinking with its signature, whole."""
    return {"type": "thinking", "thinking": text, "signature": signature}


def redacted_block(data: str) -> Json:
    """Thinking that nobody is shown."""
    return {"type": "redacted_thinking", "data": data}


def tool_block(name: str, arguments: Json | None = None, *, id: str = "toolu_01") -> Json:
    """A call of a tool, whole."""
    return {"type": "tool_use", "id": id, "name": name, "input": arguments or {}}


def message_stream(
    *blocks: Json,
    stop: str = "end_turn",
    usage: Sequence[int] = (7, 5),
    pieces: int = 3,
    model: str = MODEL,
) -> bytes:
    """A streamed answer of these blocks, each told in at most so many pieces."""
    taken, made = usage
    head = {**_message([], None, model), "usage": {"input_tokens": taken, "output_tokens": 1}}
    told = event("message_start", message=head) + event("ping")
    for index, block in enumerate(blocks):
        told += _block_stream(index, block, pieces)
    told += event(
        "message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage={"output_tokens": made}
    )
    return told + event("message_stop")


def message_json(
    *blocks: Json, stop: str = "end_turn", usage: Sequence[int] = (7, 5), model: str = MODEL
) -> bytes:
    """A whole answer in one JSON body."""
    taken, made = usage
    told = {
        **_message(list(blocks), stop, model),
        "usage": {"input_tokens": taken, "output_tokens": made},
    }
    return json.dumps(told, ensure_ascii=False).encode()


def message_error(kind: str, message: str) -> bytes:
    """An error body."""
    told = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
    return json.dumps(told).encode()


def event(kind: str, **fields: Any) -> bytes:
    """One event of a stream, its type told twice as the format does."""
    data = json.dumps({"type": kind, **fields}, ensure_ascii=False)
    return f"event: {kind}\ndata: {data}\n\n".encode()


def _message(content: list[Json], stop: str | None, model: str) -> Json:
    return {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
    }


def _block_stream(index: int, block: Json, pieces: int) -> bytes:
    blank, deltas = _deltas(block, pieces)
    told = event("content_block_start", index=index, content_block=blank)
    told += b"".join(event("content_block_delta", index=index, delta=delta) for delta in deltas)
    return told + event("content_block_stop", index=index)


def _deltas(block: Json, pieces: int) -> tuple[Json, list[Json]]:
    """A block as it begins, and what follows until it is whole."""
    kind = block["type"]
    if kind == "text":
        grown = [{"type": "text_delta", "text": piece} for piece in cut(block["text"], pieces)]
        return {**block, "text": ""}, grown
    if kind == "thinking":
        grown = [{"type": "thinking_delta", "thinking": piece} for piece in cut(block["thinking"], pieces)]
        signed = {"type": "signature_delta", "signature": block["signature"]}
        return {**block, "thinking": "", "signature": ""}, [*grown, signed]
    if kind in ("tool_use", "server_tool_use"):
        text = json.dumps(block["input"]) if block["input"] else ""
        told = ["", *cut(text, pieces)]
        return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": piece} for piece in told]
    return block, []
