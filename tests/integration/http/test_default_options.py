"""Default options of a backend's row: every call for an answer carries them, but for what the request sets itself."""

from collections.abc import Callable

import pytest

from responses_api.models import Backend
from responses_api.protocol.backend_options import FIELD
from responses_api.protocol.plain import Json
from responses_api.services import routing
from tenants.models import Tenant, ToolPolicy
from tenants.scoping import tenant_scope
from tests.integration.fixtures import MODEL
from tests.support import messages, responses
from tests.support.chat import chat_stream
from tests.support.checks import checked_response, checked_stream
from tests.support.client import Client
from tests.support.gemini import gemini_stream, text_part
from tests.support.upstream import ScriptedUpstream

DEFAULTS: Json = {"logit_bias": {"2": 3}, "top_k": 40, "temperature": 0.25}
WIRES = {
    "chat_completions": ("chat", chat_stream("Hi.")),
    "openai_chat_completions": ("chat", chat_stream("Hi.")),
    "anthropic": ("messages", messages.message_stream(messages.text_block("Hi."))),
    "gemini": ("gemini", gemini_stream(text_part("Hi."))),
    "responses": ("responses", responses.stream(responses.message("Hi."))),
}

Row = Callable[..., None]


@pytest.fixture
def row(backend: Backend) -> Row:
    """Says what the backend's row has; the default options are `DEFAULTS` unless told."""

    def say(**fields: object) -> None:
        Backend.objects.update(**{"default_options": DEFAULTS, **fields})
        routing.read_models()

    return say


@pytest.mark.parametrize("kind", sorted(WIRES))
def test_each_format_carries_them_and_no_response_tells_them(
    friend: Client, upstream: ScriptedUpstream, row: Row, kind: str
) -> None:
    row(kind=kind)
    script, answer = WIRES[kind]
    upstream.reply(script, body=answer)
    exchange = friend.read_stream(input="Hello")
    assert checked_stream(exchange, friend)["status"] == "completed"
    sent = upstream.requests()[-1].body
    assert {name: sent[name] for name in DEFAULTS} == DEFAULTS
    for text in (str(exchange.events), str(friend.get("/responses").json())):
        assert "logit_bias" not in text
        assert FIELD not in text


def test_a_requests_own_option_or_field_wins_name_by_name(
    friend: Client, upstream: ScriptedUpstream, row: Row
) -> None:
    row(allowed_options=["topK", "logit_bias"])
    asked: Json = {"topK": 1, "logit_bias": None}
    body: Json = {"input": "Hello", "temperature": 1, FIELD: asked}
    told = checked_response(friend, friend.create(**body).json())
    assert told[FIELD] == asked
    sent = upstream.requests()[-1].body
    assert (sent["topK"], sent["logit_bias"], sent["temperature"]) == (1, None, 1)
    assert "top_k" not in sent, "the same field in another spelling is set once"
    friend.create(input="Hello")
    assert {name: upstream.requests()[-1].body[name] for name in DEFAULTS} == DEFAULTS


def test_they_ask_no_list_of_the_row_and_no_policy(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream, row: Row
) -> None:
    row()
    rule = {"id": "none", "effect": "deny", "kind": "backend_option", "tool": "*", "server": "", "models": []}
    with tenant_scope(friend_tenant.id):
        ToolPolicy.objects.create(tenant=friend_tenant, version=1, rules=[rule], default_effect="deny")
    assert friend.create(input="Hello").status == 200
    assert upstream.requests()[-1].body["top_k"] == 40
    asked: Json = {"input": "Hello", FIELD: {"top_k": 1}}
    assert friend.create(**asked).status == 400


def test_emulated_tools_have_them_beside_the_schema(
    friend: Client, upstream: ScriptedUpstream, row: Row
) -> None:
    row(tools="emulated")
    upstream.reply(body=chat_stream('{"answer": "Hi."}'))
    friend.create(input="Hello", tools=[{"type": "function", "name": "look"}])
    sent = upstream.requests()[-1].body
    assert (sent["response_format"]["type"], sent["logit_bias"]) == ("json_schema", {"2": 3})


def test_a_compaction_has_them_and_a_count_of_tokens_has_not(
    friend: Client, upstream: ScriptedUpstream, row: Row
) -> None:
    row(token_counting="llama_cpp")
    assert friend.request("POST", "/responses/input_tokens", {"model": MODEL, "input": "Hi"}).status == 200
    (counted,) = upstream.requests()
    assert not counted.body.keys() & DEFAULTS.keys()
    talk = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi."}]
    assert friend.request("POST", "/responses/compact", {"model": MODEL, "input": talk}).status == 200
    assert upstream.requests()[-1].body["logit_bias"] == {"2": 3}


def test_a_row_that_sets_what_is_the_services_fails_its_requests_and_asks_nobody(
    untouched: Client, upstream: ScriptedUpstream, row: Row
) -> None:
    row(default_options={"Max-Tokens": 9})
    assert untouched.create(input="Hello").status == 500
