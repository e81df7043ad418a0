"""The sealed state of reasoning: shown to who asks, kept for chains, given back to the model it came from."""

from typing import Any

import pytest
from pytest_django import Settings

from responses_api.models import Backend, Item, Route
from responses_api.protocol.plain import Json
from responses_api.sealing import open_seal, seal
from responses_api.services import routing
from responses_api.services.identity import now
from tenants.models import Tenant
from tenants.scoping import tenant_scope
from tests.integration.fixtures import MODEL, UPSTREAM_MODEL
from tests.support.chat import DONE, ToolCall, chat_stream, chunk, frame
from tests.support.checks import checked_response, checked_stream, stored_response
from tests.support.client import Client
from tests.support.upstream import ScriptedUpstream

INCLUDE = ["reasoning.encrypted_content"]
TOOLS = [{"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}}]
BLOCKS = [{"type": "reasoning.text", "index": 0, "text": "Look it up.", "signature": "c2lnLTE="}]
STOP = frame(chunk({}, finish="stop")) + DONE


def thinks_and_calls(delta: Json, call_id: str = "call_1") -> bytes:
    """An answer that reasons, then calls the tool."""
    (call,) = [*ToolCall("weather", "{}", call_id, pieces=1).deltas(0)][:1]
    arguments = {"index": 0, "function": {"arguments": "{}"}}
    deltas = (delta, {"tool_calls": [call]}, {"tool_calls": [arguments]})
    return b"".join(frame(chunk(one)) for one in deltas) + STOP


def answered(call_id: str = "call_1") -> Json:
    return {"type": "function_call_output", "call_id": call_id, "output": "4C"}


def state_of(response: Json) -> Any:
    (reasoning,) = [item for item in response["output"] if item["type"] == "reasoning"]
    return reasoning.get("encrypted_content", "absent")


def assistants(upstream: ScriptedUpstream, number: int = -1) -> list[Json]:
    messages = upstream.requests()[number].body["messages"]
    return [message for message in messages if message["role"] == "assistant"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"reasoning_content": "Look it up."}, {"reasoning_content": "Look it up."}),
        ({"reasoning": "Look it up."}, {"reasoning": "Look it up."}),
        ({"reasoning": "Look it up.", "reasoning_details": BLOCKS}, {"reasoning_details": BLOCKS}),
    ],
)
def test_a_tool_loop_that_stores_nothing_is_lossless(
    told: Json, expected: Json, stream: bool, friend: Client, upstream: ScriptedUpstream
) -> None:
    def create(conversation: list[Json]) -> Json:
        body: Json = {"input": conversation, "tools": TOOLS, "store": False, "include": INCLUDE}
        return checked_stream(friend.read_stream(**body)) if stream else friend.create(**body).json()

    upstream.reply(body=thinks_and_calls(told, "call_1"))
    upstream.reply(body=thinks_and_calls({"reasoning_content": "Once more."}, "call_2"))
    upstream.reply(body=chat_stream("4C"))
    conversation: list[Json] = [{"role": "user", "content": "Oslo?"}]
    for call_id in ("call_1", "call_2"):
        response = create(conversation)
        assert isinstance(state_of(response), str)
        assert "Look" not in state_of(response)
        conversation += [*response["output"], answered(call_id)]
    assert create(conversation)["status"] == "completed"
    first, second = assistants(upstream)
    for message, fields, call_id in ((first, expected, "call_1"), (second, None, "call_2")):
        (call,) = message["tool_calls"]
        assert call["id"] == call_id
        assert {name: message[name] for name in message if "reasoning" in name} == (
            fields or {"reasoning_content": "Once more."}
        )


def test_a_chain_keeps_what_was_not_shown(
    friend: Client, stranger: Client, friend_tenant: Tenant, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=thinks_and_calls({"reasoning_content": "Look it up."}))
    first = checked_stream(friend.read_stream(input="Oslo?", tools=TOOLS), friend)
    assert state_of(first) == "absent"
    assert friend.get(f"/responses/{first['id']}").json() == first
    asked = friend.get(f"/responses/{first['id']}?include[]={INCLUDE[0]}").json()
    assert isinstance(state_of(asked), str)
    assert {**asked, "output": first["output"]} == first
    (listed,) = friend.get("/responses").json()["data"]
    assert listed == first
    second = friend.create(input=[answered()], previous_response_id=first["id"], tools=TOOLS)
    assert second.status == 200
    assert assistants(upstream)[0]["reasoning_content"] == "Look it up."
    assert stranger.get(f"/responses/{first['id']}?include={INCLUDE[0]}").status == 404
    with tenant_scope(friend_tenant.id):
        kept = [row.data for row in Item.objects.filter(response_id=first["id"], is_output=True)]
    assert "encrypted_content" in kept[0]


@pytest.mark.parametrize("stream", [False, True])
def test_what_the_request_asked_to_be_shown_get_shows_too(
    stream: bool, friend: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=thinks_and_calls({"reasoning_content": "Look it up."}))
    body: Json = {"input": "Oslo?", "tools": TOOLS, "include": INCLUDE}
    if stream:
        response = checked_stream(friend.read_stream(**body), friend)
    else:
        response = checked_response(friend, friend.create(**body).json())
    assert isinstance(state_of(response), str)
    assert state_of(stored_response(friend, response["id"])) == state_of(response)


