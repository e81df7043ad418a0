"""A backend that speaks Responses: what it is sent, what it wants back, what it stores, and the tools that it runs."""

from collections.abc import Callable
from typing import Any

import pytest

from responses_api.models import Backend, Item, Route
from responses_api.protocol.plain import Json
from responses_api.services import routing
from tenants.models import Tenant
from tenants.scoping import tenant_scope
from tests.integration.fixtures import client
from tests.support.asgi import AsgiServer
from tests.support.checks import assert_unknown_to, checked_response, checked_stream, output_text
from tests.support.client import Client
from tests.support.responses import RESPONSE_ID, body, call, message, reasoning, stream
from tests.support.upstream import ScriptedUpstream

MODEL = "native"
INCLUDE = ["reasoning.encrypted_content"]
WEATHER: Json = {"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}}
SEARCH: Json = {
    "type": "web_search",
    "filters": {"allowed_domains": ["example.org"]},
    "search_context_size": "low",
}
CITED: Json = {
    "type": "url_citation",
    "start_index": 0,
    "end_index": 3,
    "url": "https://example.org/",
    "title": "A",
}
SEARCHED: Json = {
    "type": "web_search_call",
    "id": "ws_upstream1",
    "status": "completed",
    "action": {
        "type": "search",
        "query": "weather oslo",
        "sources": [{"type": "url", "url": "https://example.org/"}],
    },
}
SECRET = "gAAAAABu-" + "x" * 200 + "=="

Native = Callable[..., Client]


@pytest.fixture
def native(server: AsgiServer, friend: Client, upstream: ScriptedUpstream) -> Native:
    """Makes a row of the kind `responses` with these fields, and gives the friend's client for its model."""

    def made(**row: Any) -> Client:
        backend = Backend.objects.create(name="native", kind="responses", base_url=upstream.base_url, **row)
        Route.objects.create(model=MODEL, backend=backend, upstream_model="up")
        routing.read_models()
        return client(server, friend.key, MODEL)

    return made


def answered(call_id: str = "call_1") -> Json:
    return {"type": "function_call_output", "call_id": call_id, "output": "4C"}


def create(asker: Client, is_streamed: bool, **fields: Any) -> Json:
    """Ask, check the answer by all rules, and that GET tells the same."""
    stored = asker if fields.get("store") is not False else None
    if is_streamed:
        return checked_stream(asker.read_stream(**fields), stored)
    told: Json = asker.create(**fields).json()
    return checked_response(asker, told) if stored else told


def sent(upstream: ScriptedUpstream, number: int = -1) -> Json:
    found: Json = upstream.requests()[number].body
    assert upstream.requests()[number].path.endswith("/v1/responses")
    return found


@pytest.mark.parametrize("is_streamed", [False, True])
def test_an_answer_gets_ids_of_its_own(
    is_streamed: bool, native: Native, stranger: Client, upstream: ScriptedUpstream
) -> None:
    asker = native()
    upstream.reply("responses", body=stream(message("Hello.")))
    told = create(asker, is_streamed, input="Hi", instructions="Be brief.")
    assert output_text(told) == "Hello."
    assert "upstream" not in str(told)
    assert told["usage"]["total_tokens"] == 12
    asked = sent(upstream)
    assert (asked["model"], asked["store"], asked["stream"], asked["instructions"]) == (
        "up",
        False,
        True,
        "Be brief.",
    )
    assert asked["input"] == [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}
    ]
    assert "previous_response_id" not in asked
    assert_unknown_to(stranger, told["id"])


@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_tool_loop_that_stores_nothing_gives_reasoning_back_byte_by_byte(
    is_streamed: bool, native: Native, upstream: ScriptedUpstream
) -> None:
    asker = native(native_features=["encrypted_content"])
    thoughts = [
        reasoning(SECRET + str(turn), summary="Look it up.", id=f"rs_upstream{turn}") for turn in (1, 2)
    ]
    for turn, thought in enumerate(thoughts, start=1):
        made = (thought, call("weather", call_id=f"call_{turn}"))
        upstream.reply("responses", body=stream(*made) if is_streamed else body(made))
    upstream.reply("responses", body=stream(message("4C")))
    conversation: list[Json] = [{"role": "user", "content": "Oslo?"}]
    for turn in (1, 2):
        told = create(asker, is_streamed, input=conversation, tools=[WEATHER], store=False, include=INCLUDE)
        assert SECRET not in str(told)
        assert [item["type"] for item in told["output"]] == ["reasoning", "function_call"]
        conversation += [*told["output"], answered(f"call_{turn}")]
    create(asker, is_streamed, input=conversation, tools=[WEATHER], store=False)
    asked = sent(upstream)
    assert asked["include"] == INCLUDE
    kinds = ["message", "reasoning", "function_call", "function_call_output", "reasoning", "function_call"]
    assert [item["type"] for item in asked["input"]] == [*kinds, "function_call_output"]
    assert [asked["input"][1], asked["input"][4]] == thoughts


