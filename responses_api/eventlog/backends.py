"""What workers tell each other of backends: whose breaker is open, and which one serves a response.

A breaker is a hash that is there while its backend is in doubt. `BREAKER_FAILURES` in a row, within `BREAKER_SECONDS`,
open it for as long. Then it is half open: one request at a time is let through, until one was answered, which closes
it, or failed, which opens it again. It only orders: where there is nothing else, a backend is asked whatever its
breaker says. Valkey that does not answer is no reason to wait: then all backends are taken to be well.
"""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

import redis.asyncio as redis_asyncio
import structlog
from django.conf import settings
from redis.exceptions import RedisError

from responses_api.eventlog import names
from responses_api.eventlog.connection import blocking_client
from responses_api.eventlog.turns import background_seconds

log = structlog.get_logger(__name__)

T = TypeVar("T")

Standing = Literal["closed", "doubtful", "half_open", "open"]
"""How a breaker stands for a request: `doubtful` is closed, after a failure; `half_open` lets this request through."""

_VALKEY_SECONDS: Final = 1.0
_LONGEST_OPEN_SECONDS: Final = 600.0
_KEPT_OPEN_SECONDS: Final = 3600.0
"""How long an open breaker is kept that nobody asks about any more."""

# Only who would ask a half open backend next may try it: where one before it is well, its turn does not come.
_LOOK: Final = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local is_served, found = false, {}
for i, key in ipairs(KEYS) do
  local ends, probed, failures = unpack(redis.call('HMGET', key, 'until', 'probe', 'failures'))
  if not ends then
    found[i] = failures and 'doubtful' or 'closed'
    is_served = true
  elseif not is_served and tonumber(ends) <= now and tonumber(probed or 0) <= now then
    redis.call('HSET', key, 'probe', now + ARGV[1])
    found[i] = 'half_open'
    is_served = true
  else
    found[i] = 'open'
  end
end
return found
"""

# A failure while it is open says nothing new: whatever was asked before comes in late.
_FAILED: Final = """
local most, within, open, kept = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ends, failures, since = unpack(redis.call('HMGET', KEYS[1], 'until', 'failures', 'since'))
if ends and tonumber(ends) > now then return 0 end
if not ends then
  if not since or now - since >= within then failures, since = 0, now end
  if failures + 1 < most then
    redis.call('HSET', KEYS[1], 'failures', failures + 1, 'since', since)
    redis.call('PEXPIRE', KEYS[1], within)
    return 0
  end
end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'until', now + open)
redis.call('PEXPIRE', KEYS[1], open + kept)
return 1
"""

_SUCCEEDED: Final = """
local was_open = redis.call('HEXISTS', KEYS[1], 'until')
redis.call('DEL', KEYS[1])
return was_open
"""


class Backends:
    """A worker's view of all backends, by name; none of its calls raises or takes long."""

    def __init__(self, client: "redis_asyncio.Redis") -> None:
        self._client: Any = client
        self._look = client.register_script(_LOOK)
        self._failed = client.register_script(_FAILED)
        self._succeeded = client.register_script(_SUCCEEDED)

    async def look(self, in_order: Sequence[str]) -> dict[str, Standing]:
        """How these stand for a request that asks them in this order. Who is told that one is `half_open` tries it now
        and tells what came of it, or that it was not tried (`released`).
        """
        keys = [names.breaker(name) for name in in_order]
        found = await _soon(self._look(keys=keys, args=[_breaker_milliseconds()]))
        return {name: state.decode() for name, state in zip(in_order, found or [], strict=False)}

    async def failed(self, name: str, retry_after: float | None = None) -> None:
        """It gave no answer. `retry_after`: for how many seconds it said that it would give none."""
        open_for = (
            settings.BREAKER_SECONDS if retry_after is None else min(retry_after, _LONGEST_OPEN_SECONDS)
        )
        milliseconds = max(1, int(open_for * 1000))
        arguments = [
            settings.BREAKER_FAILURES,
            _breaker_milliseconds(),
            milliseconds,
            int(_KEPT_OPEN_SECONDS * 1000),
        ]
        if await _soon(self._failed(keys=[names.breaker(name)], args=arguments)):
            log.warning("a backend's breaker has opened", backend=name, seconds=milliseconds / 1000)

    async def succeeded(self, name: str) -> None:
        """It has begun to answer."""
        if await _soon(self._succeeded(keys=[names.breaker(name)])):
            log.info("a backend's breaker has closed", backend=name)

    async def released(self, name: str) -> None:
        """It was half open and was not tried: others may."""
        await _soon(self._client.hdel(names.breaker(name), "probe"))

    async def serves(self, response_id: str, name: str) -> None:
        """The backend of this name answers the response, and not the one that its job names."""
        await _soon(self._client.set(names.served(response_id), name, ex=background_seconds()))


def server_of(response_id: str) -> str | None:
    """The backend that answers the response, where it is not the one that its job names. Blocks: for threads."""
    client: Any = blocking_client()
    name = client.get(names.served(response_id))
    return None if name is None else name.decode()


@dataclass(frozen=True, slots=True)
class BreakerState:
    """How a breaker stands; `seconds` is how long it stays open."""

    standing: Standing
    seconds: float = 0.0

    def __str__(self) -> str:
        return _WORDS[self.standing].format(max(1, round(self.seconds)))


_WORDS: Final[dict[Standing, str]] = {
    "closed": "closed",
    "doubtful": "closed, after a failure",
    "open": "open for {} s",
    "half_open": "half open: the next request tries it",
}


def breakers(backends: Sequence[str]) -> dict[str, BreakerState]:
    """How the breakers of these backends stand now. Blocks: for threads. Raises RedisError or OSError."""
    client: Any = blocking_client()
    pipeline = client.pipeline(transaction=False)
    pipeline.time()
    for name in backends:
        pipeline.hmget(names.breaker(name), "until", "failures")
    (seconds, microseconds), *found = pipeline.execute()
    now = seconds + microseconds / 1_000_000
    return {name: _state(fields, now) for name, fields in zip(backends, found, strict=True)}


def _state(fields: Sequence[bytes | None], now: float) -> BreakerState:
    ends, failures = fields
    if ends is None:
        return BreakerState("doubtful" if failures else "closed")
    left = int(ends) / 1000 - now
    return BreakerState("open", left) if left > 0 else BreakerState("half_open")


def _breaker_milliseconds() -> int:
    return max(1, int(settings.BREAKER_SECONDS * 1000))


async def _soon(reply: Awaitable[T]) -> T | None:
    """What Valkey answers; None where it does not in time."""
    try:
        async with asyncio.timeout(_VALKEY_SECONDS):
            return await reply
    except (RedisError, OSError) as error:  # a TimeoutError is one, too
        log.warning("Valkey does not tell of backends", error=type(error).__name__)
        return None
