"""What a key may do: for how long, from where, which calls, which models."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from responses_api.models import Backend, Route
from responses_api.services import routing
from responses_api.services.access import Visitor, caller
from tenants import last_use
from tenants.keys import forget, issue_key
from tenants.models import ApiKey, Tenant
from tenants.models.key import all_scopes
from tenants.scoping import operator_scope
from tests.integration.fixtures import MODEL, client
from tests.integration.websocket.conftest import Connect, connect  # noqa: F401  (a fixture)
from tests.support.asgi import AsgiServer
from tests.support.chat import chat_stream
from tests.support.client import Client, wait_until
from tests.support.upstream import ScriptedUpstream
from tests.support.websocket import Refused

CALLS = [
    ("POST", "/responses", "responses:write"),
    ("POST", "/responses/compact", "responses:write"),
    ("POST", "/responses/input_tokens", "responses:write"),
    ("POST", "/responses/resp_1/cancel", "responses:write"),
    ("DELETE", "/responses/resp_1", "responses:write"),
    ("GET", "/responses", "responses:read"),
    ("HEAD", "/responses", "responses:read"),
    ("GET", "/responses/resp_1", "responses:read"),
    ("GET", "/responses/resp_1?stream=true", "responses:read"),
    ("GET", "/responses/resp_1/input_items", "responses:read"),
    ("GET", "/models", "models:read"),
    ("GET", f"/models/{MODEL}", "models:read"),
    ("POST", "/files", "files:write"),
    ("DELETE", "/files/file_1", "files:write"),
    ("GET", "/files", "files:read"),
    ("GET", "/files/file_1", "files:read"),
    ("GET", "/files/file_1/content", "files:read"),
    ("HEAD", "/files/file_1/content", "files:read"),
]
SCOPES = all_scopes()


@pytest.fixture
def holder(server: AsgiServer, friend: Client, friend_tenant: Tenant) -> Any:
    """Makes a client of the friend's whose key has these rules."""

    def make(**rules: Any) -> Client:
        return client(server, issue_key(friend_tenant, name="ruled", **rules))

    return make


@pytest.mark.parametrize(("method", "path", "scope"), CALLS)
def test_a_call_needs_its_scope_and_no_other(
    method: str, path: str, scope: str, holder: Any, upstream: ScriptedUpstream
) -> None:
    body = {"model": MODEL, "input": "Hello"} if method == "POST" else None
    without = holder(scopes=[other for other in SCOPES if other != scope])
    refused = without.request(method, path, body)
    assert refused.status == 403
    if method != "HEAD":
        assert (refused.error["type"], refused.error["code"]) == ("invalid_request", "permission_denied")
        assert f"'{scope}'" in refused.error["message"]
    assert upstream.requests() == []
    assert holder(scopes=[scope]).request(method, path, body).status not in (401, 403)


