"""Who runs what: a job is held by the one worker that took it; a worker that stops beating loses what it held.

The lease is the worker's, not the response's: one key renewed every quarter of `LEASE_SECONDS` covers everything that
the process runs, so that a lease costs nothing per response.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import redis.asyncio as redis_asyncio
from django.conf import settings

from responses_api.eventlog import names
from responses_api.eventlog.connection import blocking_client
from responses_api.eventlog.publish import release
from responses_api.eventlog.turns import background_seconds, queue_background

_LOOK_SECONDS: Final = 0.02

REAPER: Final = "reaper"
"""The claim's holder once a lost worker's response is being ended."""

# A claim that expired was that of a reaper who could not end the response: the next one tries. What another reaper has
# put back meanwhile is not the lost worker's any more, although nobody holds it.
_TAKE_OVER: Final = """
if redis.call('SISMEMBER', KEYS[3], ARGV[4]) == 0 then return false end
local holder = redis.call('GET', KEYS[2])
if holder and holder ~= ARGV[1] then return false end
local job = redis.call('GET', KEYS[1])
if job then redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3]) end
return job
"""


# What nobody has seen is forgotten; then it begins anew. What somebody may have seen stays, to be gone on with.
_PUT_BACK: Final = """
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
if redis.call('EXISTS', KEYS[3]) == 0 then redis.call('DEL', KEYS[4]) end
if redis.call('EXISTS', KEYS[4]) == 0 then redis.call('XADD', KEYS[4], '*', 'm', ARGV[3]) end
redis.call('EXPIRE', KEYS[4], ARGV[4])
redis.call('SREM', KEYS[5], ARGV[5])
redis.call('DEL', KEYS[2])
"""


@dataclass(frozen=True, slots=True)
class Lost:
    """A response whose worker is gone; `job` is its envelope."""

    response_id: str
    worker: str
    job: bytes


def _lease_milliseconds() -> int:
    return int(settings.LEASE_SECONDS * 1000)


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """What is known of a background response that has not ended."""

    is_claimed: bool
    is_offered: bool
    is_cancelled: bool
    has_journal: bool


def whereabouts(response_ids: Sequence[str]) -> list[Whereabouts]:
    """Where these are, as far as Valkey knows."""
    pipeline = blocking_client().pipeline(transaction=False)
    for response_id in response_ids:
        for name in (names.claim, names.job, names.cancel, names.journal):
            pipeline.exists(name(response_id))
    found = iter(pipeline.execute())
    return [Whereabouts(*(bool(next(found)) for _ in range(4))) for _ in response_ids]


def may_rescue(seconds: float) -> bool:
    """Whether nobody else has looked for lost responses for so long; then it is the caller's turn."""
    return bool(blocking_client().set(names.RESCUE, b"1", nx=True, px=int(seconds * 1000)))


def put_back(queue_name: str, tenant_id: str, lost: Lost, envelope: bytes, prelude: bytes) -> None:
    """Let a background job wait again that a worker had; the journal keeps what somebody may have seen of it."""
    response_id, seconds = lost.response_id, background_seconds()
    keys = [
        names.job(response_id),
        names.claim(response_id),
        names.seen(response_id),
        names.journal(response_id),
        names.running(lost.worker),
    ]
    pipeline = blocking_client().pipeline(transaction=True)
    pipeline.eval(_PUT_BACK, len(keys), *keys, envelope, seconds, prelude, seconds, response_id)
    queue_background(pipeline, queue_name, tenant_id, response_id)
    pipeline.execute()


def put_down(response_id: str, worker: str) -> None:
    """Let go of a background job that was claimed and not begun: it is found, and waits again, after a while."""
    pipeline = blocking_client().pipeline(transaction=True)
    pipeline.delete(names.claim(response_id))
    pipeline.srem(names.running(worker), response_id)
    pipeline.execute()


async def beat(client: "redis_asyncio.Redis", worker: str, *, background_only: bool = False) -> bool:
    """Renew the worker's lease. False: it had been given up as lost meanwhile, and what it ran is ended by others.

    `background_only`: it takes nothing that a client waits for.
    """
    pipeline = client.pipeline(transaction=True)
    pipeline.set(names.beat(worker), _sign(background_only), px=_lease_milliseconds())
    pipeline.sismember(names.WORKERS, worker)
    pipeline.exists(names.lost(worker))
    _, is_known, is_lost = await pipeline.execute()
    return bool(is_known and not is_lost)


async def forsake(client: "redis_asyncio.Redis", worker: str) -> None:
    """Leave a lost worker's name for good to the reapers, with whatever is still claimed under it."""
    pipeline = client.pipeline(transaction=True)
    pipeline.delete(names.beat(worker))
    pipeline.sadd(names.WORKERS, worker)
    await pipeline.execute()


