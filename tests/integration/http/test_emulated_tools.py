"""Tools of a model that knows none: what it writes by the schema is told as calls, under the same rules as anywhere."""

import json

import pytest

from responses_api.models import Backend
from responses_api.protocol.plain import Json
from responses_api.services import routing
from tests.support.chat import chat_json, chat_stream
from tests.support.checks import checked_response, checked_stream, output_text
from tests.support.client import Client
from tests.support.upstream import ScriptedUpstream

WEATHER: Json = {
    "type": "function",
    "name": "weather",
    "description": "Tell the weather of a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
MAIL: Json = {"type": "function", "name": "mail"}
CALL = '{"tool": "weather", "arguments": {"city": "Oslo"}}'
ANSWER = '{"answer": "4 degrees in \\u00d8slo."}'


@pytest.fixture(autouse=True)
def _emulated(friend: Client) -> None:
    Backend.objects.update(tools="emulated")
    routing.read_models()


def pieces(text: str) -> list[str]:
    return [text[at : at + 5] for at in range(0, len(text), 5)]


@pytest.mark.parametrize("stream", [True, False])
def test_a_tool_loop_runs_as_with_any_model(friend: Client, upstream: ScriptedUpstream, stream: bool) -> None:
    upstream.reply(body=chat_stream(*pieces(CALL)))
    body: Json = {"input": "Oslo?", "tools": [WEATHER]}
    if stream:
        first = checked_stream(friend.read_stream(**body))
    else:
        first = checked_response(friend, friend.create(**body).json())
    (call,) = first["output"]
    assert (call["type"], call["name"], call["status"]) == ("function_call", "weather", "completed")
    assert json.loads(call["arguments"]) == {"city": "Oslo"}
    assert first["tools"] == [{**WEATHER, "strict": None}]
    assert first["text"]["format"]["type"] == "text"
    upstream.reply(body=chat_stream(*pieces(ANSWER)))
    output = {"type": "function_call_output", "call_id": call["call_id"], "output": "4C"}
    second = checked_response(
        friend,
        friend.create(input=[output], previous_response_id=first["id"], tools=[WEATHER]).json(),
    )
    assert output_text(second) == "4 degrees in Øslo."
    asked = upstream.requests()[-1].body
    assert not asked.keys() & {"tools", "tool_choice"}
    assert asked["response_format"]["type"] == "json_schema"
    assert not [
        message for message in asked["messages"] if message["role"] == "tool" or "tool_calls" in message
    ]


def test_what_the_request_does_not_allow_is_told_by_no_event(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_stream(*pieces(CALL)))
    choice = {"type": "allowed_tools", "tools": [{"type": "function", "name": "mail"}]}
    exchange = friend.read_stream(input="Oslo?", tools=[WEATHER, MAIL], tool_choice=choice)
    response = checked_stream(exchange)
    assert response["status"] == "failed"
    assert response["error"]["message"].startswith("The model called 'weather'")
    assert not [event for event in exchange.events if "function_call" in event["type"]]


def test_a_model_that_writes_as_it_likes_has_said_what_it_wrote(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_json("It is cold."))
    response = checked_response(friend, friend.create(input="Oslo?", tools=[WEATHER]).json())
    assert output_text(response) == "It is cold."


def test_nobody_else_can_answer_the_call(
    friend: Client, stranger: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_stream(CALL))
    first = friend.create(input="Oslo?", tools=[WEATHER]).json()
    call_id = first["output"][0]["call_id"]
    output = {"type": "function_call_output", "call_id": call_id, "output": "4C"}
    refused = stranger.create(input=[output], previous_response_id=first["id"], tools=[WEATHER])
    assert refused.status == 400
    assert refused.json()["error"]["code"] == "previous_response_not_found"


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"tools": [WEATHER], "top_logprobs": 2}, "top_logprobs"),
        ({"tools": [{"type": "acme:x"}]}, "tools[0].type"),
    ],
)
def test_what_has_no_place_in_a_turn_is_refused_before_anything_is_sent(
    friend: Client, upstream: ScriptedUpstream, fields: Json, param: str
) -> None:
    refused = friend.create(input="Oslo?", **fields)
    assert refused.status == 400
    assert refused.json()["error"]["param"] == param
    assert upstream.requests() == []
