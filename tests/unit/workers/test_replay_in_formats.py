"""Receipts in a conversation, whatever their order, are something that every wire format can say."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from responses_api.protocol.backend import BackendSpec
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.protocol.replay import as_functions
from responses_api.services.hosted import declarations
from tests.unit.protocol.test_replay import PIECES, conversation
from tests.unit.workers.builders import make_job
from workers.backends.registry import adapter_of

KINDS = ("chat_completions", "anthropic", "gemini", "responses")
WEATHER: Json = {"type": "function", "name": "own", "parameters": {"type": "object", "properties": {}}}


def job_of(context: list[Json], border: int, kind: str, tools: str) -> Job:
    """The job of a conversation of which so much is history, its receipts told as calls."""
    stored = [{**item, "id": item.get("id") or f"item_{place}"} for place, item in enumerate(context)]
    history, given_items = as_functions(stored[:border], stored[border:], declarations(), {})
    job = make_job(history=history, kind=kind, row={"tools": tools}, tools=[WEATHER])
    job.input_items[:] = given_items or job.input_items
    return job


def check_chat(body: Json) -> None:
    """Each assistant's calls are answered by the messages right behind it, one for each."""
    waiting: list[str] = []
    for message in body["messages"]:
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
            continue
        assert not waiting
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
        assert len({*waiting}) == len(waiting)
    assert not waiting


def check_messages(body: Json) -> None:
    """The turn after calls begins with a result for each of them, and has no others."""
    waiting: set[str] = set()
    for message in body["messages"]:
        results = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
        calls = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        assert {*results} == waiting
        assert len(results) == len(waiting)
        assert [block["type"] for block in message["content"]][: len(results)] == ["tool_result"] * len(
            results
        )
        waiting = {*calls}
        assert len(waiting) == len(calls)
    assert not waiting


def check_gemini(body: Json) -> None:
    """As many answers follow a turn's calls as there are."""
    waiting = 0
    for turn in body["contents"]:
        answers = sum("functionResponse" in part for part in turn["parts"])
        assert answers == waiting
        waiting = sum("functionCall" in part for part in turn["parts"])
    assert waiting == 0


def check_responses(body: Json) -> None:
    """Nothing is sent but what the specification knows, each output after its call."""
    open_calls: set[str] = set()
    for item in body["input"]:
        assert item["type"] in ("message", "function_call", "function_call_output")
        if item["type"] == "function_call":
            open_calls.add(item["call_id"])
        elif item["type"] == "function_call_output":
            open_calls.remove(item["call_id"])
    assert not open_calls


CHECKS: dict[str, Any] = {
    "chat_completions": check_chat,
    "anthropic": check_messages,
    "gemini": check_gemini,
    "responses": check_responses,
}


@pytest.mark.parametrize("kind", KINDS)
@given(some.lists(PIECES, min_size=1, max_size=16), some.integers(0, 16))
@settings(max_examples=60)
def test_every_format_can_pair_what_receipts_stand_for(kind: str, pieces: list[str], border: int) -> None:
    job = job_of(conversation(pieces), border, kind, "native")
    body = adapter_of(BackendSpec.from_plain(job.backend)).build(job)
    CHECKS[kind](body)


@given(some.lists(PIECES, min_size=1, max_size=16))
@settings(max_examples=40)
def test_emulated_tools_can_say_them_too(pieces: list[str]) -> None:
    job = job_of(conversation(pieces), 0, "chat_completions", "emulated")
    body = adapter_of(BackendSpec.from_plain(job.backend)).build(job)
    assert all(not message.get("tool_calls") for message in body["messages"])