async def cancelled(client: "redis_asyncio.Redis", response_ids: list[str]) -> list[str]:
    """Those of the responses that nobody wants any more, for who may have missed the word on the bus."""
    replies = await client.mget([names.cancel(response_id) for response_id in response_ids])
    return [
        response_id for response_id, reply in zip(response_ids, replies, strict=True) if reply is not None
    ]


def is_anybody_there() -> bool:
    """Whether a worker lives that takes what clients wait for."""
    client: Any = blocking_client()
    workers = [names.beat(raw.decode()) for raw in client.smembers(names.WORKERS)]
    return bool(workers) and _sign(background_only=False) in client.mget(workers)


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker that lives, and how many responses it runs."""

    name: str
    background_only: bool
    running: int


def workers() -> list[Worker]:
    """The workers that live now, by their names."""
    client: Any = blocking_client()
    known = sorted(raw.decode() for raw in client.smembers(names.WORKERS))
    pipeline = client.pipeline(transaction=False)
    for worker in known:
        pipeline.get(names.beat(worker)).scard(names.running(worker))
    replies = iter(pipeline.execute())
    found = [(worker, next(replies), next(replies)) for worker in known]
    return [
        Worker(worker, sign == _sign(background_only=True), running)
        for worker, sign, running in found
        if sign is not None
    ]


def _sign(background_only: bool) -> bytes:
    """What a worker's beat tells of it."""
    return b"background" if background_only else b"1"


async def register(client: "redis_asyncio.Redis", worker: str, *, background_only: bool = False) -> None:
    """Make the worker known, alive from now on. `background_only`: as for `beat`."""
    pipeline = client.pipeline(transaction=True)
    pipeline.set(names.beat(worker), _sign(background_only), px=_lease_milliseconds())
    pipeline.sadd(names.WORKERS, worker)
    pipeline.delete(names.lost(worker))
    await pipeline.execute()


def unregister(worker: str) -> None:
    """A worker that stops in order takes its name off the list."""
    pipeline = blocking_client().pipeline(transaction=True)
    pipeline.srem(names.WORKERS, worker)
    pipeline.delete(names.beat(worker))
    pipeline.execute()


def take_lost() -> Iterator[Lost]:
    """The responses of workers that stopped beating, taken over one by one as the caller comes to them.

    Each is handed out once: to one caller, who has four leases' time to end it before another may try.
    """
    client: Any = blocking_client()
    for raw in client.smembers(names.WORKERS):
        worker = raw.decode()
        if client.exists(names.beat(worker)):
            continue
        # Until the name is off the list below; a worker that only slept must not go on with what is taken from it.
        client.set(names.lost(worker), b"1", px=_lease_milliseconds() * 4)
        for raw_id in client.smembers(names.running(worker)):
            yield from _take_over(client, raw_id.decode(), worker)
        if not client.scard(names.running(worker)):
            client.srem(names.WORKERS, worker)


def _take_over(client: Any, response_id: str, worker: str) -> list[Lost]:
    envelope = client.eval(
        _TAKE_OVER,
        3,
        names.job(response_id),
        names.claim(response_id),
        names.running(worker),
        worker,
        REAPER,
        _lease_milliseconds() * 4,
        response_id,
    )
    if envelope:
        return [Lost(response_id, worker, envelope)]
    if not client.exists(names.job(response_id)):
        # It had ended, or expired: nothing is left to tell from.
        client.srem(names.running(worker), response_id)
    return []


def give_up(
    lost: Lost, last_words: bytes, *, inbox: str | None, keep_journal: bool, make_journal: bool = False
) -> None:
    """Publish the end of a lost response and forget it; a journal that stays gets its end, too, and with `make_journal`
    one that was not there yet.
    """
    pipeline = blocking_client().pipeline(transaction=False)
    if inbox is not None:
        pipeline.xadd(inbox, {lost.response_id: last_words}, nomkstream=True)
    if keep_journal:
        journal = names.journal(lost.response_id)
        pipeline.xadd(journal, {"m": last_words}, nomkstream=not make_journal)
        pipeline.expire(journal, settings.JOURNAL_SECONDS)
    release(pipeline, lost.response_id, lost.worker, keep_journal=keep_journal)
    pipeline.execute()


def wait_until_ended(response_id: str, seconds: float) -> bool:
    """Wait, in a thread, until the response has come to its end; False when it has not in so long a time."""
    client, ends_at = blocking_client(), time.monotonic() + seconds
    while client.exists(names.job(response_id)):
        if time.monotonic() > ends_at:
            return False
        time.sleep(_LOOK_SECONDS)
    return True


def discard(response_id: str, worker: str, *, keep_journal: bool = False) -> None:
    """Forget a response of which nothing can be told; who follows it finds out that it is gone."""
    pipeline = blocking_client().pipeline(transaction=False)
    release(pipeline, response_id, worker, keep_journal=keep_journal)
    pipeline.execute()
