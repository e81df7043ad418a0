"""What becomes of a background response when its worker, its message or its job is lost: told once, by one attempt."""

import threading
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.db import connections
from django.test import override_settings

from responses_api.conformance.stream import assert_stream
from responses_api.dispatch import BACKGROUND_QUEUE, send_tickets
from responses_api.eventlog import bus, journal, names
from responses_api.eventlog.claims import take_lost
from responses_api.eventlog.message import Kind, Message
from responses_api.models import Backend, Response, Route
from responses_api.protocol.job import Job
from responses_api.services import background, routing
from responses_api.services.cancel import cancel
from responses_api.services.finish import Outcome, finish
from responses_api.services.identity import now
from responses_api.services.reap import give_back, reap
from responses_api.services.rescue import rescue
from responses_api.services.stored import retrieve
from tenants.models import Tenant
from tenants.scoping import tenant_scope
from tests.integration.builders import stored
from tests.integration.services.attempts import (
    LONG_AGO,
    VALKEY,
    begin,
    ended,
    follow,
    forget_in_valkey,
    lose,
    lose_unheard,
    publish,
    rescued,
    row_of,
    told_until,
    waiting,
)
from tests.support.chat import chat_stream
from tests.support.checks import checked_stream, output_text
from tests.support.client import Client, wait_until
from tests.support.oracle import event_faults
from tests.support.queue_worker import claim, ticket
from tests.support.upstream import ScriptedUpstream
from workers.backends.parts import Part, TextDelta
from workers.runtime import process_runtime


@pytest.fixture(autouse=True)
def _nothing_waits() -> Iterator[None]:
    """What a test left waiting without a ticket would be taken in the place of the next one's."""
    yield
    left = VALKEY.keys(names.waiting(BACKGROUND_QUEUE, "*"))
    VALKEY.delete(names.turns(BACKGROUND_QUEUE), *left)


@pytest.fixture
def job(friend: Client, friend_tenant: Tenant, backend: Backend) -> Job:
    """A background job whose message was lost: offered, and claimed by nobody. A worker runs what is sent again."""
    return waiting(friend_tenant, backend)


# ---------------------------------------------------------------- a worker is lost


def test_what_one_reaper_has_given_on_another_one_leaves_alone(
    friend: Client, friend_tenant: Tenant, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "announce", lambda *_: None)  # nobody takes it up meanwhile
    worker = f"test:{uuid.uuid4().hex}"
    jobs = [waiting(friend_tenant, backend) for _ in range(2)]
    for job in jobs:
        begin(job, worker=worker)
    VALKEY.sadd(names.WORKERS, worker)
    VALKEY.delete(names.beat(worker))
    slow = take_lost()
    first = next(slow)
    assert reap() == 1
    assert [lost.response_id for lost in slow] == []
    assert first.response_id in {job.response_id for job in jobs}
    (other,) = (job for job in jobs if job.response_id != first.response_id)
    assert (row_of(other).status, row_of(other).attempt) == ("queued", 1)


@pytest.mark.parametrize("parts", [None, ()])
def test_one_of_which_nothing_was_told_is_gone_on_with(
    parts: tuple[Part, ...] | None, job: Job, friend: Client, friend_tenant: Tenant
) -> None:
    with follow(friend, job) as exchange:
        exchange.read_event("response.queued")
        worker, _ = begin(job, parts)
        lose(worker)
        exchange.read_all()
    assert output_text(checked_stream(exchange, friend)) == "You said: Hello"
    assert row_of(job).attempt == 1


def test_what_nobody_has_seen_is_told_anew(
    job: Job, friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_stream("Something", " else"))
    worker, _ = begin(job)
    lose(worker)
    assert output_text(ended(friend_tenant, job)) == "Something else"
    with follow(friend, job) as exchange:
        exchange.read_all()
    assert output_text(checked_stream(exchange, friend)) == "Something else"