def test_an_expired_key_is_refused_with_its_day(holder: Any, upstream: ScriptedUpstream) -> None:
    late = holder(expires_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    for answer in (
        late.create(input="Hello"),
        late.get("/models"),
        late.get("/responses/resp_1?stream=true"),
    ):
        assert (answer.status, answer.error["code"]) == (401, "invalid_api_key")
        assert "expired on 2026-01-02 at 03:04:05 UTC" in answer.error["message"]
    assert upstream.requests() == []
    with operator_scope():
        assert ApiKey.objects.get(name="ruled").last_used_at is None


def test_a_key_that_the_process_knows_expires_by_the_clock(holder: Any) -> None:
    soon = holder(expires_at=datetime.now(UTC) + timedelta(seconds=0.5))
    assert soon.get("/models").status == 200
    wait_until(lambda: soon.get("/models").status == 401, timeout=5, what="its end", every=0.02)
    assert "expired" in soon.get("/models").error["message"]


def test_a_key_is_refused_from_elsewhere(holder: Any, upstream: ScriptedUpstream) -> None:
    elsewhere, here = holder(allowed_addresses=["192.0.2.0/24"]), holder(allowed_addresses=["127.0.0.0/8"])
    for answer in (elsewhere.create(input="Hello"), elsewhere.get("/models")):
        assert (answer.status, answer.error["code"]) == (403, "permission_denied")
        assert "127.0.0.1" in answer.error["message"]
    assert upstream.requests() == []
    assert here.create(input="Hello").status == here.get("/models").status == 200


def test_a_client_cannot_choose_its_address(holder: Any, settings: Settings) -> None:
    bound = holder(allowed_addresses=["192.0.2.0/24"])
    forged = {"X-Forwarded-For": "192.0.2.7"}
    body = {"model": MODEL, "input": "Hello"}
    assert bound.request("GET", "/models", headers=forged).status == 403
    assert bound.request("POST", "/responses", body, forged).status == 403
    settings.TRUSTED_PROXIES = ["127.0.0.1"]
    assert bound.request("GET", "/models", headers=forged).status == 200
    assert bound.request("POST", "/responses", body, forged).status == 200
    through = {"X-Forwarded-For": "192.0.2.7, 198.51.100.1"}  # what the proxy saw stands on the right
    assert bound.request("GET", "/models", headers=through).status == 403
    assert bound.request("POST", "/responses", body, through).status == 403


def ask(client: Client, path: str, model: str) -> Any:
    return client.request("POST", path, {"model": model, "input": "Hello"})


def test_a_model_that_is_not_allowed_is_one_that_there_is_not(
    holder: Any, backend: Backend, upstream: ScriptedUpstream
) -> None:
    Route.objects.create(model="other/model", backend=backend)
    routing.read_models()
    bound = holder(allowed_models=["other/*"])
    assert [model["id"] for model in bound.get("/models").json()["data"]] == ["other/model"]
    assert bound.get("/models/other/model").status == 200
    refused = bound.get(f"/models/{MODEL}")
    assert refused.status == 404
    for path in ("/responses", "/responses/compact", "/responses/input_tokens"):
        answers = [ask(bound, path, name) for name in (MODEL, "no-such")]
        assert {(answer.status, answer.error["code"]) for answer in answers} == {(404, "model_not_found")}
        assert len({answer.error["message"].replace(MODEL, "no-such") for answer in answers}) == 1
    assert upstream.requests() == []
    assert ask(bound, "/responses", "other/model").status == 200


def test_an_answer_that_another_key_was_given_is_none_of_a_key_that_may_not_ask_its_model(
    holder: Any, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_stream("Hello"))
    body, once = {"model": MODEL, "input": "Hello"}, {"Idempotency-Key": f"key-{uuid.uuid4()}"}
    first = holder().request("POST", "/responses", body, once)
    assert first.status == 200
    refused = holder(allowed_models=["other/*"]).request("POST", "/responses", body, once)
    assert (refused.status, refused.error["code"]) == (404, "model_not_found")
    again = holder(allowed_models=["test-*"]).request("POST", "/responses", body, once)
    assert again.json()["id"] == first.json()["id"]


def test_a_socket_asks_for_the_rules_at_the_handshake_and_in_each_turn(
    holder: Any,
    connect: Connect,  # noqa: F811
    backend: Backend,
) -> None:
    for rules in ({"scopes": ["responses:read"]}, {"allowed_addresses": ["192.0.2.0/24"]}):
        with pytest.raises(Refused) as refusal:
            connect(holder(**rules))
        assert (refusal.value.status, refusal.value.error["code"]) == (403, "permission_denied")
    socket = connect(holder(allowed_models=["test-*"]))
    socket.create(input="Hello", model="other")
    assert socket.read_error()["error"]["code"] == "model_not_found"
    socket.create(input="Hello")
    assert socket.read_response()["status"] == "completed"
    with operator_scope():
        ApiKey.objects.filter(name="ruled").update(scopes=["responses:read"])
    forget()
    socket.create(input="Hello")
    assert socket.read_error()["error"]["code"] == "permission_denied"


def test_the_last_use_is_written_once_a_minute_and_by_good_calls_alone(holder: Any) -> None:
    last_use.write_uses()
    used, forbidden = holder(), holder(scopes=["models:read"])
    assert forbidden.create(input="Hello").status == 403
    for _ in range(3):
        assert used.get("/models").status == 200
    assert last_use.has_uses()
    assert last_use.write_uses() == 1
    with operator_scope():
        moments = dict(ApiKey.objects.filter(name="ruled").values_list("last_four", "last_used_at"))
    assert moments[used.key[-4:]] is not None
    assert moments[forbidden.key[-4:]] is None
    used.get("/models")
    assert not last_use.has_uses()
    last_use._written.clear()  # as another process, which has not heard of the use
    used.get("/models")
    assert last_use.write_uses() == 0


def test_a_use_that_cannot_be_written_is_kept(holder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    last_use.write_uses()
    assert holder().get("/models").status == 200

    def fail(key_ids: set[Any]) -> int:
        raise RuntimeError("away")

    with monkeypatch.context() as patch:
        patch.setattr(last_use, "_write", fail)
        with pytest.raises(RuntimeError, match="away"):
            last_use.write_uses()
    assert last_use.write_uses() == 1


def test_a_known_key_costs_a_create_no_query(holder: Any) -> None:
    visitor = Visitor(f"Bearer {holder().key}", "127.0.0.1")
    caller(visitor, "responses:write")
    with CaptureQueriesContext(connection) as queries:
        caller(visitor, "responses:write")
    assert len(queries) == 0
