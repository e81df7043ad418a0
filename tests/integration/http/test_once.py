"""`Idempotency-Key`: one key, one response, however often the request is sent, and never a second generation."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from django.test import override_settings

from responses_api.eventlog import names
from responses_api.eventlog.connection import blocking_client
from responses_api.models import IdempotentRequest
from responses_api.services import once
from responses_api.services.once import purge
from tenants.models import Tenant
from tenants.scoping import operator_scope, tenant_scope
from tests.support.chat import chat_error, chat_stream
from tests.support.checks import checked_response, checked_stream, output_text, stored_response
from tests.support.client import Answer, Client, Exchange, wait_until
from tests.support.upstream import ScriptedUpstream

VALKEY: Any = blocking_client()
BODY = chat_stream("first", " second")
PAUSE = BODY.index(b" second") - 40
BEGUN = chat_stream("Hel", "lo", finish=None, usage=None, done=False)


@pytest.fixture
def key() -> str:
    """A key that no other test uses."""
    return f"key-{uuid.uuid4()}"


def send(client: Client, key: str, **body: Any) -> Exchange:
    asked = {"model": client.model, "input": "Hello", **body}
    return client.open("POST", "/responses", asked, {"Idempotency-Key": key})


def answered(client: Client, key: str, **body: Any) -> Answer:
    with send(client, key, **body) as exchange:
        return exchange.answer()


def streamed(client: Client, key: str, **body: Any) -> Exchange:
    with send(client, key, stream=True, **body) as exchange:
        exchange.read_all()
        return exchange


def held(tenant: Tenant) -> int:
    with tenant_scope(tenant.id):
        return int(IdempotentRequest.objects.count())


def age(interval: str) -> None:
    """Let so much time pass for every key."""
    with operator_scope(), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE responses_api_idempotentrequest SET created_at = now() - %s::interval", [interval]
        )


def forget_journals() -> None:
    for journal in VALKEY.keys("antiphon:journal:*"):
        VALKEY.delete(journal)


# ---------------------------------------------------------------- the same answer


def test_an_answer_is_given_again(friend: Client, upstream: ScriptedUpstream, key: str) -> None:
    first = checked_response(friend, answered(friend, key).json())
    assert answered(friend, key).json() == first
    forget_journals()
    assert answered(friend, key).json() == first
    assert len(upstream.requests()) == 1


def test_a_stream_is_told_again_from_its_first_event(
    friend: Client, upstream: ScriptedUpstream, key: str
) -> None:
    first = streamed(friend, key)
    checked_stream(first, friend)
    assert streamed(friend, key).raw == first.raw
    forget_journals()
    assert streamed(friend, key).raw == first.raw
    assert len(upstream.requests()) == 1


def test_the_order_of_the_fields_makes_no_other_request(
    friend: Client, upstream: ScriptedUpstream, key: str
) -> None:
    first = answered(friend, key, metadata={"a": "1", "b": "2"}).json()
    assert answered(friend, key, top_p=None, metadata={"b": "2", "a": "1"}).json() == first
    assert len(upstream.requests()) == 1


def test_a_background_response_is_made_once(friend: Client, upstream: ScriptedUpstream, key: str) -> None:
    first = answered(friend, key, background=True).json()
    again = answered(friend, key, background=True).json()
    assert (first["status"], again["id"]) == ("queued", first["id"])
    done = wait_until(
        lambda: (found := stored_response(friend, first["id"]))["status"] == "completed" and found,
        timeout=10,
        what="the end",
    )
    assert answered(friend, key, background=True).json() == done
    assert len(upstream.requests()) == 1


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("store", [True, False])
def test_two_that_come_at_once_are_answered_by_one(
    stream: bool, store: bool, friend: Client, upstream: ScriptedUpstream, key: str
) -> None:
    def ask(_: int) -> bytes:
        with send(friend, key, stream=stream, store=store) as exchange:
            return exchange.read_all()

    with ThreadPoolExecutor(4) as threads:
        bodies = set(threads.map(ask, range(4)))
    assert len(bodies) == 1
    assert len(upstream.requests()) == 1


def test_who_comes_while_it_runs_hears_it_from_the_beginning(
    friend: Client, upstream: ScriptedUpstream, key: str
) -> None:
    upstream.reply(body=BODY, pause_at=PAUSE)
    with send(friend, key, stream=True) as first:
        first.read_event("response.output_text.delta")
        with send(friend, key, stream=True) as second:
            second.read_event("response.output_text.delta")
            upstream.wait_request().resume()
            first.read_all()
            second.read_all()
    assert second.raw == first.raw
    checked_stream(second, friend)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("store", [True, False])
def test_it_goes_on_when_its_client_leaves_and_answers_the_next_try(
    stream: bool, store: bool, friend: Client, upstream: ScriptedUpstream, key: str
) -> None:
    upstream.reply(body=BODY, pause_at=PAUSE)
    left = send(friend, key, stream=stream, store=store)
    upstream.wait_request().wait_paused()
    left.close()
    upstream.wait_request().resume()
    with send(friend, key, stream=stream, store=store) as again:
        again.read_all()
    if stream:
        assert output_text(checked_stream(again)) == "first second"
    else:
        assert output_text(again.answer().json()) == "first second"
    assert len(upstream.requests()) == 1


def test_a_failure_is_told_again(friend: Client, upstream: ScriptedUpstream, key: str) -> None:
    upstream.reply(body=BEGUN, end="cut")
    first = answered(friend, key)
    assert first.status == 500
    assert answered(friend, key).error == first.error
    forget_journals()
    assert answered(friend, key).error == first.error
    assert len(upstream.requests()) == 1


# ---------------------------------------------------------------- other requests, other keys


def test_another_request_under_the_same_key_is_refused(
    friend: Client, upstream: ScriptedUpstream, key: str
) -> None:
    answered(friend, key)
    refused = answered(friend, key, input="Goodbye")
    assert (refused.status, refused.error["code"]) == (409, "idempotency_key_reused")
    assert refused.error["type"] == "invalid_request"
    assert streamed(friend, key).status == 409
    assert len(upstream.requests()) == 1


def test_a_key_is_its_tenants_own(
    friend: Client, stranger: Client, stranger_tenant: Tenant, upstream: ScriptedUpstream, key: str
) -> None:
    first = answered(friend, key).json()
    other = answered(stranger, key, input="Something else").json()
    assert other["id"] != first["id"]
    assert output_text(other) == "You said: Something else"
    assert held(stranger_tenant) == 1


@pytest.mark.parametrize("bad", ["", " ", "a b", "ü", "x" * 256, "a\tb"])
def test_what_is_no_key_is_refused(bad: str, friend: Client, upstream: ScriptedUpstream) -> None:
    answer = answered(friend, bad)
    assert (answer.status, answer.error["param"]) == (400, "Idempotency-Key")
    assert upstream.requests() == []


def test_without_a_key_nothing_is_kept(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream
) -> None:
    assert friend.create(input="Hello").json()["id"] != friend.create(input="Hello").json()["id"]
    assert held(friend_tenant) == 0


# ---------------------------------------------------------------- keys that are given back, and those that are not


def test_what_was_refused_gives_its_key_back(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream, key: str
) -> None:
    assert answered(friend, key, model="no-such").status == 404
    assert held(friend_tenant) == 0
    upstream.reply(body=chat_error("Too much"), status=429)
    assert answered(friend, key).status == 429
    assert held(friend_tenant) == 0
    assert output_text(answered(friend, key).json()) == "You said: Hello"


def test_an_answer_that_was_not_stored_is_never_made_again(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream, key: str
) -> None:
    first = answered(friend, key, store=False).json()
    assert answered(friend, key, store=False).json() == first
    forget_journals()
    age("1 hour")
    gone = answered(friend, key, store=False)
    assert (gone.status, gone.error["code"]) == (409, "idempotency_key_answer_gone")
    assert len(upstream.requests()) == 1


@pytest.mark.parametrize("stream", [True, False])
def test_a_response_that_was_deleted_is_neither_told_nor_made_again(
    stream: bool, friend: Client, upstream: ScriptedUpstream, key: str
) -> None:
    first = streamed(friend, key).events[0]["response"] if stream else answered(friend, key).json()
    assert VALKEY.exists(names.journal(first["id"]))
    assert friend.delete(f"/responses/{first['id']}").status == 200
    assert not VALKEY.keys(f"*{first['id']}*")
    gone = answered(friend, key, **({"stream": True} if stream else {}))
    assert (gone.status, gone.error["code"]) == (409, "idempotency_key_answer_gone")
    assert len(upstream.requests()) == 1


def test_a_journal_that_outlives_its_response_is_not_told(
    friend: Client, upstream: ScriptedUpstream, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = answered(friend, key).json()
    monkeypatch.setattr("responses_api.eventlog.journal.drop", lambda response_id: None)
    assert friend.delete(f"/responses/{first['id']}").status == 200
    assert VALKEY.exists(names.journal(first["id"]))
    assert answered(friend, key).error["code"] == "idempotency_key_answer_gone"


def test_a_key_whose_process_died_before_it_asked_is_taken_over(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream, key: str
) -> None:
    first = answered(friend, key).json()
    with tenant_scope(friend_tenant.id):
        IdempotentRequest.objects.update(response_id=f"resp_{'1' * 44}")
    age("1 hour")
    second = answered(friend, key).json()
    assert second["id"] != first["id"]
    assert answered(friend, key).json() == second


def test_a_key_expires(friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream, key: str) -> None:
    first = answered(friend, key).json()
    assert purge() == 0
    age("1 hour")
    with override_settings(IDEMPOTENCY_SECONDS=60.0):
        second = answered(friend, key, input="Goodbye").json()
    assert second["id"] != first["id"]
    age("2 days")
    assert purge() == 1
    assert held(friend_tenant) == 0


@pytest.mark.parametrize("body", [{}, {"stream": True}, {"store": False}])
def test_a_refusal_that_nobody_waited_for_gives_the_key_back_to_who_reads_it(
    body: dict[str, Any], friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream, key: str
) -> None:
    others = set(VALKEY.keys(names.running("*")))
    upstream.reply(body=chat_error("slow down"), status=429, delay_ms=200)
    with send(friend, key, **body):
        upstream.wait_request()
    wait_until(lambda: set(VALKEY.keys(names.running("*"))) <= others, timeout=10, what="the refusal")
    assert answered(friend, key, **body).status == 429
    assert held(friend_tenant) == 0
    assert answered(friend, key, **body).status == 200


def test_keys_are_purged_in_batches_until_none_is_left(
    friend: Client, friend_tenant: Tenant, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        answered(friend, f"{key}-{number}")
    age("2 days")
    kept = answered(friend, key).json()
    monkeypatch.setattr(once, "_PURGE_AT_ONCE", 2)
    assert purge() == 3
    assert held(friend_tenant) == 1
    assert answered(friend, key).json() == kept


def test_what_is_kept_in_valkey_of_what_is_not_stored_expires(
    friend: Client, upstream: ScriptedUpstream, key: str
) -> None:
    response_id = answered(friend, key, store=False).json()["id"]
    left = [name.decode() for name in VALKEY.keys(f"*{response_id}*")]
    assert names.journal(response_id) in left
    assert all(VALKEY.ttl(name) > 0 for name in left)
    assert VALKEY.ttl(names.journal(response_id)) <= 60


def test_what_was_asked_cannot_be_guessed_from_the_row(
    friend: Client, friend_tenant: Tenant, key: str
) -> None:
    answered(friend, key, input="yes", store=False)
    with tenant_scope(friend_tenant.id):
        digest = bytes(IdempotentRequest.objects.get().digest)
    another_key = f"{key}-2"
    with override_settings(SECRET_KEY="of another service"):
        answered(friend, another_key, input="yes", store=False)
    with tenant_scope(friend_tenant.id):
        assert bytes(IdempotentRequest.objects.get(key=another_key).digest) != digest
