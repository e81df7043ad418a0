"""Whose turn it is: jobs wait in Valkey, per queue and tenant, and a worker takes the next of the next tenant.

The broker carries tickets only: how many jobs a worker may take of a queue, not which. So a tenant with many jobs
waits behind every other one's next job, whatever order the tickets have. Taking and claiming are one step: a job waits,
or a worker holds it. Everything here expires with the jobs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from django.conf import settings

from responses_api.eventlog import bus, names
from responses_api.eventlog.connection import blocking_client

_MARGIN_SECONDS: Final = 30
_tenant_of: Final = itemgetter(0)
_MOST_LOOKED_AT: Final = 1000
"""Jobs that one call of the script passes over because nobody wants them any more: it holds Valkey up meanwhile."""

# Who waits already keeps the place; what has waited longer than its job is kept goes. The latest of the turns is last.
_QUEUE: Final = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - ARGV[1] * 1000000)
for i = 2, #ARGV - 1 do redis.call('ZADD', KEYS[2], 'NX', now + i, ARGV[i]) end
local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')[2] or 0
redis.call('ZADD', KEYS[1], 'NX', last + 1, ARGV[#ARGV])
redis.call('EXPIRE', KEYS[1], ARGV[1])
redis.call('EXPIRE', KEYS[2], ARGV[1])
"""

# Keys are made of ids here: which jobs and which tenants it will be is known only in the script.
_TAKE: Final = """
local turns, running = KEYS[1], KEYS[2]
local worker, seconds, count, most = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local of_tenant, of_job, of_claim, of_cancel = ARGV[5], ARGV[6], ARGV[7], ARGV[8]

local function claim(id)
  local job = redis.call('GET', of_job .. id)
  if not job then return false end
  if redis.call('EXISTS', of_cancel .. id) == 1 then
    redis.call('DEL', of_job .. id, of_cancel .. id)
    return false
  end
  if not redis.call('SET', of_claim .. id, worker, 'NX', 'EX', seconds) then return false end
  redis.call('EXPIRE', of_job .. id, seconds)
  redis.call('SADD', running, id)
  return job
end

local taken, looked = {}, 0
while #taken < 2 * count and looked < most do
  local tenant = redis.call('ZRANGE', turns, 0, 0)[1]
  if not tenant then break end
  local waiting, job = of_tenant .. tenant, false
  while not job and looked < most do
    local id = redis.call('ZPOPMIN', waiting)[1]
    if not id then break end
    looked = looked + 1
    job = claim(id)
    if job then
      taken[#taken + 1] = id
      taken[#taken + 1] = job
    end
  end
  if redis.call('EXISTS', waiting) == 0 then
    redis.call('ZREM', turns, tenant)
  elseif job then
    redis.call('ZADD', turns, redis.call('ZRANGE', turns, -1, -1, 'WITHSCORES')[2] + 1, tenant)
  end
end
return {looked >= most and 1 or 0, taken}
"""

_OVERDUE: Final = """
local time = redis.call('TIME')
local oldest, overdue = time[1] * 1000000 + time[2] - ARGV[1] * 1000000, 0
for _, tenant in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  overdue = overdue + redis.call('ZCOUNT', ARGV[2] .. tenant, '-inf', oldest)
end
return overdue
"""

