"""Create requests, and what becomes of them as generateContent requests: held against the provider's own types."""

from dataclasses import replace
from typing import Any

import pytest
from google.genai import types

from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from tests.unit.workers.builders import make_job
from workers.backends.registry import adapter_for

GEMINI = adapter_for("gemini")
LOOK = {
    "type": "function",
    "name": "look",
    "parameters": {"type": "object", "properties": {"at": {"type": "string"}}},
}
HEAR = {"type": "function", "name": "hear", "description": "Listens.", "strict": True, "parameters": None}
PNG = "data:image/png;base64,iVBORw0KGgo="
DUMMY: Json = {"thoughtSignature": "skip_thought_signature_validator"}


def job_for(model: str, **fields: Any) -> Job:
    """A job for this model."""
    return replace(make_job(**fields), upstream_model=model)


def body(model: str = "gemini-3-flash", history: list[Json] | None = None, **fields: Any) -> Json:
    """The body for a create request with these fields, which the SDK's own types must accept whole."""
    built = GEMINI.build(job_for(model, history=history, **fields))
    for content in (*built["contents"], built.get("systemInstruction", {"parts": []})):
        types.Content.model_validate(content)
    types.GenerationConfig.model_validate(built.get("generationConfig", {}))
    types.ToolConfig.model_validate(built.get("toolConfig", {}))
    for tool in built.get("tools", ()):
        types.Tool.model_validate(tool)
    return built


def contents(*items: Json, **fields: Any) -> list[Json]:
    """The contents that these items become."""
    told: list[Json] = body(input=list(items), **fields)["contents"]
    return told


def config(model: str = "gemini-3-flash", **fields: Any) -> Json:
    """How the model is told to generate."""
    told: Json = body(model, **fields).get("generationConfig", {})
    return told


def refused(model: str = "gemini-3-flash", **fields: Any) -> tuple[str | None, str | None]:
    """The field and the code that a request is refused with."""
    with pytest.raises(ProtocolError) as caught:
        body(model, **fields)
    assert caught.value.status == 400
    return caught.value.param, caught.value.code


def user(*parts: Json) -> Json:
    """A user's message of parts."""
    return {"role": "user", "content": list(parts)}


def text(words: str) -> Json:
    """A part of a message."""
    return {"type": "input_text", "text": words}


def said(words: str) -> Json:
    """What the model has said."""
    return {"role": "assistant", "content": words}


def call(call_id: str, name: str = "look", arguments: str = "{}") -> Json:
    """A call as an item."""
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def output(call_id: str, value: Any) -> Json:
    """What came of a call, as an item."""
    return {"type": "function_call_output", "call_id": call_id, "output": value}


def asked(words: str = "hello") -> Json:
    """A user's text, as the format has it."""
    return {"role": "user", "parts": [{"text": words}]}


def answered(call_id: str, value: str, name: str = "look", **more: Any) -> Json:
    """What came of a call, as the format has it."""
    return {"functionResponse": {"id": call_id, "name": name, "response": {"output": value}, **more}}


def called(call_id: str, name: str = "look", args: Json | None = None, **more: Any) -> Json:
    """A call, as the format has it."""
    return {"functionCall": {"id": call_id, "name": name, "args": args or {}}, **more}