def test_what_somebody_has_seen_is_gone_on_with_where_it_is_the_same(
    job: Job, friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_stream("H", "ello the", "re"))
    with follow(friend, job) as exchange:
        worker, first = begin(job)
        exchange.read_event("response.output_text.delta")
        lose(worker)
        exchange.read_all()
    final = checked_stream(exchange, friend)
    assert output_text(final) == "Hello there"
    assert final["output"][0]["id"] == first.response["output"][0]["id"]
    deltas = [event["delta"] for event in exchange.events if event["type"] == "response.output_text.delta"]
    assert deltas == ["Hel", "lo", " the", "re"]
    with follow(friend, job) as again:
        again.read_all()
    assert again.raw == exchange.raw


def test_what_somebody_has_seen_is_not_mixed_with_anything_else(
    job: Job, friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_stream("Good", "bye"))
    with follow(friend, job) as exchange:
        worker, _ = begin(job)
        exchange.read_event("response.output_text.delta")
        lose(worker)
        exchange.read_all()
    failed = checked_stream(exchange, friend)
    assert exchange.types[-2:] == ["error", "response.failed"]
    assert (failed["error"]["code"], output_text(failed)) == ("worker_lost", "Hello")
    with follow(friend, job) as again:
        again.read_all()
    assert again.raw == exchange.raw


def test_an_error_of_the_second_attempt_ends_what_the_first_one_told(
    job: Job, friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=b"{}", status=429)
    with follow(friend, job) as exchange:
        worker, _ = begin(job)
        exchange.read_event("response.output_text.delta")
        lose(worker)
        exchange.read_all()
    failed = checked_stream(exchange, friend)
    assert (failed["error"]["code"], output_text(failed)) == ("rate_limit_exceeded", "Hello")


def test_a_second_loss_is_its_end(job: Job, friend: Client, friend_tenant: Tenant) -> None:
    worker, _ = begin(job)
    lose_unheard(worker)
    again = replace(job, attempt=1)
    worker, _ = begin(again, None)
    lose(worker)
    failed = retrieve(friend_tenant.id, job.response_id)
    assert (failed["status"], failed["error"]["code"]) == ("failed", "worker_lost")
    with follow(friend, job) as exchange:
        exchange.read_all()
    assert checked_stream(exchange, friend) == failed


def test_workers_that_are_stopped_in_order_hand_it_on_as_often_as_it_takes(
    job: Job, friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_stream("Hello", " there"))
    with follow(friend, job) as exchange:
        worker, _ = begin(job)
        exchange.read_event("response.output_text.delta")
        for attempt in range(3):
            envelope = VALKEY.get(names.job(job.response_id))
            if attempt < 2:
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(background, "announce", lambda *_: None)
                    give_back(job.response_id, envelope, worker, None)
                worker, _ = begin(replace(job, attempt=attempt + 1), None)
            else:
                give_back(job.response_id, envelope, worker, None)
        exchange.read_all()
    assert output_text(checked_stream(exchange, friend)) == "Hello there"
    assert row_of(job).attempt == 3


def test_one_that_was_cancelled_while_its_worker_was_lost_is_cancelled(
    job: Job, friend: Client, friend_tenant: Tenant
) -> None:
    worker, _ = begin(job)
    assert bus.withdraw(job.response_id) == worker
    lose(worker)
    gone = retrieve(friend_tenant.id, job.response_id)
    assert (gone["status"], output_text(gone)) == ("cancelled", "Hello")
    with follow(friend, job) as exchange:
        exchange.read_all()
    assert checked_stream(exchange, friend) == gone


def test_a_worker_that_comes_back_changes_nothing(
    job: Job, friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream
) -> None:
    body = chat_stream("An", "other")
    upstream.reply(body=body, pause_at=body.index(b"other") - 40)
    worker, first = begin(job)
    lose(worker)
    told = wait_until(lambda: told_until(job, 6), timeout=10, what="the second attempt's first word")
    first.feed(TextDelta("t", " from the dead"))
    publish(job, worker, Message(Kind.EVENTS, len(told), len(told) + 1, first.drain()))
    first.finish()
    assert finish([Outcome(job, first.response)]) == set()
    publish(job, worker, Message(Kind.END, len(told) + 1, len(told) + 5, first.drain() + first.terminal()))
    assert journal.read_events(job.response_id) == told
    upstream.wait_request().resume()
    assert output_text(ended(friend_tenant, job)) == "Another"
    raw = b"".join(message.body for message in journal.read(job.response_id)) + b"data: [DONE]\n\n"
    assert_stream(raw, validate=event_faults)


