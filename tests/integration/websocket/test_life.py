"""How connections begin and end: handshakes, keys, time, clients that leave, and a process that is stopped."""

import json
from typing import Any

import pytest

from responses_api.websocket import register
from tenants.keys import forget, issue_key, revoke_key
from tenants.models import ApiKey, Tenant
from tenants.scoping import tenant_scope
from tests.integration.websocket.conftest import Connect
from tests.support.asgi import AsgiServer
from tests.support.chat import chat_stream
from tests.support.checks import assert_unknown_to, output_text, stored_response
from tests.support.client import Client, wait_until
from tests.support.upstream import ScriptedUpstream
from tests.support.websocket import Refused, Socket

BEGUN = chat_stream("Hel", "lo", finish=None, usage=None, done=False)
WHOLE = chat_stream("one", " more")
PAUSE = WHOLE.index(b" more") - 40


def refused(connect: Connect, client: Client | None, **options: Any) -> Refused:
    with pytest.raises(Refused) as refusal:
        connect(client, **options)
    return refusal.value


@pytest.mark.parametrize("key", [None, "wrong", "ak_" + "x" * 43])
def test_without_a_good_key_the_handshake_is_refused(
    key: str | None, connect: Connect, friend: Client
) -> None:
    refusal = refused(connect, None, key=key)
    assert (refusal.status, refusal.error["code"]) == (401, "invalid_api_key")
    assert refusal.headers["www-authenticate"] == "Bearer"
    assert refusal.headers["content-type"] == "application/json"
    assert refusal.headers["x-request-id"]


@pytest.mark.parametrize("path", ["/", "/v1", "/v1/responses/resp_1", "/v1/models", "/admin/"])
def test_there_is_no_socket_elsewhere(path: str, connect: Connect, friend: Client) -> None:
    assert refused(connect, friend, path=path).status == 404


def test_a_trailing_slash_changes_nothing(connect: Connect, friend: Client) -> None:
    socket = connect(friend, path="/v1/responses/")
    socket.create(input="Hello")
    assert socket.read_response()["status"] == "completed"


def test_where_websocket_is_switched_off_the_handshake_says_so(
    connect: Connect, friend: Client, settings: Any
) -> None:
    settings.WEBSOCKET = False
    refusal = refused(connect, friend)
    assert (refusal.status, refusal.error["code"]) == (426, "websocket_disabled")
    assert refusal.headers["upgrade"] == "HTTP/1.1"


def test_a_server_that_cannot_refuse_with_a_body_closes(connect: Connect) -> None:
    assert refused(connect, None, extensions=()).status == 403


def test_a_browser_gives_its_key_as_a_subprotocol(connect: Connect, friend: Client) -> None:
    socket = connect(None, subprotocols=["responses", f"openai-insecure-api-key.{friend.key}"])
    assert socket.accepted["subprotocol"] == "responses"
    socket.create(input="Hello")
    assert socket.read_response()["status"] == "completed"
    assert refused(connect, None, subprotocols=["responses", "openai-insecure-api-key.wrong"]).status == 401


def test_the_handshake_tells_the_request_id(connect: Connect, friend: Client) -> None:
    accepted = connect(friend, headers={"x-request-id": "my-id:1"}).accepted
    assert dict(accepted["headers"])[b"x-request-id"] == b"my-id:1"


def test_a_key_that_is_revoked_ends_its_connections_at_the_next_turn(
    connect: Connect, friend: Client, friend_tenant: Tenant
) -> None:
    text = issue_key(friend_tenant, name="soon revoked")
    leaving, staying = connect(None, key=text), connect(friend)
    leaving.create(input="one")
    assert leaving.read_response()["status"] == "completed"
    with tenant_scope(friend_tenant.id):
        revoke_key(ApiKey.objects.get(name="soon revoked"))
    forget()
    leaving.create(input="two")
    envelope = leaving.read_error()
    assert (envelope["status"], envelope["error"]["code"]) == (401, "invalid_api_key")
    assert leaving.read_close() == 4401
    staying.create(input="one")
    assert staying.read_response()["status"] == "completed"


def test_a_connection_lasts_for_its_time(connect: Connect, friend: Client, settings: Any) -> None:
    settings.WEBSOCKET_SECONDS = 0.05
    socket = connect(friend)
    envelope = socket.read_error()
    assert (envelope["status"], envelope["error"]["code"]) == (400, "websocket_connection_limit_reached")
    assert socket.read_close() == 1000


