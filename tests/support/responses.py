"""What an upstream that speaks Responses would send: builders of its events and bodies, and a plausible actor.

The builders tell streams as OpenAI does: numbered, with an index and an id for each item, each text and item whole at
its end.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from tests.support.actor import act
from tests.support.chat import Json

RESPONSE_ID = "resp_upstream1"


def response(
    output: Sequence[Json] = (), *, status: str = "completed", usage: tuple[int, int] = (7, 5), **more: Any
) -> Json:
    """A response resource."""
    taken, made = usage
    return {
        "id": RESPONSE_ID,
        "object": "response",
        "created_at": 1_700_000_000,
        "status": status,
        "model": "upstream-model",
        "output": [*output],
        "error": None,
        "incomplete_details": None,
        "usage": {
            "input_tokens": taken,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": made,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": taken + made,
        },
        **more,
    }


def message(text: str, *, id: str = "msg_upstream1", annotations: Sequence[Json] = ()) -> Json:
    """A message of the model's."""
    part = {"type": "output_text", "text": text, "annotations": [*annotations], "logprobs": []}
    return {"type": "message", "id": id, "status": "completed", "role": "assistant", "content": [part]}


def call(name: str, arguments: str = "{}", *, call_id: str = "call_1", id: str = "fc_upstream1") -> Json:
    """A call of a function."""
    return {
        "type": "function_call",
        "id": id,
        "status": "completed",
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
    }


def reasoning(encrypted: str | None = None, *, summary: str = "", id: str = "rs_upstream1") -> Json:
    """A reasoning item."""
    item: Json = {
        "type": "reasoning",
        "id": id,
        "summary": [{"type": "summary_text", "text": summary}] if summary else [],
    }
    return item if encrypted is None else {**item, "encrypted_content": encrypted}


def body(output: Sequence[Json], **more: Any) -> bytes:
    """An answer as one JSON body."""
    return json.dumps(response(output, **more), ensure_ascii=False).encode()


def stream(*output: Json, done: bool = False, **more: Any) -> bytes:
    """An answer as a stream, each text and all arguments in one delta."""
    whole = response(output, **more)
    events = [
        {
            "type": "response.created",
            "response": {**whole, "status": "in_progress", "output": [], "usage": None},
        }
    ]
    for index, item in enumerate(output):
        events += _events(index, item)
    events.append({"type": f"response.{whole['status']}", "response": whole})
    frames = b"".join(frame({**event, "sequence_number": number}) for number, event in enumerate(events))
    return frames + (b"data: [DONE]\n\n" if done else b"")


def frame(event: Json) -> bytes:
    """An event as a frame."""
    return f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()


def _events(index: int, item: Json) -> Iterator[Json]:
    begun = {**item, **{name: blank for name, blank in (("content", []), ("arguments", "")) if name in item}}
    yield {
        "type": "response.output_item.added",
        "output_index": index,
        "item": {**begun, "status": "in_progress"},
    }
    at = {"item_id": item["id"], "output_index": index}
    for place, part in enumerate(item.get("content") or ()):
        here = {**at, "content_index": place}
        yield {"type": "response.content_part.added", **here, "part": {**part, "text": "", "annotations": []}}
        yield {"type": "response.output_text.delta", **here, "delta": part["text"], "logprobs": []}
        for number, annotation in enumerate(part["annotations"]):
            told = {"annotation_index": number, "annotation": annotation}
            yield {"type": "response.output_text.annotation.added", **here, **told}
        yield {"type": "response.output_text.done", **here, "text": part["text"], "logprobs": []}
        yield {"type": "response.content_part.done", **here, "part": part}
    if item.get("arguments"):
        yield {"type": "response.function_call_arguments.delta", **at, "delta": item["arguments"]}
        yield {"type": "response.function_call_arguments.done", **at, "arguments": item["arguments"]}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def act_responses(asked: Json) -> bytes:
    """The reply to a Responses request: what `actor.act` answers to the same in Chat Completions."""
    told = json.loads(act({**_as_chat(asked), "stream": False}))
    choice = told["choices"][0]["message"]
    output = [
        call(made["function"]["name"], made["function"]["arguments"], call_id=made["id"])
        for made in choice.get("tool_calls") or ()
    ] or [message(choice["content"])]
    usage = (told["usage"]["prompt_tokens"], told["usage"]["completion_tokens"])
    is_short = told["choices"][0]["finish_reason"] == "length"
    how: Json = (
        {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}} if is_short else {}
    )
    return stream(*output, usage=usage, **how) if asked.get("stream") else body(output, usage=usage, **how)


def _as_chat(asked: Json) -> Json:
    given = asked["input"]
    items = [{"type": "message", "role": "user", "content": given}] if isinstance(given, str) else given
    form = (asked.get("text") or {}).get("format") or {}
    choice = asked.get("tool_choice")
    return {
        "messages": [_as_message(item) for item in items],
        "tools": [
            {"type": "function", "function": tool}
            for tool in asked.get("tools") or ()
            if tool["type"] == "function"
        ],
        "tool_choice": {"type": "function", "function": choice}
        if isinstance(choice, dict)
        else choice or "auto",
        "max_tokens": asked.get("max_output_tokens"),
        "response_format": {"type": form.get("type"), "json_schema": form},
    }


def _as_message(item: Json) -> Json:
    if item.get("type") == "function_call_output":
        return {"role": "tool", "content": item["output"]}
    if item.get("type", "message") != "message":
        return {"role": "assistant", "content": ""}
    content = item["content"]
    parts = content if isinstance(content, list) else [{"type": "input_text", "text": content}]
    told = [
        {"type": "image_url"}
        if part["type"] == "input_image"
        else {"type": "text", "text": part.get("text", "")}
        for part in parts
    ]
    return {"role": item["role"], "content": told}
