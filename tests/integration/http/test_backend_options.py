"""Backend options: they reach the backend as they came, where its row and every policy allow them, and are recorded."""

from collections.abc import Callable
from typing import Any

import pytest

from responses_api.models import Backend, Route
from responses_api.protocol.plain import Json
from responses_api.services import routing
from tenants.keys import forget
from tenants.models import ApiKey, Tenant, ToolPolicy
from tenants.scoping import tenant_scope
from tests.integration.fixtures import MODEL
from tests.support.asgi import AsgiServer
from tests.support.checks import checked_response, checked_stream, stored_response
from tests.support.client import Client
from tests.support.upstream import ScriptedUpstream
from tests.support.websocket import Socket

FIELD = "antiphon:backend_options"
OPTIONS: Json = {"top_k": 40, "grammar": {"rules": [1, 2.5, {"empty": None, "nested": [[], {}]}], "ü": "ß"}}

Allow = Callable[..., None]


@pytest.fixture
def allow(backend: Backend) -> Allow:
    """Says which options the backend takes."""

    def say(*names: str) -> None:
        Backend.objects.update(allowed_options=[*names])
        routing.read_models()

    return say


def put_policy(tenant: Tenant, *rules: Json, key: ApiKey | None = None, **fields: Any) -> None:
    full = [{"tool": "*", "server": "", "models": [], **rule} for rule in rules]
    with tenant_scope(tenant.id):
        version = ToolPolicy.objects.filter(key=key).count() + 1
        ToolPolicy.objects.create(tenant=tenant, key=key, version=version, rules=full, **fields)
    forget()


def asking(options: Any, **fields: Any) -> Json:
    """The body of a request with these options."""
    return {"input": "Hello", FIELD: options, **fields}


def refusal_of(client: Client, options: Json, status: int = 400, **body: Any) -> tuple[str, str, str]:
    answer = client.create(**asking(options, **body))
    assert answer.status == status, answer.body
    error = answer.json()["error"]
    return error["code"], error["param"], error["message"]


@pytest.mark.parametrize("allowed", [("*",), ("grammar", "top_k")])
def test_they_reach_the_backend_as_they_came_and_are_recorded(
    friend: Client, stranger: Client, upstream: ScriptedUpstream, allow: Allow, allowed: tuple[str, ...]
) -> None:
    allow(*allowed)
    exchange = friend.read_stream(**asking(OPTIONS))
    response = checked_stream(exchange, friend)
    sent = upstream.requests()[-1].body
    assert {name: sent[name] for name in OPTIONS} == OPTIONS
    assert FIELD not in sent
    told = [event["response"] for event in exchange.events if "response" in event]
    assert len(told) == 3
    assert all(snapshot[FIELD] == OPTIONS for snapshot in told)
    assert stored_response(friend, response["id"])[FIELD] == OPTIONS
    listed = friend.get("/responses").json()["data"]
    assert [entry[FIELD] for entry in listed] == [OPTIONS]
    assert stranger.get("/responses").json()["data"] == []
    second = checked_response(friend, friend.create(input="And?", previous_response_id=response["id"]).json())
    assert FIELD not in second, "settings are not inherited"
    assert "top_k" not in upstream.requests()[-1].body


def test_a_background_response_has_them_before_anybody_works_on_it(friend: Client, allow: Allow) -> None:
    allow("top_k")
    exchange = friend.read_stream(**asking({"top_k": 1}, background=True))
    response = checked_stream(exchange, friend)
    assert [event["response"][FIELD] for event in exchange.events if "response" in event] == [
        {"top_k": 1}
    ] * 4
    assert response["status"] == "completed"


def test_over_a_websocket_they_are_the_same(
    server: AsgiServer, friend: Client, upstream: ScriptedUpstream, allow: Allow
) -> None:
    allow("top_k")
    with Socket(server, friend.key) as socket:
        socket.create(**asking({"top_k": 2}, model=MODEL))
        assert socket.read_response()[FIELD] == {"top_k": 2}
        assert upstream.requests()[-1].body["top_k"] == 2
        socket.create(**asking({"min_p": 2}, model=MODEL))
        assert socket.read_error()["error"]["param"] == f"{FIELD}.min_p"


@pytest.mark.parametrize("nothing", [None, {}])
def test_no_options_are_none(friend: Client, nothing: Any) -> None:
    assert FIELD not in friend.create(**asking(nothing)).json()


def test_what_the_row_does_not_allow_is_refused_with_what_it_does(untouched: Client, allow: Allow) -> None:
    allow("top_k", "min_p")
    for stream in (False, True):
        assert refusal_of(untouched, {"top_k": 1, "secret": 2}, stream=stream) == (
            "unsupported_value",
            f"{FIELD}.secret",
            "No backend of this model takes the option 'secret' together with all else that the request asks for. "
            "The model's backend options: min_p, top_k.",
        )
    allow()
    assert refusal_of(untouched, {"top_k": 1})[2].endswith("The model's backend options: none.")


