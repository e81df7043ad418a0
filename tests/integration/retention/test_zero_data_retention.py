"""Zero data retention: whatever a request says, nothing of it is kept."""

import uuid
from typing import Any

import pytest
from django.apps import apps
from django.db import connection

from responses_api.eventlog.connection import blocking_client
from tenants import keys
from tenants.models import Tenant
from tenants.scoping import operator_scope
from tests.integration.websocket.conftest import Connect
from tests.support.chat import chat_error
from tests.support.checks import assert_unknown_to, checked_stream, output_text
from tests.support.client import Client
from tests.support.upstream import ScriptedUpstream

VALKEY: Any = blocking_client()


@pytest.fixture
def marker() -> str:
    """A text that is nowhere else."""
    return f"secret-{uuid.uuid4().hex}"


@pytest.fixture
def zdr(friend: Client, friend_tenant: Tenant) -> Client:
    """A client of a tenant that keeps nothing."""
    with operator_scope():
        Tenant.objects.filter(id=friend_tenant.id).update(zero_data_retention=True)
    keys.forget()
    return friend


def kept_in_postgres(text: str) -> list[str]:
    """The tables that hold the text in any of their rows."""
    holding = []
    with operator_scope(), connection.cursor() as cursor:
        for model in apps.get_models():
            table = model._meta.db_table
            cursor.execute(f'SELECT 1 FROM "{table}" AS row WHERE row::text LIKE %s LIMIT 1', [f"%{text}%"])
            if cursor.fetchone():
                holding.append(table)
    return holding


def kept_in_valkey(text: str) -> list[tuple[bytes, int]]:
    """The names that hold the text, and the seconds they have to live (-1: for ever)."""
    found = []
    for name in VALKEY.scan_iter(count=1000):
        if text.encode() in (VALKEY.dump(name) or b""):
            found.append((name, VALKEY.ttl(name)))
    return found


def test_what_is_asked_to_be_stored_is_not(zdr: Client, stranger: Client, marker: str) -> None:
    whole = zdr.create(input=marker, store=True)
    body = whole.json()
    assert body["store"] is False
    assert marker in output_text(body)
    streamed = checked_stream(zdr.read_stream(input=marker, store=True))
    assert streamed["store"] is False
    for client in (zdr, stranger):
        assert_unknown_to(client, body["id"])
        assert_unknown_to(client, streamed["id"])
    assert zdr.get("/responses").json()["data"] == []
    assert kept_in_postgres(marker) == []


def test_another_tenants_responses_are_stored_as_ever(
    zdr: Client, stranger: Client, marker: str, running_worker: None
) -> None:
    body = stranger.create(input=marker).json()
    assert body["store"] is True
    assert stranger.get(f"/responses/{body['id']}").status == 200
    assert kept_in_postgres(marker)


def test_what_fails_leaves_nothing(zdr: Client, upstream: ScriptedUpstream, marker: str) -> None:
    upstream.reply(body=chat_error(marker), status=500)
    assert zdr.create(input=marker).status == 500
    assert kept_in_postgres(marker) == []


def test_a_background_response_is_refused_with_the_reason(zdr: Client) -> None:
    refused = zdr.create(input="Hello", background=True)
    assert (refused.status, refused.error["param"]) == (400, "background")
    assert "zero data retention" in refused.error["message"]


def test_a_socket_goes_on_from_what_it_remembers(zdr: Client, connect: Connect, marker: str) -> None:
    socket = connect(zdr)
    socket.create(input=marker, store=True)
    first = socket.read_response()
    assert first["store"] is False
    socket.create(input="Go on", store=True, previous_response_id=first["id"])
    assert socket.read_response()["status"] == "completed"
    assert kept_in_postgres(marker) == []


def test_a_key_for_sending_again_keeps_a_digest_alone(zdr: Client, marker: str) -> None:
    key = {"Idempotency-Key": f"key-{uuid.uuid4()}"}
    asked = {"model": zdr.model, "input": marker, "store": True}
    with (
        zdr.open("POST", "/responses", asked, key) as first,
        zdr.open("POST", "/responses", asked, key) as again,
    ):
        answers = [first.answer().json(), again.answer().json()]
    assert answers[0] == answers[1]
    assert kept_in_postgres(marker) == []


def test_what_is_in_flight_expires_by_itself(zdr: Client, marker: str) -> None:
    zdr.create(input=marker)
    zdr.read_stream(input=marker, store=True)
    with zdr.open("POST", "/responses/compact", {"model": zdr.model, "input": marker}) as compacted:
        assert compacted.answer().status == 200
    lasting = [(name, seconds) for name, seconds in kept_in_valkey(marker) if not 0 <= seconds <= 600]
    assert lasting == []
