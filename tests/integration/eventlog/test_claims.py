"""Who runs what: one worker claims a job, once, and a lost worker's responses are handed to one reaper."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import redis.asyncio as redis_asyncio

from responses_api.eventlog import bus, claims, names, turns
from responses_api.eventlog.connection import blocking_client
from tests.integration.eventlog.messages import new_response
from tests.support.queue_worker import claim

VALKEY: Any = blocking_client()


@pytest.fixture
def job() -> Iterator[str]:
    """The id of a job that was offered."""
    response_id = new_response()
    turns.offer("test", [("tenant", response_id, response_id.encode())])
    yield response_id
    VALKEY.delete(names.job(response_id), names.claim(response_id), names.cancel(response_id))


@pytest.fixture
async def lost_worker(client: "redis_asyncio.Redis", worker: str) -> str:
    """A worker that is registered and has stopped beating."""
    await claims.register(client, worker)
    await client.delete(names.beat(worker))
    return worker


def test_a_job_is_claimed_once_and_a_redelivered_one_by_nobody(job: str, worker: str) -> None:
    assert claim([job], worker) == [(job, job.encode())]
    assert claim([job], worker) == []
    assert claim([job], "another") == []
    assert VALKEY.get(names.claim(job)) == worker.encode()
    assert VALKEY.smembers(names.running(worker)) == {job.encode()}
    assert not VALKEY.exists(names.running("another"))


def test_of_two_racing_workers_one_gets_the_job(job: str, worker: str) -> None:
    start = threading.Barrier(2)

    def take(name: str) -> list[tuple[str, bytes]]:
        start.wait()
        return claim([job], name)

    with ThreadPoolExecutor(2) as threads:
        got = list(threads.map(take, (worker, f"{worker}-2")))
    assert sorted(got) == [[], [(job, job.encode())]]


def test_an_expired_job_is_claimed_by_nobody(worker: str, job: str) -> None:
    assert claim([new_response(), job, new_response()], worker) == [(job, job.encode())]


async def test_a_job_cancelled_before_it_was_claimed_is_dropped(
    client: "redis_asyncio.Redis", worker: str, job: str
) -> None:
    other = new_response()
    turns.offer("test", [("tenant", other, b"other")])
    await bus.cancel(client, job)
    assert claim([job, other], worker) == [(other, b"other")]
    assert await client.keys(f"*{job}*") == [names.cancel(job).encode()]
    await client.delete(*await client.keys(f"*{other}*"))


async def test_a_beating_worker_loses_nothing(client: "redis_asyncio.Redis", worker: str, job: str) -> None:
    await claims.register(client, worker)
    claim([job], worker)
    assert await claims.beat(client, worker)
    assert list(claims.take_lost()) == []
    claims.unregister(worker)
    assert not await client.sismember(names.WORKERS, worker)


def test_a_lost_workers_responses_are_handed_out_once(lost_worker: str, job: str) -> None:
    claim([job], lost_worker)
    assert list(claims.take_lost()) == [claims.Lost(job, lost_worker, job.encode())]
    assert list(claims.take_lost()) == []


def test_of_two_racing_reapers_one_gets_each_response(lost_worker: str) -> None:
    ids = [new_response() for _ in range(30)]
    turns.offer("test", [("tenant", response_id, b"job") for response_id in ids])
    claim(ids, lost_worker)
    start = threading.Barrier(2)

    def take(_: int) -> list[claims.Lost]:
        start.wait()
        return list(claims.take_lost())

    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(take, range(2))
    assert sorted(lost.response_id for lost in (*first, *second)) == sorted(ids)
    for lost in (*first, *second):
        claims.give_up(lost, b"x", inbox=None, keep_journal=False)
    assert not VALKEY.exists(names.running(lost_worker), *map(names.job, ids), *map(names.claim, ids))


async def test_a_worker_that_was_given_up_finds_out(
    client: "redis_asyncio.Redis", lost_worker: str, job: str
) -> None:
    claim([job], lost_worker)
    (lost,) = claims.take_lost()
    claims.give_up(lost, b"x", inbox=None, keep_journal=False)
    assert not await claims.beat(client, lost_worker)


async def test_a_worker_that_beats_again_before_the_second_round_of_reaping_finds_out_too(
    client: "redis_asyncio.Redis", lost_worker: str, job: str
) -> None:
    claim([job], lost_worker)
    list(claims.take_lost())
    assert not await claims.beat(client, lost_worker)


def test_what_a_reaper_could_not_end_is_handed_out_again_once_its_time_is_over(
    lost_worker: str, job: str
) -> None:
    claim([job], lost_worker)
    assert len(list(claims.take_lost())) == 1
    assert VALKEY.ttl(names.claim(job)) > 0
    VALKEY.delete(names.claim(job))
    assert len(list(claims.take_lost())) == 1


def test_a_lost_worker_without_responses_is_forgotten(lost_worker: str) -> None:
    assert list(claims.take_lost()) == []
    assert not VALKEY.sismember(names.WORKERS, lost_worker)


def test_what_a_lost_worker_had_ended_already_is_left_alone(lost_worker: str, job: str) -> None:
    claim([job], lost_worker)
    VALKEY.delete(names.job(job), names.claim(job))
    assert list(claims.take_lost()) == []
    assert not VALKEY.exists(names.running(lost_worker))


def test_every_key_of_a_job_expires(worker: str, job: str) -> None:
    claim([job], worker)
    for name in (names.job(job), names.claim(job)):
        assert VALKEY.ttl(name) > 0
    VALKEY.srem(names.running(worker), job)


async def test_the_workers_that_live_are_told_with_what_they_run(
    client: "redis_asyncio.Redis", worker: str, lost_worker: str, job: str
) -> None:
    VALKEY.delete(names.beat(lost_worker))
    assert lost_worker not in {found.name for found in claims.workers()}
    await claims.register(client, worker, background_only=True)
    assert claims.Worker(worker, background_only=True, running=0) in claims.workers()
    claim([job], worker)
    assert claims.Worker(worker, background_only=True, running=1) in claims.workers()