def test_a_refusal_tells_nothing_of_other_models_and_their_backends(
    untouched: Client, upstream: ScriptedUpstream, allow: Allow
) -> None:
    allow("top_k")
    private = Backend.objects.create(
        name="private",
        base_url=upstream.base_url,
        api_key_env="PRIVATE_KEY",
        allowed_options=["hidden_switch"],
    )
    Route.objects.create(model="private-model", backend=private)
    routing.read_models()
    sentence = refusal_of(untouched, {"hidden_switch": 1})[2]
    assert sentence.endswith("The model's backend options: top_k.")
    listed = untouched.get("/models").json()
    assert {frozenset(model) for model in listed["data"]} == {
        frozenset({"id", "object", "created", "owned_by"})
    }
    for secret in ("hidden_switch", "PRIVATE_KEY", upstream.base_url):
        assert secret not in str(listed)


@pytest.mark.parametrize(
    "name", ["model", "messages", "stream", "max_tokens", "tools", "n", "Model", "MAX-Tokens", "maxTokens"]
)
def test_what_the_service_sets_itself_is_refused_whatever_the_row_allows(
    untouched: Client, allow: Allow, name: str
) -> None:
    allow("*", name)
    for stream in (False, True):
        assert refusal_of(untouched, {"top_k": 1, name: 2}, stream=stream) == (
            "unsupported_value",
            f"{FIELD}.{name}",
            f"'{name}' cannot be a backend option: this service sets it for this model's backend, of the request's "
            "other fields.",
        )


def test_what_the_request_sets_by_a_field_of_its_own_is_not_set_twice(
    friend: Client, upstream: ScriptedUpstream, allow: Allow
) -> None:
    allow("*")
    assert refusal_of(friend, {"temperature": 2}, temperature=0.5)[1] == f"{FIELD}.temperature"
    assert friend.create(**asking({"temperature": 0.25})).status == 200
    assert upstream.requests()[-1].body["temperature"] == 0.25


def test_a_policy_takes_an_option_away_from_a_tenant_and_from_nobody_else(
    friend: Client, stranger: Client, friend_tenant: Tenant, stranger_tenant: Tenant, allow: Allow
) -> None:
    allow("*")
    put_policy(friend_tenant, {"id": "no-top", "effect": "deny", "kind": "backend_option", "tool": "top_*"})
    assert refusal_of(friend, {"min_p": 1, "top_k": 1}, 403) == (
        "permission_denied",
        f"{FIELD}.top_k",
        "The backend option 'top_k' is not allowed. Rule 'no-top' of the tenant's policy, version 1, denies backend "
        "options named 'top_*'.",
    )
    assert friend.create(**asking({"min_p": 1})).status == 200
    put_policy(stranger_tenant, {"id": "no-tools", "effect": "deny", "kind": "any"})
    assert stranger.create(**asking({"top_k": 1})).status == 200, "options are no tools"


def test_a_keys_policy_and_a_strict_default_deny_what_no_rule_allows(
    friend: Client, friend_tenant: Tenant, allow: Allow
) -> None:
    allow("*")
    with tenant_scope(friend_tenant.id):
        key = ApiKey.objects.get()
    put_policy(
        friend_tenant,
        {"id": "top", "effect": "allow", "kind": "backend_option", "tool": "top_k"},
        key=key,
        default_effect="deny",
    )
    assert friend.create(**asking({"top_k": 1})).status == 200
    _, param, sentence = refusal_of(friend, {"top_k": 1, "min_p": 1}, 403)
    assert param == f"{FIELD}.min_p"
    assert sentence.endswith("The key's policy, version 1, denies what none of its rules speaks of.")


def test_only_a_target_that_takes_them_all_is_asked(
    friend: Client, backend: Backend, upstream: ScriptedUpstream, allow: Allow
) -> None:
    allow("top_k")
    other = Backend.objects.create(name="other", base_url=upstream.base_url, allowed_options=["min_p"])
    Route.objects.create(model=MODEL, backend=other, upstream_model="the-other", position=9)
    routing.read_models()
    assert friend.create(**asking({"min_p": 1})).status == 200
    assert upstream.requests()[-1].body["model"] == "the-other"
    sentence = refusal_of(friend, {"min_p": 1, "top_k": 1})[2]
    assert "'top_k' together with all else" in sentence
    assert sentence.endswith("The model's backend options: min_p, top_k.")


def test_what_needs_no_answer_of_the_model_takes_none(
    friend: Client, upstream: ScriptedUpstream, allow: Allow
) -> None:
    allow("*")
    counted = friend.request(
        "POST", "/responses/input_tokens", {"model": MODEL, "input": "Hello", FIELD: {"model": 1}}
    )
    assert counted.status == 200
    assert upstream.requests() == []