def test_a_response_that_runs_when_the_time_is_up_comes_to_its_end(
    connect: Connect, friend: Client, upstream: ScriptedUpstream, settings: Any
) -> None:
    settings.WEBSOCKET_SECONDS = 0.5
    upstream.reply(body=WHOLE, pause_at=PAUSE)
    socket = connect(friend)
    socket.create(input="Hello", store=True)
    socket.create(input="never begun")
    response_id = socket.read_event("response.created")["response"]["id"]
    connection = next(iter(register._open))
    wait_until(lambda: connection._ending, timeout=5, what="the end of the time", every=0.01)
    upstream.wait_request().resume()
    response = socket.read_event("response.completed")["response"]
    assert (response["id"], output_text(response)) == (response_id, "one more")
    assert socket.read_error()["error"]["code"] == "websocket_connection_limit_reached"
    assert socket.read_close() == 1000
    assert len(upstream.requests()) == 1


@pytest.mark.parametrize("body", [b"", BEGUN], ids=["before the first token", "after it"])
def test_a_client_that_leaves_cancels_its_response_at_once(
    body: bytes, socket: Socket, friend: Client, stranger: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=body, end="hang")
    socket.create(input="Hello", store=True)
    socket.create(input="never begun")
    response_id = socket.read_event("response.created")["response"]["id"]
    upstream.wait_request().wait_paused()
    socket.leave()
    socket.wait_returned()
    upstream.wait_request().wait_closed(1.0)
    response = wait_until(
        lambda: (found := stored_response(friend, response_id))["status"] != "in_progress" and found,
        timeout=5,
        what="a stored end",
        every=0.01,
    )
    assert response["status"] == "cancelled"
    assert_unknown_to(stranger, response_id)
    assert len(upstream.requests()) == 1
    assert friend.get("/responses").json()["data"][1:] == []


def drain(server: AsgiServer) -> None:
    """Drain the process's connections, on their loop."""
    server.loop.call_soon_threadsafe(register.drain)


def test_a_process_that_drains_closes_what_is_idle(socket: Socket, server: AsgiServer) -> None:
    socket.create(input="Hello")
    socket.read_response()
    drain(server)
    assert socket.read_close() == 1012


def test_a_process_that_drains_ends_what_runs_and_begins_nothing(
    socket: Socket, server: AsgiServer, friend: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=WHOLE, pause_at=PAUSE)
    for text in ("running", "waiting", "waiting, too"):
        socket.create(input=text, store=True)
    socket.read_event("response.output_text.delta")
    drain(server)
    upstream.wait_request().resume()
    response = socket.read_event("response.completed")["response"]
    assert stored_response(friend, response["id"]) == response
    for _ in range(2):
        envelope = socket.read_error()
        assert (envelope["status"], envelope["error"]["code"]) == (503, "overloaded")
    assert socket.read_close() == 1012
    assert len(upstream.requests()) == 1


def test_a_process_that_cannot_wait_ends_its_response_by_the_rules(
    socket: Socket, friend: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=BEGUN, end="hang")
    socket.create(input="Hello", store=True)
    socket.create(input="waiting")
    frames = [socket.read() for _ in range(5)]
    upstream.wait_request().wait_paused()
    socket.cancel()
    while json.loads(frames[-1])["type"] != "response.failed":
        frames.append(socket.read())
    assert json.loads(frames[-2])["error"]["code"] == "overloaded"
    assert json.loads(frames[-1])["response"]["status"] == "failed"
    assert [json.loads(frame)["sequence_number"] for frame in frames] == list(range(len(frames)))
    last = json.loads(frames[-1])["response"]
    assert stored_response(friend, last["id"]) == last
    assert socket.read_error()["status"] == 503
    assert socket.read_close() == 1012
    upstream.wait_request().wait_closed(1.0)


def test_a_process_that_cannot_wait_says_so_of_a_response_that_has_not_begun(
    socket: Socket, upstream: ScriptedUpstream
) -> None:
    upstream.reply(end="mute")
    socket.create(input="Hello")
    request = upstream.wait_request()
    socket.cancel()
    assert socket.read_error()["error"]["code"] == "overloaded"
    assert socket.read_close() == 1012
    request.wait_closed(1.0)
