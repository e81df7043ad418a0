"""Reap: what a lost worker left half told is ended truthfully, once, for the client and in the table."""

import asyncio
import threading
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings
from django.db import OperationalError

from responses_api.conformance.stream import assert_stream
from responses_api.eventlog import claims, journal, names
from responses_api.eventlog.connection import asyncio_client, blocking_client
from responses_api.eventlog.message import LAST, Kind, Message
from responses_api.eventlog.publish import Address, Publisher
from responses_api.protocol.errors import ProtocolError, model_error
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.protocol.request import CreateRequest
from responses_api.protocol.response import snapshot
from responses_api.protocol.sse import DONE, decode
from responses_api.services import reap as reaping
from responses_api.services.finish import Outcome, finish
from responses_api.services.identity import new_id, now
from responses_api.services.reap import reap
from responses_api.services.stored import retrieve
from tenants.models import Tenant
from tests.integration.builders import job_of
from tests.support.checks import output_text
from tests.support.oracle import assert_response, event_faults
from tests.support.queue_worker import claim
from tests.unit.workers.test_receipts import BEGUN
from tests.unit.workers.test_receipts import end as ended_call
from workers.backends.parts import CallDelta, Part, Receipt, TextDelta
from workers.emitter import Emitter

pytestmark = pytest.mark.usefixtures("database")

VALKEY: Any = blocking_client()
HALF = (TextDelta("t", "Hel"), TextDelta("t", "lo\u2028"))
HALF_A_CALL = (*HALF, CallDelta("c", "call_1", "f", '{"a'))


@pytest.fixture
def inbox() -> Iterator[str]:
    """The inbox of a web process that reads later."""
    name = names.inbox(uuid.uuid4().hex)
    VALKEY.xadd(name, {"": ""})
    yield name
    VALKEY.delete(name)


def emitter_of(job: Job) -> Emitter:
    base = snapshot(
        response_id=job.response_id,
        created_at=job.created_at,
        request=CreateRequest.from_plain(job.request),
        status="in_progress",
    )
    return Emitter(base, new_id=new_id, clock=now)


def lose(
    job: Job, parts: Sequence[Part] | None = HALF, *, store: bool = False, finished: bool = False
) -> Json:
    """Let a worker claim `job`, tell these parts (None: not even the beginning) and stop beating.

    With `finished` it closed the response and told all but the terminal event; with `store` it had stored
    the end before it was lost. Returns the snapshot as it last stood.
    """
    return asyncio.run(_lose(job, parts, store, finished))


async def _lose(job: Job, parts: Sequence[Part] | None, store: bool, finished: bool) -> Json:
    worker = f"test:{uuid.uuid4().hex}"
    emitter = emitter_of(job)
    VALKEY.set(names.job(job.response_id), job.to_bytes(), ex=60)
    async with asyncio_client() as client:
        await claims.register(client, worker)
        assert len(claim([job.response_id], worker)) == 1
        publisher = Publisher(client)
        if parts is not None:
            emitter.start()
            for part in parts:
                emitter.feed(part)
        if finished:
            emitter.finish()
        body = emitter.drain()
        if job.request["stream"] and body:
            to = Address(job.response_id, worker, job.inbox, journal=True, keep_journal=job.request["store"])
            publisher.publish(to, Message(Kind.EVENTS, 0, emitter.next_sequence, body))
        await publisher.close()
        await client.delete(names.beat(worker))
    if store:
        emitter.finish()
        await asyncio.to_thread(finish, [Outcome(job, emitter.response, emitter.score())])
    return emitter.response


def received(inbox: str, job: Job) -> list[Message]:
    """What the web process got for the job."""
    key = job.response_id.encode()
    return [Message.from_bytes(fields[key]) for _, fields in VALKEY.xrange(inbox) if key in fields]


def stream_of(messages: list[Message]) -> list[Json]:
    """The events of a stream that keeps all invariants."""
    raw = b"".join(message.body for message in messages) + DONE
    return assert_stream(raw, validate=event_faults).events


def keys_of(job: Job) -> list[str]:
    return [key.decode() for key in VALKEY.keys(f"*{job.response_id}*")]


HALF_A_ROUND = (
    Receipt(1, BEGUN, "in_progress"),
    ended_call(1),
    Receipt(2, BEGUN),
    Receipt(3, BEGUN, "in_progress"),
)


