"""Jobs and their bodies for the tests of the Messages format."""

from dataclasses import replace
from typing import Any

from responses_api.protocol.job import STATE, Job
from responses_api.protocol.plain import Json
from tests.unit.workers.builders import make_job
from workers.backends.anthropic.request import build

OLDER = "claude-sonnet-4-5-20250929"
OLDEST = "claude-3-7-sonnet-20250219"
NEWER = "claude-opus-5"
LOOK: Json = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}}
TEXT: Json = {"type": "input_text", "text": "look:"}


def job(model: str = OLDER, *, history: list[Json] | None = None, **fields: Any) -> Job:
    """A job for this model."""
    return replace(make_job(history=history, **fields), upstream_model=model)


def body(model: str = OLDER, **fields: Any) -> Json:
    """The body that such a job becomes."""
    return build(job(model, **fields))


def turns(*items: Json, **fields: Any) -> list[tuple[str, list[Json]]]:
    """The messages that the items become, each as its role and its blocks."""
    told = body(input=list(items), **fields)["messages"]
    return [(message["role"], message["content"]) for message in told]


def user(*content: Any) -> Json:
    """A user's message of parts, or of one text."""
    return {"role": "user", "content": [text_part(part) for part in content]}


def text_part(part: Any) -> Json:
    """Text as an input part; what is one already stays."""
    return {"type": "input_text", "text": part} if isinstance(part, str) else part


def call(call_id: str, name: str = "look", arguments: str = "{}") -> Json:
    """A function call as an item."""
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def output(call_id: str, value: Any = "4C") -> Json:
    """The answer to a call as an item."""
    return {"type": "function_call_output", "call_id": call_id, "output": value}


def block(text: str) -> Json:
    """A block of text."""
    return {"type": "text", "text": text}


def use(id: str, name: str = "look", input: Json | None = None) -> Json:
    """A block that calls a tool."""
    return {"type": "tool_use", "id": id, "name": name, "input": input or {}}


def result(id: str, *blocks: Json) -> Json:
    """A block with the result of a call."""
    told: Json = {"type": "tool_result", "tool_use_id": id}
    return {**told, "content": list(blocks)} if blocks else told


def thought(signature: str = "c2ln", text: str = "Hm.") -> Json:
    """A block of thinking, as the upstream told it."""
    return {"type": "thinking", "thinking": text, "signature": signature}


def reasoning(*states: Json) -> Json:
    """A reasoning item of an earlier turn, opened."""
    return {"type": "reasoning", "summary": [], STATE: list(states)}
