"""The bus: one channel that every process hears, for what must not wait: a cancel, a changed key."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

import redis.asyncio as redis_asyncio
import structlog
from redis.exceptions import RedisError

from responses_api.eventlog import names
from responses_api.eventlog.connection import blocking_client

log = structlog.get_logger(__name__)

ACCESS: Final = b"access"
_CANCEL: Final = b"cancel "
_CANCEL_SECONDS: Final = 300
_RETRY_SECONDS: Final = 0.5


async def cancel(client: "redis_asyncio.Redis", response_id: str) -> None:
    """Tell whoever runs the response, now or later, that nobody wants it any more."""
    pipeline = client.pipeline(transaction=False)
    pipeline.set(names.cancel(response_id), b"1", ex=_CANCEL_SECONDS)
    pipeline.publish(names.BUS, _CANCEL + response_id.encode())
    await pipeline.execute()


def announce_access_change(**_: Any) -> None:
    """Tell every process that keys or tenants have changed.

    Where Valkey is away the caches find out by themselves within `ANTIPHON_CACHE_SECONDS`; the log says so.
    """
    try:
        blocking_client().publish(names.BUS, ACCESS)
    except RedisError as error:
        log.warning(
            "a change of access could not be announced; caches expire by themselves", error=repr(error)
        )


async def listen(
    client: "redis_asyncio.Redis",
    *,
    on_cancel: Callable[[str], None] | None = None,
    on_access: Callable[[], None] | None = None,
) -> None:
    """Hear the bus until cancelled, through lost connections."""
    while True:
        try:
            async with client.pubsub(ignore_subscribe_messages=True) as channel:
                await channel.subscribe(names.BUS)
                await _hear(channel, on_cancel, on_access)
        except RedisError as error:
            log.warning("the event bus is away, trying again", error=type(error).__name__)
            await asyncio.sleep(_RETRY_SECONDS)


async def _hear(
    channel: Any, on_cancel: Callable[[str], None] | None, on_access: Callable[[], None] | None
) -> None:
    while True:
        message = await channel.get_message(timeout=5)
        if message is None:
            continue
        data: bytes = message["data"]
        if data.startswith(_CANCEL) and on_cancel is not None:
            on_cancel(data.removeprefix(_CANCEL).decode())
        elif data == ACCESS and on_access is not None:
            on_access()