@pytest.mark.parametrize("parts", [(), HALF, HALF_A_CALL, HALF_A_ROUND])
def test_a_half_told_stream_ends_with_error_and_failed(
    parts: Sequence[Part], inbox: str, friend_tenant: Tenant, stranger_tenant: Tenant
) -> None:
    job = job_of(friend_tenant, inbox=inbox, stream=True)
    so_far = lose(job, parts)
    assert reap() == 1
    events = stream_of(received(inbox, job))
    error, failed = events[-2:]
    assert error["error"]["code"] == failed["response"]["error"]["code"] == "worker_lost"
    assert error["error"]["type"] == "server_error"
    assert output_text(failed["response"]) == output_text(so_far)
    assert [item["status"] for item in failed["response"]["output"]][-1:] == ["incomplete"][: len(parts)]
    assert_response(failed["response"])
    assert retrieve(friend_tenant.id, job.response_id) == failed["response"]
    with pytest.raises(ProtocolError):
        retrieve(stranger_tenant.id, job.response_id)


@pytest.mark.parametrize("stream", [True, False])
def test_what_was_not_begun_is_refused_and_kept_as_failed(
    stream: bool, inbox: str, friend_tenant: Tenant
) -> None:
    job = job_of(friend_tenant, inbox=inbox, stream=stream)
    lose(job, None)
    assert reap() == 1
    assert_lost(received(inbox, job))
    assert retrieve(friend_tenant.id, job.response_id)["status"] == "failed"


def test_a_json_request_is_refused(inbox: str, friend_tenant: Tenant) -> None:
    job = job_of(friend_tenant, inbox=inbox)
    lose(job, HALF)
    assert reap() == 1
    assert_lost(received(inbox, job))
    kept = retrieve(friend_tenant.id, job.response_id)
    assert (kept["status"], kept["error"]["code"]) == ("failed", "worker_lost")


def assert_lost(messages: list[Message]) -> None:
    (message,) = messages
    assert message.kind is Kind.REJECT
    error = ProtocolError.from_plain(decode(message.body))
    assert (error.status, error.type, error.code) == (500, "server_error", "worker_lost")


@pytest.mark.parametrize("stream", [True, False])
def test_what_is_not_stored_leaves_no_row_and_no_key(stream: bool, inbox: str, friend_tenant: Tenant) -> None:
    job = job_of(friend_tenant, inbox=inbox, stream=stream, store=False)
    lose(job)
    assert reap() == 1
    assert received(inbox, job)[-1].kind in LAST
    with pytest.raises(ProtocolError):
        retrieve(friend_tenant.id, job.response_id)
    assert keys_of(job) == []


def test_the_journal_of_a_stored_stream_has_its_end_and_expires_soon(
    inbox: str, friend_tenant: Tenant
) -> None:
    job = job_of(friend_tenant, inbox=inbox, stream=True)
    lose(job)
    reap()
    assert keys_of(job) == [names.journal(job.response_id)]
    assert 0 < VALKEY.ttl(names.journal(job.response_id)) <= settings.JOURNAL_SECONDS
    assert stream_of(journal.read(job.response_id)) == stream_of(received(inbox, job))


def test_nobody_listens_and_it_is_ended_all_the_same(friend_tenant: Tenant) -> None:
    job = job_of(friend_tenant, inbox=None, stream=True)
    lose(job)
    assert reap() == 1
    assert retrieve(friend_tenant.id, job.response_id)["status"] == "failed"


def test_a_stream_whose_end_was_stored_but_not_told_is_told_as_it_was_stored(
    inbox: str, friend_tenant: Tenant
) -> None:
    job = job_of(friend_tenant, inbox=inbox, stream=True)
    final = lose(job, HALF, finished=True, store=True)
    assert reap() == 1
    assert stream_of(received(inbox, job))[-1]["response"] == final
    assert retrieve(friend_tenant.id, job.response_id) == final


def test_a_json_answer_that_was_stored_but_not_told_is_told(inbox: str, friend_tenant: Tenant) -> None:
    job = job_of(friend_tenant, inbox=inbox)
    final = lose(job, HALF, finished=True, store=True)
    assert reap() == 1
    (message,) = received(inbox, job)
    assert (message.kind, decode(message.body)) == (Kind.ANSWER, final)


