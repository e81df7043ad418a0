"""The bundled model's server, an upstream that is not ours: the same conversation over each format that it speaks.

Its model knows no tools, so they are emulated where its server can hold an answer to a schema: over Messages it cannot.
"""

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from config.local.backend import DEFAULT_OPTIONS
from config.local.model import NAME, Model
from config.local.places import ROOT
from config.local.probe import status_of
from responses_api.conformance.stream import assert_stream
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.protocol.sse import DONE
from tests.support.oracle import event_faults
from tests.unit.workers.builders import make_job
from tests.unit.workers.told import new_emitter
from workers.backends.client import UpstreamClient
from workers.backends.credentials import by_variable

pytestmark = pytest.mark.model

KINDS = ("chat_completions", "responses", "anthropic")
FORM: Json = {
    "format": {
        "type": "json_schema",
        "name": "ans",
        "schema": {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]},
    }
}
TALK = [
    {"role": "user", "content": "My name is Ada."},
    {"role": "assistant", "content": "Hello Ada."},
    {"role": "user", "content": "What is my name?"},
]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base URL of a server of the local model."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    log: Path = tmp_path_factory.mktemp("model") / "log"
    program = Model(log, port, ROOT).prepare()
    with log.open("wb") as output:
        process = subprocess.Popen(
            program.argv, cwd=program.cwd, env=dict(os.environ), stdout=output, stderr=output
        )
    try:
        _wait_until_ready(process, port, log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def _wait_until_ready(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    ends_at = time.monotonic() + 60
    while status_of(f"http://127.0.0.1:{port}/health") != 200:
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < ends_at, log.read_text()
        time.sleep(0.05)


def job_for(kind: str, url: str, **fields: Any) -> Job:
    return replace(make_job(url, kind=kind, **fields), upstream_model=NAME)


async def answer(job: Job) -> Json:
    """The response to a job, its stream checked by the rules."""
    emitter = new_emitter()
    emitter.start()
    async with UpstreamClient(secret=by_variable(lambda name: None)) as client:
        async for parts in client.stream(job):
            for part in parts:
                emitter.feed(part)
    emitter.finish()
    assert_stream(emitter.drain() + emitter.terminal() + DONE, validate=event_faults)
    return emitter.response


@pytest.mark.parametrize("kind", KINDS)
async def test_a_conversation_is_answered_with_what_it_cost(kind: str, url: str) -> None:
    told = await answer(job_for(kind, url, input=TALK, instructions="Be brief.", max_output_tokens=24))
    (message,) = told["output"]
    assert message["content"][0]["text"].strip()
    assert told["usage"]["input_tokens"] > 30
    assert 0 < told["usage"]["output_tokens"] <= 24
    assert told["status"] in ("completed", "incomplete")


# Over Responses its server calls an answer completed that it cut.
@pytest.mark.parametrize("kind", KINDS)
async def test_the_limit_of_tokens_ends_it_incomplete(kind: str, url: str) -> None:
    told = await answer(job_for(kind, url, input="Tell me a long story.", max_output_tokens=16))
    assert told["incomplete_details"] == {"reason": "max_output_tokens"}
    assert told["usage"]["output_tokens"] == 16


@pytest.mark.parametrize("kind", KINDS)
async def test_what_does_not_fit_its_window_is_told_as_that(kind: str, url: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        await answer(job_for(kind, url, input="hello " * 4000))
    assert (caught.value.status, caught.value.code) == (400, "context_length_exceeded")


async def test_over_messages_it_counts_tokens(url: str) -> None:
    job = job_for("anthropic", url, input="Say hello.", token_counting="anthropic")
    async with UpstreamClient(secret=by_variable(lambda name: None)) as client:
        assert 10 < await client.count(job) < 60


# The rows of a model that calls nothing by itself, on a server that can hold an answer to a schema. A likelier end of
# the turn, as `make run` has it, cuts none.
EMULATING: list[tuple[str, Json]] = [
    ("chat_completions", {"tools": "emulated", "default_options": DEFAULT_OPTIONS}),
    ("chat_completions", {"tools": "emulated"}),
    ("responses", {"tools": "emulated", "native_features": ["response_format"]}),
]
WEATHER: Json = {
    "type": "function",
    "name": "get_weather",
    "description": "Get the weather of a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


@pytest.mark.parametrize(("kind", "row"), EMULATING)
async def test_it_calls_a_function_and_goes_on_with_what_it_put_out(kind: str, row: Json, url: str) -> None:
    asked: Json = {"tools": [WEATHER], "temperature": 0, "max_output_tokens": 100}
    question = {"role": "user", "content": "What is the weather in Paris?"}
    told = await answer(job_for(kind, url, row=row, input=[question], tool_choice="required", **asked))
    (call,) = told["output"]
    assert (call["type"], call["name"]) == ("function_call", "get_weather")
    assert json.loads(call["arguments"]) == {"city": "Paris"}
    output = {"type": "function_call_output", "call_id": call["call_id"], "output": "Sunny, 22 degrees"}
    told = await answer(job_for(kind, url, row=row, input=[question, call, output], **asked))
    (message,) = told["output"]
    assert "sunny" in message["content"][0]["text"].lower()


@pytest.mark.parametrize(("kind", "row"), EMULATING)
async def test_an_answer_is_held_to_its_schema(kind: str, row: Json, url: str) -> None:
    asked: Json = {"input": "Is the sky blue?", "text": FORM, "temperature": 0, "max_output_tokens": 60}
    told = await answer(job_for(kind, url, row=row, **asked))
    (message,) = told["output"]
    assert isinstance(json.loads(message["content"][0]["text"])["ok"], bool)


async def test_over_messages_no_answer_is_held_to_a_schema(url: str) -> None:
    """Why such a row says `structured_output: refused`, and cannot have emulated tools."""
    asked: Json = {"input": "Is the sky blue?", "text": FORM, "temperature": 0, "max_output_tokens": 40}
    (message,) = (await answer(job_for("anthropic", url, **asked)))["output"]
    assert not message["content"][0]["text"].lstrip().startswith("{")