_WAITING: Final = """
local time = redis.call('TIME')
local now, jobs, oldest = time[1] * 1000000 + time[2], 0, false
local tenants = redis.call('ZRANGE', KEYS[1], 0, -1)
for _, tenant in ipairs(tenants) do
  jobs = jobs + redis.call('ZCARD', ARGV[1] .. tenant)
  local first = redis.call('ZRANGE', ARGV[1] .. tenant, 0, 0, 'WITHSCORES')[2]
  if first and (not oldest or tonumber(first) < oldest) then oldest = tonumber(first) end
end
return {jobs, #tenants, oldest and math.floor((now - oldest) / 1000) or false}
"""


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits in a queue: jobs of so many tenants, the oldest for so long; None where none does."""

    jobs: int
    tenants: int
    oldest_seconds: float | None


Offered = tuple[str, str, bytes]
"""A job that is to wait: its tenant's id, its response's id, and its bytes."""


def background_seconds() -> int:
    """How long what is kept of a background response may have to wait for its end."""
    seconds = settings.BACKGROUND_QUEUE_SECONDS + settings.RESPONSE_SECONDS + settings.JOURNAL_SECONDS
    return int(seconds + _MARGIN_SECONDS)


def _live_seconds() -> int:
    return int(settings.QUEUE_SECONDS + _MARGIN_SECONDS)


def _claim_seconds() -> int:
    return int(settings.RESPONSE_SECONDS + settings.QUEUE_SECONDS)


def offer(queue_name: str, jobs: Sequence[Offered], /) -> None:
    """Let jobs that clients wait for wait in this queue. One that nobody takes expires, with its content."""
    pipeline = blocking_client().pipeline(transaction=False)
    for _, response_id, envelope in jobs:
        pipeline.set(names.job(response_id), envelope, ex=_live_seconds())
    for tenant_id, group in groupby(sorted(jobs, key=_tenant_of), key=_tenant_of):
        _queue(pipeline, queue_name, tenant_id, [response_id for _, response_id, _ in group], _live_seconds())
    pipeline.execute()


def take_back(response_ids: Sequence[str], /) -> None:
    """Nobody shall work on these: who asked for them is told that nobody does."""
    for response_id in response_ids:
        bus.withdraw(response_id)


def offer_background(queue_name: str, job: Offered, prelude: bytes) -> None:
    """Let a background job wait in this queue, and begin its journal with the message `prelude`."""
    tenant_id, response_id, envelope = job
    pipeline = blocking_client().pipeline(transaction=True)
    pipeline.set(names.job(response_id), envelope, ex=background_seconds())
    pipeline.xadd(names.journal(response_id), {"m": prelude})
    pipeline.expire(names.journal(response_id), background_seconds())
    queue_background(pipeline, queue_name, tenant_id, response_id)
    pipeline.execute()


def queue_background(client: Any, queue_name: str, tenant_id: str, response_id: str) -> None:
    """Let a background job that is there already wait in this queue; one that does so keeps its place. `client` may be
    a pipeline.
    """
    _queue(client, queue_name, tenant_id, [response_id], background_seconds())


def _queue(client: Any, queue_name: str, tenant_id: str, response_ids: Sequence[str], seconds: int) -> None:
    keys = (names.turns(queue_name), names.waiting(queue_name, tenant_id))
    client.eval(_QUEUE, len(keys), *keys, seconds, *response_ids, tenant_id)


def take(queue_name: str, count: int, worker: str) -> list[tuple[str, bytes]]:
    """Claim, for `worker`, up to `count` jobs of this queue, one of each tenant in turn; returns their ids and bytes.

    Passed over are jobs that were cancelled while they waited, that expired, or that somebody holds already.
    """
    client: Any = blocking_client()
    keys = (names.turns(queue_name), names.running(worker))
    prefixes = (names.waiting(queue_name, ""), names.job(""), names.claim(""), names.cancel(""))
    taken: list[tuple[str, bytes]] = []
    is_more = True
    while is_more and len(taken) < count:
        wanted = count - len(taken)
        given = (worker, _claim_seconds(), wanted, _MOST_LOOKED_AT, *prefixes)
        is_more, found = client.eval(_TAKE, len(keys), *keys, *given)
        taken += [(raw_id.decode(), job) for raw_id, job in zip(found[::2], found[1::2], strict=True)]
    return taken


def are_waiting(queue_name: str, responses: Sequence[tuple[str, str]]) -> list[bool]:
    """Whether these, given by tenant and id, wait in this queue: then a worker comes to them in their turn."""
    pipeline = blocking_client().pipeline(transaction=False)
    for tenant_id, response_id in responses:
        pipeline.zscore(names.waiting(queue_name, tenant_id), response_id)
    return [since is not None for since in pipeline.execute()]


def overdue(queue_name: str, seconds: float) -> int:
    """How many jobs have waited in this queue for longer than that. Some of them nobody may want any more."""
    client: Any = blocking_client()
    found: int = client.eval(_OVERDUE, 1, names.turns(queue_name), seconds, names.waiting(queue_name, ""))
    return found


def waiting(queue_name: str) -> Waiting:
    """What waits in this queue now."""
    client: Any = blocking_client()
    jobs, tenants, oldest = client.eval(_WAITING, 1, names.turns(queue_name), names.waiting(queue_name, ""))
    return Waiting(jobs, tenants, None if oldest is None else max(0.0, oldest / 1000))
