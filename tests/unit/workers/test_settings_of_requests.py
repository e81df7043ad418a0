"""Nothing is dropped in silence: each setting changes what a backend is sent, is refused, or stands in its table."""

import sys
from dataclasses import fields, replace
from functools import partial
from typing import Any, Final

import pytest

from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.protocol.request import CreateRequest
from tests.unit.workers.builders import make_job
from workers.backends.registry import KINDS

LOOK: Json = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}}
SCHEMA: Json = {"type": "object", "properties": {}}
SETTINGS: Final[dict[str, Json]] = {
    "background": {"background": True},
    "frequency_penalty": {"frequency_penalty": 0.5},
    "include": {"include": ["message.output_text.logprobs"]},
    "instructions": {"instructions": "Be brief."},
    "max_output_tokens": {"max_output_tokens": 64},
    "max_tool_calls": {"max_tool_calls": 2},
    "metadata": {"metadata": {"a": "b"}},
    "parallel_tool_calls": {"parallel_tool_calls": False},
    "presence_penalty": {"presence_penalty": 0.5},
    "prompt_cache_key": {"prompt_cache_key": "k"},
    "reasoning": {"reasoning": {"effort": "low"}},
    "reasoning.summary": {"reasoning": {"summary": "auto"}},
    "safety_identifier": {"safety_identifier": "u"},
    "service_tier": {"service_tier": "flex"},
    "store": {"store": False},
    "stream": {"stream": True},
    "temperature": {"temperature": 0.5},
    "text": {"text": {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA}}},
    "text.verbosity": {"text": {"verbosity": "low"}},
    "tool_choice": {"tool_choice": {"type": "function", "name": "look"}},
    "tools": {"tools": [LOOK, {**LOOK, "name": "hear"}]},
    "top_logprobs": {"top_logprobs": 2},
    "top_p": {"top_p": 0.5},
    "truncation": {"truncation": "auto"},
}
# What is asked, of which model; where the answer goes; what others than adapters see to.
OF_THE_SERVICE: Final = {
    "backend_options",
    "compacts",
    "input",
    "leaves_out_tools",
    "model",
    "previous_response_id",
    "secrets",
    "stream_options",
}
# A model that takes much; which model takes less, each format's own tests say.
MODELS: Final = {"anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-flash"}


def job_of(kind: str, setting: Json) -> Job:
    job = make_job(kind=kind, **{"tools": [LOOK], **setting})
    return replace(job, upstream_model=MODELS.get(kind, "up"))


def body_or_refusal(kind: str, setting: Json) -> tuple[Json | None, str]:
    """The body that a backend is sent, or the field that is refused."""
    try:
        return KINDS[kind].build(job_of(kind, setting)), ""
    except ProtocolError as error:
        return None, error.param or "nothing named"


def table_of(kind: str) -> str:
    """What the module that maps a request says of what it does not map."""
    build: Any = KINDS[kind].build
    module = (build.func if isinstance(build, partial) else build).__module__
    return sys.modules[module].__doc__ or ""


def test_every_field_of_a_request_is_looked_at() -> None:
    named = {name.partition(".")[0] for name in SETTINGS}
    assert named | OF_THE_SERVICE == {field.name for field in fields(CreateRequest)}


@pytest.mark.parametrize("setting", sorted(SETTINGS))
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_no_setting_is_dropped_in_silence(kind: str, setting: str) -> None:
    told, refused = body_or_refusal(kind, SETTINGS[setting])
    assert refused.startswith(setting) if refused else True
    if told == body_or_refusal(kind, {})[0]:
        assert f"`{setting}`" in table_of(kind), "neither mapped nor refused nor in the table"
