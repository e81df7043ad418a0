"""The same streamed answer in the other three wire formats, as their providers publish them."""

from collections.abc import Callable

import orjson

from tests.bench.scripts import Json, Script, http_chunk, words

_INPUT_TOKENS = 12


def named(obj: Json) -> bytes:
    """One SSE event that says its type twice, in one HTTP chunk."""
    return http_chunk(b"event: %s\ndata: %s\n\n" % (obj["type"].encode(), orjson.dumps(obj)))


def unnamed(obj: Json) -> bytes:
    """One SSE event without a name, in one HTTP chunk."""
    return http_chunk(b"data: " + orjson.dumps(obj) + b"\r\n\r\n")


def messages(model: str, count: int) -> list[bytes]:
    """Anthropic Messages."""
    usage = {"input_tokens": _INPUT_TOKENS, "output_tokens": 1}
    message = {"id": "msg_bench", "type": "message", "role": "assistant", "model": model, "content": []}
    start = {"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}}
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    deltas: list[Json] = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}}
        for word in words(count)
    ]
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": count}}
    closing: list[Json] = [{"type": "content_block_stop", "index": 0}, end, {"type": "message_stop"}]
    return [
        named(start) + named(block),
        *map(named, deltas),
        b"".join(map(named, closing)) + http_chunk(b""),
    ]


def contents(model: str, count: int) -> list[bytes]:
    """Gemini generateContent."""

    def chunk(text: str, said: int, **candidate: str) -> bytes:
        told = {"content": {"role": "model", "parts": [{"text": text}]}, "index": 0, **candidate}
        usage = {"promptTokenCount": _INPUT_TOKENS, "candidatesTokenCount": said}
        usage["totalTokenCount"] = _INPUT_TOKENS + said
        return unnamed({"candidates": [told], "usageMetadata": usage, "modelVersion": model})

    deltas = [chunk(word, said) for said, word in enumerate(words(count), start=1)]
    return [*deltas, chunk("", count, finishReason="STOP") + http_chunk(b"")]


def responses(model: str, count: int) -> list[bytes]:
    """Responses, as OpenAI streams them."""
    usage = {"input_tokens": _INPUT_TOKENS, "output_tokens": count, "total_tokens": _INPUT_TOKENS + count}
    part: Json = {"type": "output_text", "text": "", "annotations": []}
    item: Json = {"type": "message", "id": "msg_bench", "role": "assistant", "content": []}
    base = {"id": "resp_bench", "object": "response", "model": model, "status": "in_progress", "output": []}
    place = {"item_id": "msg_bench", "output_index": 0, "content_index": 0}
    text = "".join(words(count))
    whole = {**item, "status": "completed", "content": [{**part, "text": text}]}
    opening: list[Json] = [
        {"type": "response.created", "response": base},
        {"type": "response.in_progress", "response": base},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "status": "in_progress"}},
        {"type": "response.content_part.added", **place, "part": part},
    ]
    deltas = [{"type": "response.output_text.delta", **place, "delta": word} for word in words(count)]
    ended = {**base, "status": "completed", "output": [whole], "usage": usage}
    closing: list[Json] = [
        {"type": "response.output_text.done", **place, "text": text},
        {"type": "response.content_part.done", **place, "part": {**part, "text": text}},
        {"type": "response.output_item.done", "output_index": 0, "item": whole},
        {"type": "response.completed", "response": ended},
    ]
    events = [*opening, *deltas, *closing]
    numbered = [named({**event, "sequence_number": number}) for number, event in enumerate(events)]
    first, last = len(opening), len(opening) + len(deltas)
    end = b"".join(numbered[last:]) + http_chunk(b"")
    return [b"".join(numbered[:first]), *numbered[first:last], end]


WIRES: dict[str, Callable[[str, int], list[bytes]]] = {
    "responses": responses,
    "anthropic": messages,
    "gemini": contents,
}
"""By the kind of backend that speaks it."""


def at_once(kind: str, model: str, count: int) -> Script:
    """A stream that leaves in a single write; there is no other answer in this format."""
    return Script((b"".join(WIRES[kind](model, count)),), 0.0, b"")
