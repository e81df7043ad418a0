"""Who reads files in this process: few at once, so that the slots of a worker are there for responses.

A ticket says that something waits. Where as many readers as there may be are at work already, it has done its duty:
they go on until nothing waits any more.
"""

import threading
from collections.abc import Callable
from typing import Final

import structlog

from responses_api.services import indexing
from responses_api.services.database import lent
from workers.indexing.whole import index

log = structlog.get_logger(__name__)

_AT_ONCE: Final = 2
"""One slow file must not stop all others; more would only share the same processor."""
_readers: Final = threading.BoundedSemaphore(_AT_ONCE)


def read_files(is_ending: Callable[[], bool]) -> None:
    """Read what waits, tenant by tenant in turn, until nothing does or the worker is to end."""
    if not _readers.acquire(blocking=False):
        return
    try:
        after = None
        while not is_ending() and (waiting := lent(indexing.take_next, after)) is not None:
            lent(_read, waiting)
            after = waiting.tenant_id
    finally:
        _readers.release()


def _read(waiting: indexing.Waiting) -> None:
    """Read one file. One that could not be, by no fault of its own, waits until its time is over, for another try."""
    try:
        index(waiting.tenant_id, waiting.file_id)
    except Exception:
        log.exception("a file could not be read", file_id=waiting.file_id, tenant_id=str(waiting.tenant_id))
