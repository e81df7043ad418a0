"""A key that ends takes with it what runs: at once, told to its client, closed at the upstream."""

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tenants.keys import announce_change, issue_key, revoke_key
from tenants.models import ApiKey, Tenant
from tenants.scoping import operator_scope, tenant_scope
from tests.integration.fixtures import MODEL, client
from tests.integration.websocket.conftest import Connect, connect  # noqa: F401  (a fixture)
from tests.support.asgi import AsgiServer
from tests.support.chat import chat_stream
from tests.support.checks import stored_response
from tests.support.client import Client, wait_until
from tests.support.upstream import ScriptedUpstream

BEGUN = chat_stream("Hel", "lo", finish=None, usage=None, done=False)
BAR_SECONDS = 1.0


def revoke(tenant: Tenant) -> None:
    with tenant_scope(tenant.id):
        revoke_key(ApiKey.objects.get(name="ending"))


def switch_off(tenant: Tenant) -> None:
    with operator_scope():
        Tenant.objects.filter(pk=tenant.pk).update(is_active=False)
    announce_change()


def expire(tenant: Tenant) -> None:
    """As a rotation without grace does."""
    with operator_scope():
        ApiKey.objects.filter(name="ending").update(expires_at=datetime.now(UTC))
    announce_change()


ENDS = pytest.mark.parametrize("end", [revoke, switch_off, expire])
End = Callable[[Tenant], None]


@pytest.fixture
def ending(server: AsgiServer, friend: Client, friend_tenant: Tenant) -> Client:
    """A client of the friend's tenant whose key is going to end."""
    return client(server, issue_key(friend_tenant, name="ending"))


@ENDS
def test_a_stream_ends_with_its_key(
    end: End,
    ending: Client,
    friend: Client,
    friend_tenant: Tenant,
    stranger: Client,
    upstream: ScriptedUpstream,
) -> None:
    upstream.reply(body=BEGUN, end="hang")
    exchange = ending.stream(input="Hello")
    exchange.read_event("response.output_text.delta")
    request = upstream.wait_request()
    began = time.monotonic()
    end(friend_tenant)
    exchange.read_all()
    assert time.monotonic() - began < BAR_SECONDS
    kinds = [event["type"] for event in exchange.events]
    assert kinds[-2:] == ["error", "response.failed"]
    assert exchange.events[-2]["error"]["code"] == "invalid_api_key"
    final = exchange.events[-1]["response"]
    assert final["error"]["code"] == "invalid_api_key"
    request.wait_closed(BAR_SECONDS)
    assert stranger.get("/models").status == 200
    if end is not switch_off:
        assert stored_response(friend, final["id"]) == final


@ENDS
@pytest.mark.parametrize("stream", [True, False])
def test_who_was_told_nothing_yet_gets_401(
    stream: bool, end: End, ending: Client, friend_tenant: Tenant, upstream: ScriptedUpstream
) -> None:
    upstream.reply(end="mute")
    exchange = ending.open("POST", "/responses", {"model": MODEL, "input": "Hello", "stream": stream})
    request = upstream.wait_request()
    request.wait_paused()
    began = time.monotonic()
    end(friend_tenant)
    answer = exchange.answer()
    assert time.monotonic() - began < BAR_SECONDS
    assert (answer.status, answer.error["code"]) == (401, "invalid_api_key")
    request.wait_closed(BAR_SECONDS)


@ENDS
@pytest.mark.parametrize("runs", [True, False], ids=["running", "idle"])
def test_a_socket_is_closed_with_its_key(
    runs: bool,
    end: End,
    ending: Client,
    friend: Client,
    friend_tenant: Tenant,
    connect: Connect,  # noqa: F811
    upstream: ScriptedUpstream,
) -> None:
    upstream.reply(body=BEGUN, end="hang")
    socket = connect(ending)
    if runs:
        socket.create(input="Hello", store=True)
        socket.create(input="waiting")
        response_id = socket.read_event("response.created")["response"]["id"]
        upstream.wait_request().wait_paused()
        socket.read_event("response.output_text.delta")
    began = time.monotonic()
    end(friend_tenant)
    if runs:
        error = wait_for(socket, "error")
        assert (error["error"]["code"], "status" in error) == ("invalid_api_key", False)
        final = wait_for(socket, "response.failed")["response"]
        assert (final["id"], final["error"]["code"]) == (response_id, "invalid_api_key")
    envelope = socket.read_error()
    assert (envelope["status"], envelope["error"]["code"]) == (401, "invalid_api_key")
    assert socket.read_close() == 4401
    assert time.monotonic() - began < BAR_SECONDS
    if runs:
        upstream.wait_request().wait_closed(BAR_SECONDS)
    assert len(upstream.requests()) == int(runs)


def wait_for(socket: Any, kind: str) -> Any:
    while (event := json.loads(socket.read()))["type"] != kind:
        pass
    return event


def test_a_key_expires_without_a_word(
    server: AsgiServer,
    friend: Client,
    friend_tenant: Tenant,
    connect: Connect,  # noqa: F811
    upstream: ScriptedUpstream,
) -> None:
    upstream.reply(body=BEGUN, end="hang")
    soon = datetime.now(UTC) + timedelta(seconds=1)
    text = issue_key(friend_tenant, name="soon", expires_at=soon)
    idle, streaming = connect(None, key=text), client(server, text).stream(input="Hello")
    streaming.read_all()
    assert streaming.events[-1]["response"]["error"]["code"] == "invalid_api_key"
    assert idle.read_error()["status"] == 401
    assert idle.read_close() == 4401
    assert -0.05 < (datetime.now(UTC) - soon).total_seconds() < BAR_SECONDS


def test_a_key_with_other_rules_goes_on(
    ending: Client, friend_tenant: Tenant, upstream: ScriptedUpstream
) -> None:
    whole = chat_stream("one", " more")
    upstream.reply(body=whole, pause_at=whole.index(b" more") - 40)
    exchange = ending.stream(input="Hello")
    exchange.read_event("response.output_text.delta")
    with operator_scope():
        ApiKey.objects.filter(name="ending").update(scopes=["models:read"])
    announce_change()
    wait_until(lambda: ending.create(input="x").status == 403, timeout=3, what="the new rules", every=0.01)
    upstream.wait_request().resume()
    exchange.read_all()
    assert exchange.events[-1]["type"] == "response.completed"


def test_a_background_response_outlives_its_key(
    ending: Client, friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream
) -> None:
    whole = chat_stream("one", " more")
    upstream.reply(body=whole, pause_at=whole.index(b" more") - 40)
    exchange = ending.stream(input="Hello", background=True)
    exchange.read_event("response.output_text.delta")
    response_id = exchange.events[0]["response"]["id"]
    revoke(friend_tenant)
    exchange.read_all()
    assert exchange.events[-1]["type"] not in ("error", "response.failed", "response.completed")
    assert ending.get(f"/responses/{response_id}").status == 401
    upstream.wait_request().resume()
    ended = wait_until(
        lambda: (found := stored_response(friend, response_id))["status"] == "completed" and found,
        timeout=10,
        what="its end",
        every=0.02,
    )
    assert ended["id"] == response_id