# ---------------------------------------------------------------- cancel without a worker


def test_one_that_no_worker_has_is_cancelled_at_once(
    friend: Client, friend_tenant: Tenant, backend: Backend
) -> None:
    job = waiting(friend_tenant, backend, stream=True)
    with follow(friend, job) as exchange:
        exchange.read_event("response.queued")
        gone = cancel(friend_tenant.id, job.response_id)
        exchange.read_all()
    assert gone["status"] == "cancelled"
    assert checked_stream(exchange, friend) == gone
    assert claim([job.response_id], "test:late") == []


def test_one_whose_worker_does_not_hear_is_cancelled_all_the_same(
    job: Job, friend: Client, friend_tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("responses_api.services.cancel._WORKER_SECONDS", 0.0)
    _, deaf = begin(job)
    gone = cancel(friend_tenant.id, job.response_id)
    assert (gone["status"], output_text(gone)) == ("cancelled", "Hello")
    deaf.finish()
    assert finish([Outcome(job, deaf.response)]) == set()
    assert cancel(friend_tenant.id, job.response_id) == gone


# ---------------------------------------------------------------- rescue


def lose_place(job: Job) -> None:
    """Nobody would come to the job in its turn."""
    assert VALKEY.zrem(names.waiting(BACKGROUND_QUEUE, job.tenant_id), job.response_id) == 1


def test_one_whose_ticket_was_lost_is_taken_by_another(job: Job, friend_tenant: Tenant) -> None:
    place = names.waiting(BACKGROUND_QUEUE, job.tenant_id)
    VALKEY.zincrby(place, -LONG_AGO * 1_000_000, job.response_id)
    assert rescued() == 0
    assert output_text(ended(friend_tenant, job)) == "You said: Hello"
    assert not VALKEY.exists(place)


def test_one_that_its_worker_let_go_of_waits_again(job: Job, friend_tenant: Tenant) -> None:
    lose_place(job)
    assert rescued() == 1
    assert output_text(ended(friend_tenant, job)) == "You said: Hello"
    assert rescued() == 0


def test_one_that_is_on_its_way_or_with_a_worker_is_left_alone(
    friend_tenant: Tenant, backend: Backend, job: Job
) -> None:
    fresh = replace(waiting(friend_tenant, backend), created_at=now())
    with tenant_scope(friend_tenant.id):
        Response.objects.filter(id=fresh.response_id).update(created_at=now())
    held = waiting(friend_tenant, backend)
    begin(held)
    assert rescued() == 0


def test_only_one_looks_at_a_time(job: Job, friend_tenant: Tenant) -> None:
    VALKEY.set(names.RESCUE, b"1", ex=100)
    lose_place(job)
    assert rescue() == 0
    assert rescued() == 1


def test_one_whose_job_was_lost_is_made_anew_with_its_conversation(
    friend: Client, friend_tenant: Tenant, backend: Backend, upstream: ScriptedUpstream
) -> None:
    before = stored(friend_tenant, "My name is Ada.", "Hello, Ada.")
    job = waiting(friend_tenant, backend, previous_response_id=before["id"], instructions="Be brief.")
    forget_in_valkey(job)
    assert rescued() == 1
    assert output_text(ended(friend_tenant, job)) == "You said: Hello"
    said = [message["content"] for message in upstream.requests()[-1].body["messages"]]
    assert said == ["Be brief.", "My name is Ada.", "Hello, Ada.", "Hello"]
    with follow(friend, job) as exchange:
        exchange.read_all()
    checked_stream(exchange, friend)


def test_one_that_nobody_followed_survives_the_loss_of_valkey(job: Job, friend_tenant: Tenant) -> None:
    begin(job)
    forget_in_valkey(job)
    assert rescued() == 1
    assert output_text(ended(friend_tenant, job)) == "You said: Hello"


def test_one_that_somebody_followed_fails_when_nobody_knows_what_was_told(
    friend: Client, friend_tenant: Tenant, backend: Backend
) -> None:
    job = waiting(friend_tenant, backend, stream=True)
    begin(job)
    forget_in_valkey(job)
    assert rescued() == 1
    failed = retrieve(friend_tenant.id, job.response_id)
    assert (failed["status"], failed["error"]["code"]) == ("failed", "worker_lost")


def test_what_was_written_down_for_the_second_attempt_survives_the_loss_of_valkey(
    friend: Client, friend_tenant: Tenant, backend: Backend, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_stream("Hello", " there"))
    job = waiting(friend_tenant, backend, stream=True)
    worker, first = begin(job)
    lose_unheard(worker)
    assert retrieve(friend_tenant.id, job.response_id)["status"] == "in_progress"
    forget_in_valkey(job)
    assert rescued() == 1
    final = ended(friend_tenant, job)
    assert output_text(final) == "Hello there"
    assert final["output"][0]["id"] == first.response["output"][0]["id"]
    with follow(friend, job) as exchange:
        exchange.read_all()
    assert checked_stream(exchange, friend) == final
    deltas = [event["delta"] for event in exchange.events if event["type"] == "response.output_text.delta"]
    assert deltas == ["Hel", "lo", " there"]


def test_one_that_waited_too_long_fails(job: Job, friend: Client, friend_tenant: Tenant) -> None:
    with override_settings(BACKGROUND_QUEUE_SECONDS=LONG_AGO / 2):
        assert rescued() == 1
    failed = retrieve(friend_tenant.id, job.response_id)
    assert (failed["status"], failed["error"]["code"]) == ("failed", "overloaded")
    with follow(friend, job) as exchange:
        exchange.read_all()
    assert checked_stream(exchange, friend) == failed


def test_one_that_cannot_be_made_anew_fails_with_the_reason(job: Job, friend_tenant: Tenant) -> None:
    forget_in_valkey(job)
    Route.objects.all().delete()
    routing.read_models()
    assert rescued() == 1
    failed = retrieve(friend_tenant.id, job.response_id)
    assert (failed["status"], failed["error"]["code"]) == ("failed", "model_not_found")


def test_a_cancel_that_was_not_carried_out_is(job: Job, friend_tenant: Tenant) -> None:
    bus.withdraw(job.response_id)
    assert rescued() == 1
    assert retrieve(friend_tenant.id, job.response_id)["status"] == "cancelled"


def test_one_that_has_more_tickets_than_it_needs_is_run_once(
    job: Job, friend_tenant: Tenant, upstream: ScriptedUpstream
) -> None:
    for _ in range(3):
        send_tickets(BACKGROUND_QUEUE, 2)
    assert output_text(ended(friend_tenant, job)) == "You said: Hello"
    assert len(upstream.requests()) == 1


# ---------------------------------------------------------------- what it costs while it runs, and after


def test_a_worker_holds_no_connection_for_what_it_runs(job: Job, upstream: ScriptedUpstream) -> None:
    reply = chat_stream("Hel", "lo")
    upstream.reply(body=reply, pause_at=reply.index(b"lo"))
    held: list[Any] = []

    def run() -> None:
        held.append(connections["default"])
        process_runtime().run_in_background(*ticket(job.response_id))

    running = threading.Thread(target=run)
    running.start()
    request = upstream.wait_request()
    assert held[0].connection is None
    request.resume()
    running.join(10)
    assert not running.is_alive()


def test_nothing_but_its_journal_is_kept_in_valkey_of_what_has_ended(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    exchange = friend.stream(input="Hello", background=True)
    exchange.read_all()
    response_id = checked_stream(exchange, friend)["id"]
    assert VALKEY.keys(f"*{response_id}*") == [names.journal(response_id).encode()]
