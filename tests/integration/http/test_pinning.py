"""The header Antiphon-Backend: who may choose a backend, and that it is the one that is asked."""

from collections.abc import Iterator
from typing import Any

import pytest

from responses_api.models import Backend, Route
from responses_api.services import routing
from tenants.keys import issue_key
from tenants.models import Tenant
from tenants.models.key import all_scopes
from tests.integration.fixtures import MODEL, client
from tests.integration.websocket.conftest import Connect, connect  # noqa: F401  (a fixture)
from tests.support.asgi import AsgiServer
from tests.support.chat import chat_stream
from tests.support.client import Client
from tests.support.upstream import ScriptedUpstream
from tests.support.websocket import Refused

WRITES = ("/responses", "/responses/compact", "/responses/input_tokens")


@pytest.fixture
def other(backend: Backend) -> Iterator[ScriptedUpstream]:
    """A second backend of the model, which is asked after the first."""
    with ScriptedUpstream() as upstream:
        second = Backend.objects.create(name="second", base_url=upstream.base_url)
        Route.objects.create(model=MODEL, backend=second, upstream_model="elsewhere", position=1)
        routing.read_models()
        yield upstream


@pytest.fixture
def operator(server: AsgiServer, friend: Client, friend_tenant: Tenant) -> Client:
    """A client whose key may choose."""
    return client(server, issue_key(friend_tenant, name="op", scopes=[*all_scopes(), "backends:choose"]))


def ask(who: Client, backend: str, path: str = "/responses", **headers: str) -> Any:
    body = {"model": MODEL, "input": "Hello"}
    return who.request("POST", path, body, {"Antiphon-Backend": backend, **headers})


def test_the_named_backend_is_asked_and_no_other(
    operator: Client, upstream: ScriptedUpstream, other: ScriptedUpstream
) -> None:
    other.reply(body=chat_stream("from the second"))
    answer = ask(operator, "second")
    assert answer.json()["output"][0]["content"][0]["text"] == "from the second"
    assert upstream.requests() == []
    assert len(other.requests()) == 1
    upstream.reply(body=chat_stream("from the first"))
    assert ask(operator, "scripted").json()["output"][0]["content"][0]["text"] == "from the first"
    assert len(other.requests()) == 1


@pytest.mark.parametrize("backend", ["second", "no-such"])
def test_a_key_without_the_scope_is_told_nothing_of_backends(
    backend: str, friend: Client, upstream: ScriptedUpstream, other: ScriptedUpstream
) -> None:
    for path in WRITES:
        answer = ask(friend, backend, path)
        assert (answer.status, answer.error["code"]) == (403, "permission_denied")
        assert "'backends:choose'" in answer.error["message"]
        assert answer.error["param"] == "Antiphon-Backend"
    assert upstream.requests() == other.requests() == []


def test_a_backend_that_does_not_serve_the_model_is_not_found(
    operator: Client, upstream: ScriptedUpstream, other: ScriptedUpstream
) -> None:
    Backend.objects.create(name="idle", base_url=other.base_url)
    Backend.objects.filter(name="second").update(is_enabled=False)
    routing.read_models()
    for name in ("idle", "second", "no-such", ""):
        for path in WRITES:
            answer = ask(operator, name, path)
            assert (answer.status, answer.error["code"]) == (404, "backend_not_found"), (name, path)
    assert upstream.requests() == other.requests() == []


def test_a_request_that_is_sent_again_is_the_same_at_the_same_backend_only(
    operator: Client, upstream: ScriptedUpstream, other: ScriptedUpstream
) -> None:
    other.reply(body=chat_stream("once"))
    once = {"Idempotency-Key": "pinned-1"}
    first = ask(operator, "second", **once)
    assert ask(operator, "second", **once).json()["id"] == first.json()["id"]
    assert ask(operator, "scripted", **once).error["code"] == "idempotency_key_reused"
    assert upstream.requests() == []


def test_a_socket_keeps_to_the_backend_of_its_handshake(
    operator: Client,
    friend: Client,
    connect: Connect,  # noqa: F811
    upstream: ScriptedUpstream,
    other: ScriptedUpstream,
) -> None:
    named = {"antiphon-backend": "second"}
    with pytest.raises(Refused) as refusal:
        connect(friend, headers=named)
    assert (refusal.value.status, refusal.value.error["code"]) == (403, "permission_denied")
    socket = connect(operator, headers=named)
    for text in ("one", "two"):
        other.reply(body=chat_stream(text))
        socket.create(input="Hello", model=MODEL)
        assert socket.read_response()["output"][0]["content"][0]["text"] == text
    assert upstream.requests() == []
