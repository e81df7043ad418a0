"""The answers the stub upstream gives, as bytes that are built once: serving one is a lookup and a write."""

from dataclasses import dataclass
from typing import Any

import orjson

Json = dict[str, Any]

CREATED = 1_700_000_000
# Closes every scripted text, so that a load generator can tell a whole JSON answer from a cut one.
LAST_WORD = "last-word"


@dataclass(frozen=True, slots=True)
class Script:
    """One model of the stub.

    `chunks` are the writes of its stream, `spacing` the seconds between them (0: there is one write), `body`
    the same answer as one JSON body.
    """

    chunks: tuple[bytes, ...]
    spacing: float
    body: bytes


def words(count: int) -> list[str]:
    """`count` text deltas of the size a tokenizer gives, the last one naming the end."""
    return [f"word{n} " for n in range(count - 1)] + [LAST_WORD]


def usage(count: int) -> Json:
    """Token counts in the Chat Completions shape."""
    return {"prompt_tokens": 12, "completion_tokens": count, "total_tokens": 12 + count}


def chunk_object(
    model: str, delta: Json | None, finish: str | None = None, spent: Json | None = None
) -> Json:
    """One `chat.completion.chunk`; `delta` None makes the chunk without choices that carries `spent`."""
    choices = (
        [] if delta is None else [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]
    )
    shell = {"id": "chatcmpl-bench", "object": "chat.completion.chunk", "created": CREATED, "model": model}
    return {**shell, "choices": choices, "usage": spent}


def http_chunk(payload: bytes) -> bytes:
    """Frame a payload for `Transfer-Encoding: chunked`."""
    return b"%x\r\n%s\r\n" % (len(payload), payload)


def sse(obj: Json) -> bytes:
    """One SSE event in one HTTP chunk, the way streaming servers send them."""
    return http_chunk(b"data: " + orjson.dumps(obj) + b"\n\n")


def stream_chunks(model: str, count: int) -> list[bytes]:
    """Role chunk, `count` deltas, then finish, usage, `[DONE]` and the last HTTP chunk together."""
    opening = sse(chunk_object(model, {"role": "assistant", "content": ""}))
    deltas = [sse(chunk_object(model, {"content": word})) for word in words(count)]
    finish = sse(chunk_object(model, {}, finish="stop"))
    spent = sse(chunk_object(model, None, spent=usage(count)))
    closing = finish + spent + http_chunk(b"data: [DONE]\n\n") + http_chunk(b"")
    return [opening, *deltas, closing]


def completion(model: str, count: int) -> bytes:
    """The same answer as one `chat.completion` object."""
    message = {"role": "assistant", "content": "".join(words(count)), "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    shell = {"id": "chatcmpl-bench", "object": "chat.completion", "created": CREATED, "model": model}
    return orjson.dumps({**shell, "choices": [choice], "usage": usage(count)})


def at_once(model: str, count: int) -> Script:
    """A stream that leaves in a single write."""
    return Script((b"".join(stream_chunks(model, count)),), 0.0, completion(model, count))


def spaced(model: str, count: int, spacing: float) -> Script:
    """A stream whose deltas leave `spacing` seconds apart."""
    return Script(tuple(stream_chunks(model, count)), spacing, completion(model, count))


DELTAS = 64
SCRIPTS: dict[str, Script] = {
    "bench-stream0": at_once("bench-stream0", DELTAS),
    "bench-stream10": spaced("bench-stream10", DELTAS, 0.010),
    "bench-json": at_once("bench-json", 8),
}
