"""Being the only one: a lock over all processes that whoever dies gives back by itself."""

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import structlog
from redis.exceptions import RedisError

from responses_api.eventlog.connection import blocking_client

log = structlog.get_logger(__name__)

_SECONDS: Final = 30.0
_RENEW: Final = """
if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end
return 0
"""
_GIVE_BACK: Final = """
if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end
return 0
"""


class Taken(Exception):
    """Another one is at it."""


def is_taken(name: str) -> bool:
    """Whether somebody holds the lock now. Raises RedisError, OSError."""
    return bool(blocking_client().exists(name))


@contextmanager
def alone(name: str, seconds: float = _SECONDS) -> Iterator[Callable[[], bool]]:
    """Hold the lock `name`; a thread renews it while the block runs. Gives what says whether it is still held: who was
    cut off from Valkey for as long as the lock lasts is no longer alone.

    Raises `Taken`, RedisError, OSError.
    """
    client, token, milliseconds = blocking_client(), uuid.uuid4().hex, int(seconds * 1000)
    if not client.set(name, token, nx=True, px=milliseconds):
        raise Taken
    is_over, is_lost = threading.Event(), threading.Event()

    def renew() -> None:
        while not is_over.wait(seconds / 3):
            try:
                if not client.eval(_RENEW, 1, name, token, milliseconds):
                    is_lost.set()
                    return
            except (RedisError, OSError) as error:
                log.warning("a lock could not be renewed", lock=name, error=type(error).__name__)

    renewing = threading.Thread(target=renew, name=f"renews {name}", daemon=True)
    renewing.start()
    try:
        yield lambda: not is_lost.is_set()
    finally:
        is_over.set()
        renewing.join()
        try:
            client.eval(_GIVE_BACK, 1, name, token)
        except (RedisError, OSError) as error:
            log.warning("a lock could not be given back", lock=name, error=type(error).__name__)
