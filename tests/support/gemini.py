"""Bodies an upstream that speaks Gemini's generateContent would send: builders for replies in scripts.

They return the exact bytes, so that a test can cut, reorder or damage them before it hands them on.
"""

import json
from collections.abc import Sequence
from typing import Any

from tests.support.chat import Json

MODEL = "upstream-gemini"


def text_part(text: str, signature: str | None = None) -> Json:
    """Text, or a piece of it."""
    return _signed({"text": text}, signature)


def thought_part(text: str, signature: str | None = None) -> Json:
    """A piece of the summary of a thought."""
    return _signed({"text": text, "thought": True}, signature)


def call_part(
    name: str, args: Json | None = None, *, id: str | None = None, signature: str | None = None
) -> Json:
    """A function call, whole; `args` are left out where there are none."""
    told = {"id": id, "name": name, "args": args}
    return _signed(
        {"functionCall": {key: value for key, value in told.items() if value is not None}}, signature
    )


def gemini_chunk(
    *parts: Json, finish: str | None = None, usage: Json | None = None, **candidate: Any
) -> Json:
    """One `GenerateContentResponse` with one candidate."""
    told: Json = {"content": {"role": "model", "parts": list(parts)}, "index": 0, **candidate}
    if finish is not None:
        told["finishReason"] = finish
    chunk: Json = {"candidates": [told], "modelVersion": MODEL, "responseId": "gresp-1"}
    return {**chunk, "usageMetadata": usage} if usage is not None else chunk


def gemini_usage(counts: Sequence[int]) -> Json:
    """The usage for (input tokens, output tokens, and perhaps tokens of thoughts)."""
    taken, made, *thought = counts
    usage = {"promptTokenCount": taken, "candidatesTokenCount": made, "totalTokenCount": sum(counts)}
    return {**usage, "thoughtsTokenCount": thought[0]} if thought else usage


def gemini_stream(*parts: Json, finish: str | None = "STOP", usage: Sequence[int] = (7, 5)) -> bytes:
    """A streamed answer, a chunk for each part; the last one tells the reason and the usage."""
    chunks = [gemini_chunk(part) for part in parts] or [gemini_chunk()]
    if finish is not None:
        chunks[-1]["candidates"][0]["finishReason"] = finish
        chunks[-1]["usageMetadata"] = gemini_usage(usage)
    return b"".join(map(gemini_event, chunks))


def gemini_json(*parts: Json, finish: str = "STOP", usage: Sequence[int] = (7, 5)) -> bytes:
    """A whole answer in one JSON body."""
    return json.dumps(
        gemini_chunk(*parts, finish=finish, usage=gemini_usage(usage)), ensure_ascii=False
    ).encode()


def gemini_event(value: Any) -> bytes:
    """One event of a stream, in the form that the API has: data alone, and CRLF."""
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\r\n\r\n"


def gemini_error(code: int, status: str, message: str, *details: Json) -> bytes:
    """An error body."""
    error: Json = {"code": code, "message": message, "status": status}
    return json.dumps({"error": {**error, "details": list(details)} if details else error}).encode()


def _signed(part: Json, signature: str | None) -> Json:
    return part if signature is None else {**part, "thoughtSignature": signature}