def test_a_failure_that_was_stored_but_not_told_is_told_with_its_own_error(
    inbox: str, friend_tenant: Tenant
) -> None:
    job = job_of(friend_tenant, inbox=inbox)
    lose(job)
    ended = emitter_of(job)
    ended.start()
    ended.fail(model_error("The model broke off.", code="upstream_error"))
    assert finish([Outcome(job, ended.response, ended.score())])
    assert reap() == 1
    (message,) = received(inbox, job)
    assert message.kind is Kind.REJECT
    assert ProtocolError.from_plain(decode(message.body)).code == "upstream_error"


def test_a_stream_whose_stored_end_was_told_only_in_part_is_told_the_rest(
    inbox: str, friend_tenant: Tenant
) -> None:
    job = job_of(friend_tenant, inbox=inbox, stream=True)
    final = lose(job, HALF, store=True)
    assert reap() == 1
    events = stream_of(received(inbox, job))
    assert events[-1]["response"] == final == retrieve(friend_tenant.id, job.response_id)
    assert final["status"] == "completed"


def test_a_stream_that_is_not_the_stored_one_does_not_leave_its_client_waiting(
    inbox: str, friend_tenant: Tenant
) -> None:
    job = job_of(friend_tenant, inbox=inbox, stream=True)
    lose(job, HALF)
    other = emitter_of(job)
    other.start()
    other.feed(TextDelta("t", "Another"))
    other.finish()
    assert finish([Outcome(job, other.response, other.score())])
    assert reap() == 1
    events = stream_of(received(inbox, job))
    assert events[-2]["error"]["code"] == "worker_lost"
    assert retrieve(friend_tenant.id, job.response_id) == other.response


@pytest.mark.parametrize("stream", [True, False])
def test_who_asks_again_with_a_key_hears_of_the_lost_worker(
    stream: bool, friend_tenant: Tenant, stranger_tenant: Tenant
) -> None:
    job = replace(job_of(friend_tenant, stream=stream, store=False), is_keyed=True)
    lose(job)
    assert reap() == 1
    last = journal.read(job.response_id)[-1]
    if stream:
        assert stream_of(journal.read(job.response_id))[-2]["error"]["code"] == "worker_lost"
    else:
        assert (last.kind, decode(last.body)["code"]) == (Kind.REJECT, "worker_lost")
    assert keys_of(job) == [names.journal(job.response_id)]
    assert 0 < VALKEY.ttl(names.journal(job.response_id)) <= settings.JOURNAL_SECONDS


def test_of_two_racing_reapers_one_tells_the_end(inbox: str, friend_tenant: Tenant) -> None:
    jobs = [job_of(friend_tenant, inbox=inbox, stream=True) for _ in range(4)]
    for job in jobs:
        lose(job)
    start = threading.Barrier(2)

    def race(_: int) -> int:
        start.wait()
        return reap()

    with ThreadPoolExecutor(2) as threads:
        assert sum(threads.map(race, range(2))) == len(jobs)
    for job in jobs:
        assert [message.kind for message in received(inbox, job)] == [Kind.EVENTS, Kind.END]
    assert reap() == 0


def test_one_that_cannot_be_ended_does_not_hinder_the_others_and_is_tried_again(
    inbox: str, friend_tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    stubborn, other = (job_of(friend_tenant, inbox=inbox, stream=True) for _ in range(2))
    lose(stubborn)
    lose(other)

    def fail_once(outcomes: Sequence[Outcome]) -> set[str]:
        if outcomes[0].job.response_id == stubborn.response_id:
            raise OperationalError("the database is away")
        return finish(outcomes)

    with monkeypatch.context() as patch:
        patch.setattr(reaping, "finish", fail_once)
        assert reap() == 1
    assert received(inbox, other)[-1].kind is Kind.END
    assert received(inbox, stubborn)[-1].kind is Kind.EVENTS
    # The time that a reaper has passes.
    VALKEY.delete(names.claim(stubborn.response_id))
    assert reap() == 1
    assert received(inbox, stubborn)[-1].kind is Kind.END
    assert retrieve(friend_tenant.id, stubborn.response_id)["status"] == "failed"