def test_a_chain_gives_reasoning_back_to_its_own_backend_alone(
    native: Native, friend: Client, upstream: ScriptedUpstream
) -> None:
    asker = native(native_features=["encrypted_content"])
    upstream.reply("responses", body=stream(reasoning(SECRET), call("weather")))
    first = create(asker, False, input="Oslo?", tools=[WEATHER])
    create(friend, False, input=[answered()], previous_response_id=first["id"], model=friend.model)
    assert SECRET not in upstream.requests()[-1].raw.decode()
    create(asker, False, input=[answered()], previous_response_id=first["id"])
    assert sent(upstream)["input"][1] == reasoning(SECRET)


def test_reasoning_that_nobody_could_read_is_not_sent(native: Native, upstream: ScriptedUpstream) -> None:
    asker = native()
    upstream.reply("responses", body=stream(reasoning(SECRET, summary="Hm."), message("One.")))
    first = create(asker, True, input="1")
    create(asker, True, input="2", previous_response_id=first["id"])
    assert [item["type"] for item in sent(upstream)["input"]] == ["message"] * 3
    assert "include" not in sent(upstream)


# ---------------------------------------------------------------------- what the backend stores


def test_a_chain_goes_on_from_what_the_backend_stores(native: Native, upstream: ScriptedUpstream) -> None:
    asker = native(native_features=["previous_response_id"])
    upstream.reply("responses", body=stream(call("weather")))
    upstream.reply("responses", body=stream(message("4C")))
    first = create(asker, True, input="Oslo?", tools=[WEATHER])
    assert RESPONSE_ID not in str(first)
    assert sent(upstream)["store"] is True
    second = create(asker, False, input=[answered()], previous_response_id=first["id"], tools=[WEATHER])
    asked = sent(upstream)
    assert (asked["previous_response_id"], asked["store"]) == (RESPONSE_ID, True)
    assert asked["input"] == [answered()]
    assert output_text(second) == "4C"


def test_what_the_backend_does_not_know_any_more_it_is_told_anew(
    native: Native, upstream: ScriptedUpstream
) -> None:
    asker = native(native_features=["previous_response_id"])
    for status in (400, 404):
        upstream.clear()
        upstream.reply("responses", body=stream(message("One.")))
        first = create(asker, True, input="1")
        upstream.reply("responses", body=b'{"error":{"message":"unknown","type":"x"}}', status=status)
        upstream.reply("responses", body=stream(message("Two.")))
        second = create(asker, True, input="2", previous_response_id=first["id"])
        assert output_text(second) == "Two."
        tried, whole = (request.body for request in upstream.requests()[1:])
        assert "previous_response_id" in tried
        assert "previous_response_id" not in whole
        assert [item["role"] for item in whole["input"]] == ["user", "assistant", "user"]
        assert whole["store"] is True


@pytest.mark.parametrize("fields", [{"store": False}, {"truncation": "auto"}])
def test_only_what_the_client_lets_be_stored_is(
    fields: Json, native: Native, upstream: ScriptedUpstream
) -> None:
    asker = native(native_features=["previous_response_id"])
    create(asker, False, input="1", **fields)
    assert sent(upstream)["store"] is (fields.get("store") is not False)


def test_a_conversation_that_the_client_keeps_is_sent_whole(
    native: Native, upstream: ScriptedUpstream
) -> None:
    asker = native(native_features=["previous_response_id"])
    upstream.reply("responses", body=stream(message("One.")))
    first = create(asker, False, input="1", include=INCLUDE)
    create(
        asker,
        False,
        input=[{"role": "user", "content": "1"}, *first["output"], {"role": "user", "content": "2"}],
    )
    assert "previous_response_id" not in sent(upstream)
    assert [item["role"] for item in sent(upstream)["input"]] == ["user", "assistant", "user"]


# ---------------------------------------------------------------------- tools that the backend runs


@pytest.mark.parametrize("is_streamed", [False, True])
def test_what_a_tool_of_the_backend_did_is_told_kept_and_sent_back(
    is_streamed: bool, native: Native, friend_tenant: Tenant, upstream: ScriptedUpstream
) -> None:
    asker = native(passthrough_tool_types=["web_search"])
    upstream.reply("responses", body=stream(SEARCHED, message("4 C.", annotations=[CITED])))
    told = create(asker, is_streamed, input="Oslo?", tools=[SEARCH, WEATHER], tool_choice="auto")
    assert sent(upstream)["tools"] == [SEARCH, WEATHER]
    searched, said = told["output"]
    assert searched["action"] == SEARCHED["action"]
    assert searched["id"].startswith("item_")
    assert "ws_upstream1" not in str(told)
    assert said["content"][0]["annotations"] == [CITED]
    replayed = asker.get(f"/responses/{told['id']}?stream=true")
    assert replayed.body.count(b"response.output_text.annotation.added") == 2
    with tenant_scope(friend_tenant.id):
        assert Item.objects.get(id=searched["id"]).data == searched
    # As a chain, as items, and as references: the backend gets what it told.
    user: Json = {"role": "user", "content": "Oslo?"}
    reference: Json = {"type": "item_reference", "id": searched["id"]}
    for fields in (
        {"input": "And now?", "previous_response_id": told["id"]},
        {"input": [user, *told["output"], user]},
        {"input": [user, reference, user]},
    ):
        create(asker, is_streamed, **fields)
        assert SEARCHED in sent(upstream)["input"]


