"""The scripted upstream speaks Responses as OpenAI does: its own client, pointed at it, says so."""

from collections.abc import Iterator
from typing import Any

import pytest
from openai import OpenAI

from tests.support.responses import body, call, message, reasoning, stream
from tests.support.upstream import ScriptedUpstream

TOOL: Any = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    "strict": False,
}


@pytest.fixture
def upstream() -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream(actor=True) as started:
        yield started


@pytest.fixture
def client(upstream: ScriptedUpstream) -> OpenAI:
    return OpenAI(base_url=upstream.base_url, api_key="sk-test", max_retries=0)


def test_a_scripted_stream_is_read_to_its_end(client: OpenAI, upstream: ScriptedUpstream) -> None:
    items = (reasoning("gAAA", summary="Hm."), message("Hello."), call("get_weather", '{"city": "Oslo"}'))
    upstream.reply("responses", body=stream(*items))
    with client.responses.stream(model="m", input="Hi", tools=[TOOL]) as told:
        kinds = [event.type for event in told]
        final = told.get_final_response()
    assert kinds[0] == "response.created"
    assert "response.output_text.delta" in kinds
    assert "response.function_call_arguments.done" in kinds
    assert final.output_text == "Hello."
    assert [item.type for item in final.output] == ["reasoning", "message", "function_call"]


def test_a_scripted_body_is_the_same_answer(client: OpenAI, upstream: ScriptedUpstream) -> None:
    upstream.reply("responses", body=body([reasoning("gAAA"), message("Hello.")]))
    told = client.responses.create(model="m", input="Hi")
    assert (told.output_text, told.status) == ("Hello.", "completed")
    assert told.usage is not None
    assert told.usage.total_tokens == 12


def test_the_actor_calls_a_tool_and_tells_its_result(client: OpenAI) -> None:
    first = client.responses.create(model="m", input="Weather in Oslo?", tools=[TOOL])
    (made,) = first.output
    assert made.type == "function_call"
    assert made.arguments == '{"city": "San Francisco"}'
    asked: Any = [
        {"role": "user", "content": "Weather in Oslo?"},
        made.model_dump(),
        {"type": "function_call_output", "call_id": made.call_id, "output": "4C"},
    ]
    assert (
        client.responses.create(model="m", input=asked, tools=[TOOL]).output_text == "The tool returned: 4C"
    )


def test_the_actor_stops_at_the_length_that_is_asked_for(client: OpenAI) -> None:
    told = client.responses.create(model="m", input="Count from 1 to 9", max_output_tokens=3)
    assert told.status == "incomplete"
    assert told.output_text.split() == ["1", "2", "3"]
