"""A worker is lost whose response another target answers than its job names: the next one goes on with that one."""

import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from responses_api.dispatch import BACKGROUND_QUEUE
from responses_api.eventlog import names
from responses_api.models import Backend, Response
from responses_api.protocol.job import Job
from responses_api.protocol.target import Target
from responses_api.services.reap import reap
from tenants.models import Tenant
from tenants.scoping import tenant_scope
from tests.integration.http.routes import add_target, charged, forget_breakers
from tests.integration.services.attempts import (
    VALKEY,
    begin,
    ended,
    follow,
    forget_in_valkey,
    lose,
    lose_unheard,
    rescued,
    row_of,
    waiting,
)
from tests.support.chat import chat_error, chat_stream
from tests.support.checks import checked_stream, output_text
from tests.support.client import Client
from tests.support.upstream import ScriptedUpstream

PRICES = {"input": 1_000_000, "cached_input": 1_000_000, "output": 1_000_000}
OTHER_PRICES = {"input": 3_000_000, "cached_input": 3_000_000, "output": 3_000_000}
ANSWER = chat_stream("H", "ello the", "re")


@pytest.fixture(autouse=True)
def _nothing_waits() -> Iterator[None]:
    forget_breakers()
    yield
    left = VALKEY.keys(names.waiting(BACKGROUND_QUEUE, "*"))
    VALKEY.delete(names.turns(BACKGROUND_QUEUE), *left)


@pytest.fixture
def other(backend: Backend) -> Iterator[ScriptedUpstream]:
    """The upstream of the second target."""
    with ScriptedUpstream(actor=True) as upstream:
        add_target("second", upstream.base_url)
        yield upstream


@pytest.fixture
def job(friend: Client, friend_tenant: Tenant, backend: Backend, other: ScriptedUpstream) -> Job:
    """A background job with two targets, which nobody has begun and somebody follows."""
    second = Backend.objects.get(name="second")
    targets = [
        Target(backend.spec().to_plain(), "upstream-model", None, PRICES),
        Target(second.spec().to_plain(), "upstream-model", None, OTHER_PRICES, position=1),
    ]
    return waiting(friend_tenant, backend, targets=targets, stream=True)


def served_by_the_second(job: Job) -> str:
    """A worker has told some of the second target's answer."""
    worker, _ = begin(job)
    VALKEY.set(names.served(job.response_id), "second", ex=60)
    return worker


def test_the_target_that_told_something_is_asked_first(
    job: Job, friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream, other: ScriptedUpstream
) -> None:
    other.reply(body=ANSWER)
    with follow(friend, job) as exchange:
        worker = served_by_the_second(job)
        exchange.read_event("response.output_text.delta")
        lose(worker)
        exchange.read_all()
    assert output_text(checked_stream(exchange, friend)) == "Hello there"
    assert (len(upstream.requests()), len(other.requests())) == (0, 1)
    assert row_of(job).backend == "second"
    (entry,) = charged(friend_tenant)
    assert (entry.backend, entry.input_price) == ("second", OTHER_PRICES["input"])


def test_where_it_fails_the_other_one_may_go_on_with_the_same_words(
    job: Job, friend: Client, upstream: ScriptedUpstream, other: ScriptedUpstream
) -> None:
    other.reply(status=503, body=chat_error("x"))
    upstream.reply(body=ANSWER)
    with follow(friend, job) as exchange:
        worker = served_by_the_second(job)
        exchange.read_event("response.output_text.delta")
        lose(worker)
        exchange.read_all()
    assert output_text(checked_stream(exchange, friend)) == "Hello there"
    row = row_of(job)
    assert (row.backend, [entry["backend"] for entry in row.tried]) == ("scripted", ["second"])


def test_it_is_known_also_where_valkey_is_lost(
    job: Job, friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream, other: ScriptedUpstream
) -> None:
    other.reply(body=ANSWER)
    worker = served_by_the_second(job)
    lose_unheard(worker)
    assert row_of(job).backend == "second"
    forget_in_valkey(job)
    assert rescued() == 1
    assert output_text(ended(friend_tenant, job)) == "Hello there"
    assert (len(upstream.requests()), len(other.requests())) == (0, 1)


def test_one_whose_job_is_made_anew_asks_nobody_that_was_not_chosen_for_it(
    friend: Client,
    friend_tenant: Tenant,
    backend: Backend,
    upstream: ScriptedUpstream,
    other: ScriptedUpstream,
) -> None:
    pinned = waiting(friend_tenant, Backend.objects.get(name="second"))
    forget_in_valkey(pinned)
    other.reply(status=503, body=chat_error("x"))
    assert rescued() == 1
    assert ended(friend_tenant, pinned)["error"]["code"] == "overloaded"
    assert (len(upstream.requests()), len(other.requests())) == (0, 1)


def test_of_which_nothing_was_told_all_are_asked_in_their_order(
    job: Job, friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream, other: ScriptedUpstream
) -> None:
    worker, _ = begin(job, ())
    lose(worker)
    assert output_text(ended(friend_tenant, job)) == "You said: Hello"
    assert (len(upstream.requests()), len(other.requests())) == (1, 0)


def test_a_second_loss_ends_it_in_the_name_of_who_served(
    job: Job, friend_tenant: Tenant, friend: Client
) -> None:
    lose_unheard(served_by_the_second(job))
    worker, _ = begin(replace(job, attempt=1), None)
    VALKEY.sadd(names.WORKERS, worker)
    VALKEY.delete(names.beat(worker))
    assert reap() == 1
    assert row_of(job).status == "failed"
    (entry,) = charged(friend_tenant)
    assert (entry.backend, entry.status) == ("second", "failed")


def test_a_failover_writes_down_who_serves_and_forgets_it_at_the_end(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream, other: ScriptedUpstream
) -> None:
    upstream.reply(end="abort")
    other.reply(body=ANSWER, pause_at=ANSWER.index(b"ello the") - 40)
    with friend.stream(input="Hello") as exchange:
        exchange.read_event("response.output_text.delta")
        response_id = exchange.events[0]["response"]["id"]
        assert VALKEY.get(names.served(response_id)) == b"second"
        other.wait_request().resume()
        exchange.read_all()
    assert VALKEY.get(names.served(response_id)) is None
    with tenant_scope(uuid.UUID(str(friend_tenant.id))):
        row: Any = Response.objects.get(id=response_id)
    assert row.backend == "second"
