"""Connections to Valkey: one blocking client for threads, and asyncio clients for the two event loops."""

from functools import cache
from typing import Any

import redis
import redis.asyncio as redis_asyncio
from django.conf import settings

# A server that does not answer must not hold a request for ever; blocking reads ask for less than this.
_SOCKET_SECONDS = 10


@cache
def blocking_client() -> "redis.Redis":
    """The process's client for threads (its pool is thread-safe)."""
    return redis.Redis.from_url(
        settings.VALKEY_URL,
        socket_timeout=_SOCKET_SECONDS,
        socket_connect_timeout=4,
        health_check_interval=25,
    )


def asyncio_client(**options: Any) -> "redis_asyncio.Redis":
    """A client for the running event loop. Its pool waits for a free connection instead of raising when it is full."""
    pool = redis_asyncio.BlockingConnectionPool.from_url(
        settings.VALKEY_URL,
        max_connections=16,
        timeout=_SOCKET_SECONDS,
        socket_timeout=_SOCKET_SECONDS,
        socket_connect_timeout=4,
        health_check_interval=25,
        **options,
    )
    return redis_asyncio.Redis.from_pool(pool)
