"""Bodies an upstream that speaks Chat Completions would send: builders for replies in scripts.

They return the exact bytes, so that a test can cut, reorder or damage them before it hands them on.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
DONE = b"data: [DONE]\n\n"
MODEL = "upstream-model"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A function call as an upstream tells it; `arguments` is JSON text, `pieces` how often it is cut."""

    name: str
    arguments: str = "{}"
    call_id: str = "call_1"
    pieces: int = 3

    def plain(self) -> Json:
        """The call inside a whole message."""
        function = {"name": self.name, "arguments": self.arguments}
        return {"id": self.call_id, "type": "function", "function": function}

    def deltas(self, index: int) -> Iterable[Json]:
        """The call inside a stream: id and name first, the arguments after them in pieces."""
        head = {"name": self.name, "arguments": ""}
        yield {"index": index, "id": self.call_id, "type": "function", "function": head}
        for piece in cut(self.arguments, self.pieces):
            yield {"index": index, "function": {"arguments": piece}}


def cut(text: str, pieces: int) -> list[str]:
    """`text` in at most `pieces` parts of nearly equal length, none of them empty."""
    size = max(1, -(-len(text) // max(1, pieces)))
    return [text[at : at + size] for at in range(0, len(text), size)]


def frame(chunk: Json | bytes) -> bytes:
    """One SSE frame, in the form Chat Completions servers use: data alone, no event name."""
    data = chunk if isinstance(chunk, bytes) else json.dumps(chunk, ensure_ascii=False).encode()
    return b"data: " + data + b"\n\n"


def usage_of(counts: Sequence[int]) -> Json:
    """The usage object for (input tokens, output tokens)."""
    taken, made = counts
    return {"prompt_tokens": taken, "completion_tokens": made, "total_tokens": taken + made}


def chunk(delta: Json, *, finish: str | None = None, model: str = MODEL, **extra: Any) -> Json:
    """One `chat.completion.chunk` with one choice."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {**_head("chat.completion.chunk", model), "choices": [choice], **extra}


def chat_stream(
    *texts: str,
    usage: Sequence[int] | None = (7, 5),
    finish: str | None = "stop",
    model: str = MODEL,
    done: bool = True,
) -> bytes:
    """A streamed text answer, a chunk for each of `texts`; `finish=None, done=False` leave it unfinished."""
    deltas: list[Json] = [{"content": text} for text in texts]
    return _stream(deltas, usage=usage, finish=finish, model=model, done=done)


def chat_calls(
    *calls: ToolCall,
    text: str = "",
    usage: Sequence[int] | None = (7, 5),
    finish: str | None = "tool_calls",
    model: str = MODEL,
    done: bool = True,
) -> bytes:
    """A streamed answer of function calls, after `text` when there is some."""
    deltas: list[Json] = [{"content": text}] if text else []
    for index, call in enumerate(calls):
        deltas += [{"tool_calls": [delta]} for delta in call.deltas(index)]
    return _stream(deltas, usage=usage, finish=finish, model=model, done=done)


def chat_json(
    text: str | None = None,
    *,
    calls: Sequence[ToolCall] = (),
    usage: Sequence[int] | None = (7, 5),
    finish: str | None = None,
    model: str = MODEL,
) -> bytes:
    """A whole answer in one JSON body."""
    message: Json = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [call.plain() for call in calls]
    choice = {"index": 0, "message": message, "finish_reason": finish or ("tool_calls" if calls else "stop")}
    body = {**_head("chat.completion", model), "choices": [choice]}
    if usage is not None:
        body["usage"] = usage_of(usage)
    return json.dumps(body, ensure_ascii=False).encode()


def chat_error(message: str, *, code: str | None = None, kind: str = "server_error") -> bytes:
    """An error body as most servers write it."""
    return json.dumps({"error": {"message": message, "type": kind, "param": None, "code": code}}).encode()


def _head(kind: str, model: str) -> Json:
    return {"id": "chatcmpl-1", "object": kind, "created": 1_700_000_000, "model": model}


def _stream(
    deltas: Iterable[Json], *, usage: Sequence[int] | None, finish: str | None, model: str, done: bool
) -> bytes:
    chunks = [chunk({"role": "assistant", "content": ""}, model=model)]
    chunks += [chunk(delta, model=model) for delta in deltas]
    if finish is not None:
        chunks.append(chunk({}, finish=finish, model=model))
    if usage is not None:
        chunks.append({**_head("chat.completion.chunk", model), "choices": [], "usage": usage_of(usage)})
    return b"".join(map(frame, chunks)) + (DONE if done else b"")
