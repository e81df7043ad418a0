"""An upstream that answers any Chat Completions request plausibly: the default mode of the scripted upstream.

Its answers follow from the request alone, so that a test can tell from the text what reached the upstream. It
remembers a code word as long as it is in the context, counts when it is told to, and calls the tool it is told to use.
"""

import json
import re
from typing import Any

from tests.support.chat import Json, ToolCall, chat_calls, chat_json, chat_stream, chunk, frame

_TOLD = re.compile(r"The code word is (\w+)")
_ASKED = "What is the code word?"
_COUNT = re.compile(r"Count( slowly)? from 1 to (\d+)")
SAMPLES = {"string": "San Francisco", "integer": 3, "number": 1.5, "boolean": True, "null": None}


def act(body: Json) -> bytes:
    """The reply to a Chat Completions request: a tool call to a user who offers tools, text otherwise."""
    messages = body.get("messages") or []
    name = _tool_to_call(body, messages)
    if name is not None:
        return _call(body, name)
    return _text(body, _answer(body, messages), _taken(messages))


def is_slow(body: Json) -> bool:
    """Whether the user asks for an answer that takes its time."""
    counted = _COUNT.search(_last_text(body.get("messages") or []))
    return counted is not None and bool(counted[1])


def sample(schema: Any) -> Any:
    """A small value that fits a JSON Schema of the everyday kind (types, enums, required properties)."""
    if not isinstance(schema, dict):
        return SAMPLES["string"]
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = kind[0]
    if kind == "object" or "properties" in schema:
        return {name: sample(inner) for name, inner in (schema.get("properties") or {}).items()}
    if kind == "array":
        return [sample(schema.get("items"))]
    return SAMPLES.get(str(kind), SAMPLES["string"])


def _tool_to_call(body: Json, messages: list[Json]) -> str | None:
    tools = list(_functions(body))
    choice = body.get("tool_choice", "auto")
    if not tools or choice == "none" or not messages or messages[-1].get("role") != "user":
        return None
    if isinstance(choice, dict) and choice.get("type") == "function":
        return str(choice["function"]["name"])
    said = _last_text(messages)
    return next((name for name in tools if name in said), tools[0])


def _functions(body: Json) -> dict[str, Json]:
    tools = body.get("tools") or []
    return {tool["function"]["name"]: tool["function"] for tool in tools if tool.get("type") == "function"}


def _call(body: Json, name: str) -> bytes:
    function = _functions(body).get(name, {})
    arguments = json.dumps(sample(function.get("parameters") or {"type": "object"}))
    # One id per round: an upstream never repeats a call id within a conversation.
    call = ToolCall(name, arguments, call_id=f"call_{len(body['messages'])}")
    if body.get("stream"):
        return _thought(body) + chat_calls(call, usage=_usage(body, _taken(body["messages"]), 8))
    return chat_json(calls=[call], usage=(_taken(body["messages"]), 8))


def _answer(body: Json, messages: list[Json]) -> str:
    wanted = body.get("response_format") or {}
    if wanted.get("type") == "json_schema":
        return json.dumps(sample((wanted.get("json_schema") or {}).get("schema")))
    if wanted.get("type") == "json_object":
        return json.dumps({"answer": SAMPLES["string"]})
    if not messages:
        return "There is nothing to answer."
    last = messages[-1]
    said = _plain_text(last.get("content"))
    if last.get("role") == "tool":
        return f"The tool returned: {said}"
    if _ASKED in said:
        told = _TOLD.findall(" ".join(_plain_text(message.get("content")) for message in messages))
        return str(told[-1]) if told else "unknown"
    if counted := _COUNT.search(said):
        return " ".join(map(str, range(1, int(counted[2]) + 1)))
    return f"I see an image. You said: {said}" if _has_image(last) else f"You said: {said}"


def _text(body: Json, text: str, taken: int) -> bytes:
    words = re.findall(r"\S+\s*", text) or [text]
    limit = body.get("max_completion_tokens") or body.get("max_tokens")
    finish = "stop"
    if isinstance(limit, int) and limit < len(words):
        words, finish = words[:limit], "length"
    if body.get("stream"):
        return _thought(body) + chat_stream(*words, usage=_usage(body, taken, len(words)), finish=finish)
    return chat_json("".join(words), usage=(taken, len(words)), finish=finish)


def _thought(body: Json) -> bytes:
    """What a model that is told to reason says before its answer, the first frames of a stream."""
    if body.get("reasoning_effort") in (None, "none"):
        return b""
    return b"".join(frame(chunk({"reasoning_content": text})) for text in ("Let me ", "think."))


def _taken(messages: list[Json]) -> int:
    """How many tokens it says that it has read: one for each word."""
    return max(1, sum(len(_plain_text(message.get("content")).split()) for message in messages))


def _usage(body: Json, taken: int, made: int) -> tuple[int, int] | None:
    return (taken, made) if (body.get("stream_options") or {}).get("include_usage") else None


def _last_text(messages: list[Json]) -> str:
    return _plain_text(messages[-1].get("content")) if messages else ""


def _plain_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return " ".join(part["text"] for part in parts if isinstance(part, dict) and "text" in part)


def _has_image(message: Json) -> bool:
    content = message.get("content")
    return isinstance(content, list) and any(part.get("type") == "image_url" for part in content)
