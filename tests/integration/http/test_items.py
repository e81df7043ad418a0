"""Items of other kinds than text: function calls both ways, images, refusals, reasoning."""

from collections.abc import Iterator
from typing import Any

import pytest

from tenants.keys import issue_key
from tenants.models import Tenant
from tests.integration.fixtures import client
from tests.support.asgi import AsgiServer
from tests.support.chat import DONE, ToolCall, chat_calls, chunk, frame
from tests.support.checks import checked_response, checked_stream, output_text
from tests.support.client import Client, Json
from tests.support.upstream import ScriptedUpstream

WEATHER = {
    "type": "function",
    "name": "weather",
    "description": "The weather at a place",
    "parameters": {"type": "object", "properties": {"place": {"type": "string"}}},
}
STOP = frame(chunk({}, finish="stop")) + DONE


def calls_of(response: Json) -> list[Json]:
    return [item for item in response["output"] if item["type"] == "function_call"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_tool_loop_by_id(
    stream: bool, friend: Client, stranger: Client, upstream: ScriptedUpstream
) -> None:
    def create(**body: Any) -> Json:
        if stream:
            return checked_stream(friend.read_stream(tools=[WEATHER], **body), friend)
        return checked_response(friend, friend.create(tools=[WEATHER], **body).json())

    upstream.reply(body=chat_calls(ToolCall("weather", '{"place": "Ulm"}', "call_u"), text="Let me look."))
    first = create(input="How is it in Ulm?")
    (call,) = calls_of(first)
    assert (call["name"], call["arguments"], call["call_id"]) == ("weather", '{"place": "Ulm"}', "call_u")
    assert output_text(first) == "Let me look."
    answer = {"type": "function_call_output", "call_id": "call_u", "output": "12 degrees"}
    second = create(input=[answer], previous_response_id=first["id"])
    assert output_text(second) == "The tool returned: 12 degrees"
    sent = upstream.requests()
    assert sent[0].body["tools"][0]["function"]["name"] == "weather"
    assert [message["role"] for message in sent[1].body["messages"]] == ["user", "assistant", "tool"]
    assert sent[1].body["messages"][1]["tool_calls"][0]["id"] == "call_u"
    foreign = stranger.create(input=[answer], previous_response_id=first["id"])
    assert foreign.error["code"] == "previous_response_not_found"


def test_items_we_sent_come_back_as_input_unchanged(friend: Client, upstream: ScriptedUpstream) -> None:
    upstream.reply(body=chat_calls(ToolCall("weather", "{}", "c1"), ToolCall("weather", "{}", "c2")))
    first = friend.create(input="Hello", tools=[WEATHER], store=False).json()
    outputs = [
        {"type": "function_call_output", "call_id": call["call_id"], "output": call["call_id"]}
        for call in calls_of(first)
    ]
    conversation = [{"role": "user", "content": "Hello"}, *first["output"], *outputs]
    second = friend.create(input=conversation, tools=[WEATHER])
    assert second.status == 200
    checked_response(friend, second.json())
    assert [message["content"] for message in upstream.requests()[1].body["messages"][2:]] == ["c1", "c2"]


@pytest.mark.parametrize(
    ("outputs", "call_id"),
    [([], "c1"), (["c2"], "c2"), (["c1", "c1"], "c1"), (["c1", "other"], "other")],
)
def test_calls_and_outputs_that_do_not_pair_are_refused_by_name(
    outputs: list[str], call_id: str, friend: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_calls(ToolCall("weather", "{}", "c1")))
    first = friend.create(input="Hello", tools=[WEATHER]).json()
    given = [{"type": "function_call_output", "call_id": name, "output": "x"} for name in outputs]
    answer = friend.create(input=[*given, {"role": "user", "content": "?"}], previous_response_id=first["id"])
    assert (answer.status, answer.error["type"]) == (400, "invalid_request")
    assert f"'{call_id}'" in answer.error["message"]
    assert len(upstream.requests()) == 1


def test_images_are_passed_on_unchanged(friend: Client, upstream: ScriptedUpstream) -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low"}
    text = {"type": "input_text", "text": "What is this?"}
    response = friend.create(input=[{"role": "user", "content": [text, image]}]).json()
    assert output_text(checked_response(friend, response)).startswith("I see an image.")
    content = upstream.wait_request().body["messages"][0]["content"]
    assert content == [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": image["image_url"], "detail": "low"}},
    ]
    (item,) = friend.get(f"/responses/{response['id']}/input_items").json()["data"]
    assert item["content"][1] == image


def test_a_refusal_is_its_own_kind_of_part(friend: Client, upstream: ScriptedUpstream) -> None:
    upstream.reply(body=frame(chunk({"refusal": "I can"})) + frame(chunk({"refusal": "not."})) + STOP)
    response = checked_stream(friend.read_stream(input="Hello"), friend)
    assert response["output"][0]["content"] == [{"type": "refusal", "refusal": "I cannot."}]


THOUGHT = frame(chunk({"reasoning_content": "Hm"})) + frame(chunk({"reasoning_content": "m"}))
SAID = frame(chunk({"content": "Yes"}))


@pytest.fixture
def thinking(upstream: ScriptedUpstream) -> Iterator[None]:
    """An upstream that thinks before it speaks."""
    upstream.reply(body=THOUGHT + SAID + STOP, always=True)
    yield
    upstream.clear()


@pytest.mark.parametrize(
    ("headers", "name"),
    [
        ({}, "response.reasoning"),
        ({"user-agent": "python-requests/2"}, "response.reasoning"),
        ({"x-stainless-lang": "js"}, "response.reasoning_text"),
        ({"originator": "codex_cli_rs"}, "response.reasoning_text"),
        ({"user-agent": "ai-sdk/5"}, "response.reasoning_text"),
    ],
)
def test_raw_reasoning_has_the_names_that_the_client_knows(
    headers: dict[str, str], name: str, friend: Client, thinking: None
) -> None:
    body = {"model": friend.model, "input": "Hello", "stream": True}
    with friend.open("POST", "/responses", body, headers) as exchange:
        exchange.read_all()
    told = {kind for kind in exchange.types if "reasoning" in kind}
    assert told == {f"{name}.delta", f"{name}.done"}
    if name == "response.reasoning":
        # The published schemas know the specification's names only.
        checked_stream(exchange, friend)
    thought, message = exchange.events[-1]["response"]["output"]
    assert thought["content"] == [{"type": "reasoning_text", "text": "Hmm"}]
    assert (thought["summary"], message["content"][0]["text"]) == ([], "Yes")


@pytest.mark.parametrize(
    ("dialect", "headers", "name"),
    [
        ("openai", {}, "response.reasoning_text"),
        ("open", {"x-stainless-lang": "js", "originator": "codex_cli_rs"}, "response.reasoning"),
    ],
)
def test_what_the_key_says_of_the_dialect_counts_for_more_than_the_headers(
    dialect: str,
    headers: dict[str, str],
    name: str,
    friend: Client,
    friend_tenant: Tenant,
    server: AsgiServer,
    thinking: None,
) -> None:
    own = client(server, issue_key(friend_tenant, name="of a dialect", dialect=dialect))
    body = {"model": own.model, "input": "Hello", "stream": True}
    with own.open("POST", "/responses", body, headers) as exchange:
        exchange.read_all()
    assert {kind for kind in exchange.types if "reasoning" in kind} == {f"{name}.delta", f"{name}.done"}


def test_reasoning_in_the_history_never_passes_as_content(
    friend: Client, thinking: None, upstream: ScriptedUpstream
) -> None:
    first = friend.create(input="Hello").json()
    checked_response(friend, friend.create(input="And?", previous_response_id=first["id"]).json())
    messages = upstream.requests()[1].body["messages"]
    assert [message["content"] for message in messages] == ["Hello", "Yes", "And?"]
    assert [message.get("reasoning_content") for message in messages] == [None, "Hmm", None]
    assert "Yes" in upstream.requests()[1].raw.decode()