def test_an_unknown_value_of_include_is_refused(friend: Client) -> None:
    answer = friend.get("/responses/resp_1?include[]=all")
    assert (answer.status, answer.error["param"]) == (400, "include")


def test_reasoning_is_not_forwarded_to_another_model(
    friend: Client, backend: Backend, upstream: ScriptedUpstream
) -> None:
    """Neither of another backend, nor another one of the same, nor to OpenAI itself, which knows no such field."""
    other = Backend.objects.create(name="other", base_url=upstream.base_url)
    strict = Backend.objects.create(name="o", kind="openai_chat_completions", base_url=upstream.base_url)
    Route.objects.create(model="elsewhere", backend=other, upstream_model=UPSTREAM_MODEL)
    Route.objects.create(model="sibling", backend=backend, upstream_model="sibling-model")
    Route.objects.create(model="alias", backend=backend, upstream_model=UPSTREAM_MODEL)
    Route.objects.create(model="strict", backend=strict, upstream_model=UPSTREAM_MODEL)
    routing.read_models()
    upstream.reply(body=thinks_and_calls({"reasoning_content": "Look it up."}))
    first = friend.create(input="Oslo?", tools=TOOLS).json()
    for model, is_given_back in (
        ("elsewhere", False),
        ("sibling", False),
        ("strict", False),
        ("alias", True),
        (MODEL, True),
    ):
        body: Json = {"input": [answered()], "previous_response_id": first["id"], "model": model}
        assert friend.create(**body).status == 200
        (message,) = assistants(upstream)
        assert ("reasoning_content" in message) == is_given_back, model
        assert "Look" not in str(message["content"])
    upstream.reply(body=thinks_and_calls({"reasoning_content": "Strictly."}))
    told = friend.create(input="Oslo?", tools=TOOLS, model="strict").json()
    friend.create(input=[answered()], previous_response_id=told["id"], model="strict")
    assert "reasoning_content" not in assistants(upstream)[0]


def replayed(encrypted_content: Any) -> list[Json]:
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": encrypted_content}
    return [{"role": "user", "content": "Oslo?"}, {"role": "user", "content": "?"}, item]


def test_state_that_is_not_the_tenants_own_is_refused_by_name(
    friend: Client, friend_tenant: Tenant, stranger_tenant: Tenant, upstream: ScriptedUpstream
) -> None:
    source: Json = {"kind": "chat_completions", "backend": "scripted", "model": UPSTREAM_MODEL}
    content = [{"reasoning_content": "the stranger's secret"}]
    foreign = seal(content, item_type="reasoning", tenant_id=str(stranger_tenant.id), source=source, at=now())
    own = seal(content, item_type="reasoning", tenant_id=str(friend_tenant.id), source=source, at=now())
    bodies = []
    for text in (foreign, own[:-1] + ("A" if own[-1] != "A" else "Q"), "gAAAAABpM0Yj-7Zr", own[:40]):
        answer = friend.create(input=replayed(text))
        error = answer.error
        assert (answer.status, error["type"]) == (400, "invalid_request")
        assert (error["param"], error["code"]) == (
            "input[2].encrypted_content",
            "invalid_encrypted_content",
        )
        bodies.append(answer.body)
    assert len(set(bodies)) == 1, "a foreign seal looks like a tampered one"
    assert upstream.requests() == []
    assert friend.get("/responses").json()["data"] == []
    assert friend.create(input=replayed(own)).status == 200
    for nothing in (None, ""):
        assert friend.create(input=replayed(nothing)).status == 200


def test_state_that_is_too_old_is_told_as_that(
    friend: Client, friend_tenant: Tenant, settings: Settings, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=thinks_and_calls({"reasoning_content": "Look it up."}))
    first = friend.create(input="Oslo?", tools=TOOLS, include=INCLUDE).json()
    text = state_of(first)
    assert open_seal(text, item_type="reasoning", tenant_id=str(friend_tenant.id)).content
    settings.SEAL_DAYS = -1.0
    answer = friend.create(input=replayed(text))
    assert (answer.status, answer.error["code"]) == (400, "encrypted_content_expired")
    assert answer.error["param"] == "input[2].encrypted_content"
    # What the service stored stays good.
    assert friend.create(input=[answered()], previous_response_id=first["id"]).status == 200
    assert assistants(upstream)[0]["reasoning_content"] == "Look it up."


def test_a_chain_whose_state_does_not_open_any_more_goes_on_without_it(
    friend: Client, settings: Settings, upstream: ScriptedUpstream
) -> None:
    settings.SEAL_KEYS = (b"a" * 32,)
    upstream.reply(body=thinks_and_calls({"reasoning_content": "Look it up."}))
    first = friend.create(input="Oslo?", tools=TOOLS).json()
    settings.SEAL_KEYS = (b"b" * 32,)
    assert friend.create(input=[answered()], previous_response_id=first["id"]).status == 200
    assert "reasoning_content" not in assistants(upstream)[0]
