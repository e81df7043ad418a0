"""The bus: one channel that every process hears, for what must not wait: a cancel, a changed key."""

import asyncio
from collections.abc import Callable, Collection
from typing import Any, Final

import redis.asyncio as redis_asyncio
import structlog
from redis.exceptions import RedisError

from responses_api.eventlog import names
from responses_api.eventlog.connection import blocking_client

log = structlog.get_logger(__name__)

ACCESS: Final = b"access"
_CANCEL: Final = b"cancel "
_STOP: Final = b"stop "
_DELETED: Final = b"deleted "
_CANCEL_SECONDS: Final = 300
_RETRY_SECONDS: Final = 0.5
_POLL_SECONDS: Final = 5


# A job that nobody has claimed is gone at once, with its content. The mark stays: the job may be on its way still.
_WITHDRAW: Final = """
redis.call('SET', KEYS[1], '1', 'EX', ARGV[2])
local holder = redis.call('GET', KEYS[2])
if holder then
  redis.call('PUBLISH', KEYS[4], ARGV[1])
else
  redis.call('DEL', KEYS[3])
end
return holder
"""


async def cancel(client: Any, response_id: str) -> bool:
    """Nobody wants the response any more: withdraw its job, or tell the worker that has claimed it; whether one has."""
    return bool(await client.eval(_WITHDRAW, *_withdrawal(response_id)))


async def stop(client: Any, response_id: str, why: str) -> None:
    """Who asked for the response is being stopped, or may ask no more: ask its worker to end it now, as failed.

    `why` is one word, which those who hear it know.
    """
    await client.publish(names.BUS, _STOP + f"{response_id} {why}".encode())


def withdraw(response_id: str) -> str | None:
    """As `cancel`, for threads; returns the name of the worker that has claimed the job, if one has."""
    client: Any = blocking_client()
    holder = client.eval(_WITHDRAW, *_withdrawal(response_id))
    return holder.decode() if holder else None


def is_cancelled(response_id: str) -> bool:
    """Whether the response was cancelled a short while ago."""
    return bool(blocking_client().exists(names.cancel(response_id)))


def _withdrawal(response_id: str) -> tuple[Any, ...]:
    keys = [names.cancel(response_id), names.claim(response_id), names.job(response_id), names.BUS]
    return len(keys), *keys, _CANCEL + response_id.encode(), _CANCEL_SECONDS


def announce_access_change(**_: Any) -> None:
    """Tell every process that keys or tenants have changed.

    Where Valkey is away the caches find out by themselves within `ANTIPHON_CACHE_SECONDS`; the log says so.
    """
    try:
        blocking_client().publish(names.BUS, ACCESS)
    except (RedisError, OSError) as error:
        log.warning(
            "a change of access could not be announced; caches expire by themselves", error=repr(error)
        )


def announce_deletion(tenant_id: str, root_id: str) -> None:
    """Tell every process that something of the chain that begins with `root_id` was deleted.

    Where Valkey is away their copies are found to be old when they are next asked for, or expire; the log says so.
    """
    announce_deletions(tenant_id, [root_id])


def announce_deletions(tenant_id: str, root_ids: Collection[str]) -> None:
    """As `announce_deletion`, of many chains at once."""
    if not root_ids:
        return
    try:
        pipeline = blocking_client().pipeline(transaction=False)
        for root_id in root_ids:
            pipeline.publish(names.BUS, _DELETED + f"{tenant_id} {root_id}".encode())
        pipeline.execute()
    except (RedisError, OSError) as error:
        log.warning("deletions could not be announced; copies expire by themselves", error=repr(error))


async def listen(
    client: "redis_asyncio.Redis",
    *,
    on_cancel: Callable[[str], None] | None = None,
    on_stop: Callable[[str, str], None] | None = None,
    on_access: Callable[[], None] | None = None,
    on_deleted: Callable[[str, str], None] | None = None,
    on_subscribed: Callable[[], None] | None = None,
) -> None:
    """Hear the bus until cancelled, through lost connections.

    `on_subscribed` is called whenever hearing begins (again): words may have been missed before.
    """
    while True:
        try:
            async with client.pubsub() as channel:
                await channel.subscribe(names.BUS)
                while True:
                    message = await channel.get_message(timeout=_POLL_SECONDS)
                    if message is not None:
                        _hear(message, on_cancel, on_stop, on_access, on_deleted, on_subscribed)
        except (RedisError, OSError) as error:
            log.warning("the event bus is away, trying again", error=type(error).__name__)
            await asyncio.sleep(_RETRY_SECONDS)


def _hear(
    message: Any,
    on_cancel: Callable[[str], None] | None,
    on_stop: Callable[[str, str], None] | None,
    on_access: Callable[[], None] | None,
    on_deleted: Callable[[str, str], None] | None,
    on_subscribed: Callable[[], None] | None,
) -> None:
    if message["type"] == "subscribe":
        if on_subscribed is not None:
            on_subscribed()
        return
    data: bytes = message["data"]
    if data.startswith(_CANCEL) and on_cancel is not None:
        on_cancel(data.removeprefix(_CANCEL).decode())
    elif data.startswith(_STOP) and on_stop is not None:
        response_id, _, why = data.removeprefix(_STOP).decode().partition(" ")
        on_stop(response_id, why)
    elif data == ACCESS and on_access is not None:
        on_access()
    elif data.startswith(_DELETED) and on_deleted is not None:
        tenant_id, _, root_id = data.removeprefix(_DELETED).decode().partition(" ")
        on_deleted(tenant_id, root_id)