def test_its_items_are_left_out_for_another_kind_of_backend(
    native: Native, friend: Client, stranger: Client, upstream: ScriptedUpstream
) -> None:
    asker = native(passthrough_tool_types=["web_search"])
    upstream.reply("responses", body=stream(SEARCHED, message("4 C.")))
    told = create(asker, False, input="Oslo?", tools=[SEARCH])
    create(friend, False, input="Go on", previous_response_id=told["id"], model=friend.model)
    assert "search" not in upstream.requests()[-1].raw.decode()
    refused = friend.create(input=[{"role": "user", "content": "x"}, told["output"][0]], model=friend.model)
    assert (refused.status, refused.error["param"]) == (400, "input[1].type")
    # Sealed for its tenant.
    foreign = stranger.create(input=[told["output"][0], {"role": "user", "content": "x"}], model=MODEL)
    assert (foreign.status, foreign.error["param"]) == (400, "input[0].antiphon:state")
    assert foreign.error["code"] == "invalid_encrypted_content"


def test_a_model_whose_targets_do_not_take_the_tool_says_what_they_take(
    native: Native, upstream: ScriptedUpstream
) -> None:
    asker = native(passthrough_tool_types=["web_search", "acme:*"])
    refused = asker.create(input="x", tools=[SEARCH, {"type": "code_interpreter"}])
    assert (refused.status, refused.error["param"], refused.error["code"]) == (
        400,
        "tools[1].type",
        "unsupported_value",
    )
    assert refused.error["message"].endswith(
        "it serves: function, mcp, antiphon:file_search, acme:*, web_search."
    )
    assert upstream.requests() == []


def test_the_target_that_takes_the_tool_is_asked_although_another_comes_first(
    native: Native, backend: Backend, upstream: ScriptedUpstream
) -> None:
    asker = native(passthrough_tool_types=["web_search"])
    Route.objects.filter(model=MODEL).update(position=1)
    Route.objects.create(model=MODEL, backend=backend, upstream_model="first", position=0)
    routing.read_models()
    create(asker, False, input="x", tools=[WEATHER])
    assert upstream.requests()[-1].path.endswith("/chat/completions")
    create(asker, False, input="x", tools=[SEARCH])
    assert upstream.requests()[-1].path.endswith("/responses")


def test_codex_keeps_the_tools_that_are_served(native: Native, upstream: ScriptedUpstream) -> None:
    asker = native(passthrough_tool_types=["web_search"])
    tools = [SEARCH, {"type": "local_shell"}, WEATHER]
    asked = {"model": MODEL, "input": "x", "tools": tools}
    told = asker.request("POST", "/responses", asked, {"originator": "codex_cli_rs"}).json()
    assert [tool["type"] for tool in told["tools"]] == ["web_search", "function"]
    assert [tool["type"] for tool in sent(upstream)["tools"]] == ["web_search", "function"]


def test_a_vendors_tool_and_its_items_go_through(native: Native, upstream: ScriptedUpstream) -> None:
    asker = native(passthrough_tool_types=["acme:*"])
    found: Json = {"type": "acme:receipt", "id": "x_1", "found": [1, 2.5, None]}
    upstream.reply("responses", body=body([found, message("Yes.")]))
    told = create(
        asker, True, input="x", tools=[{"type": "acme:find", "depth": 2}], tool_choice={"type": "acme:find"}
    )
    assert sent(upstream)["tools"] == [{"type": "acme:find", "depth": 2}]
    assert sent(upstream)["tool_choice"] == {"type": "acme:find"}
    assert told["output"][0]["found"] == [1, 2.5, None]
    create(asker, True, input="And?", previous_response_id=told["id"])
    assert sent(upstream)["input"][1] == found


def test_what_the_backend_was_not_offered_may_not_be_told(native: Native, upstream: ScriptedUpstream) -> None:
    asker = native(passthrough_tool_types=["web_search"])
    upstream.reply("responses", body=body([SEARCHED, message("4 C.")]))
    refused = asker.create(input="Oslo?", tools=[WEATHER])
    assert (refused.status, refused.error["code"]) == (500, "tool_not_allowed")


@pytest.mark.parametrize(("feature", "choice"), [([], "auto"), (["allowed_tools"], None)])
def test_allowed_tools_are_sent_where_the_backend_takes_them(
    feature: list[str], choice: str | None, native: Native, upstream: ScriptedUpstream
) -> None:
    asker = native(native_features=feature, passthrough_tool_types=["web_search"])
    allowed = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "weather"}]}
    upstream.reply("responses", body=stream(message("Hello.")))
    create(asker, False, input="x", tools=[WEATHER, SEARCH], tool_choice=allowed)
    assert sent(upstream)["tool_choice"] == (choice or allowed)
    # What it runs by itself it is not offered: nobody could take it back.
    assert sent(upstream)["tools"] == [WEATHER]
