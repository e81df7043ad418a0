"""Who reads files in this process: few at once, so that the slots of a worker are there for responses.

A ticket says that something waits. Where as many readers as there may be are at work already, it has done its duty:
they go on until nothing waits any more, and whoever is about to end looks once more. No tenant has all of them: a long
file takes minutes.
"""

import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import structlog

from responses_api.services import indexing
from responses_api.services.database import lent
from workers.indexing.errors import Interrupted
from workers.indexing.whole import index

log = structlog.get_logger(__name__)

_AT_ONCE: Final = 4
_OF_ONE_TENANT: Final = 2
"""One slow file must not stop all others of its tenant; more would only share the same processor."""
_readers: Final = threading.BoundedSemaphore(_AT_ONCE)
_missed: Final = threading.Event()
"""A ticket came while all readers were at work; some of them may have looked for the last time just before."""
_taking: Final = threading.Lock()
_reading: Final[Counter[uuid.UUID]] = Counter()
"""How many readers each tenant has, if any."""


def read_files(is_ending: Callable[[], bool]) -> None:
    """Read what waits, tenant by tenant in turn, until nothing does or the worker is to end."""
    while not is_ending() and _begin():
        try:
            _read_all(is_ending)
        finally:
            _readers.release()
        if not _missed.is_set():
            return


def _begin() -> bool:
    """Be one of the readers, if there is room: what a ticket missed is seen to by whoever begins after it, or ends."""
    is_free = _readers.acquire(blocking=False)
    if not is_free:
        _missed.set()
        is_free = _readers.acquire(blocking=False)  # of one that ended before it could see that
    if is_free:
        _missed.clear()
    return is_free


def _read_all(is_ending: Callable[[], bool]) -> None:
    after = None
    while not is_ending() and (waiting := _take(after)) is not None:
        with _counted(waiting.tenant_id):
            lent(_read, waiting, is_ending)
        after = waiting.tenant_id


def _take(after: uuid.UUID | None) -> indexing.Waiting | None:
    """The next file of a tenant that has not as many readers as it may have; it has one more from here on."""
    with _taking:
        served = [tenant_id for tenant_id, count in _reading.items() if count >= _OF_ONE_TENANT]
        waiting = lent(indexing.take_next, after, served)
        if waiting is not None:
            _reading[waiting.tenant_id] += 1
    return waiting


@contextmanager
def _counted(tenant_id: uuid.UUID) -> Iterator[None]:
    try:
        yield
    finally:
        with _taking:
            _reading[tenant_id] -= 1
            if not _reading[tenant_id]:
                del _reading[tenant_id]


def _read(waiting: indexing.Waiting, is_ending: Callable[[], bool]) -> None:
    """Read one file. One that could not be, by no fault of its own, waits until its time is over, for another try."""
    try:
        index(waiting.tenant_id, waiting.file_id, is_ending)
    except Interrupted:
        indexing.let_go(waiting)
    except Exception:
        log.exception("a file could not be read", file_id=waiting.file_id, tenant_id=str(waiting.tenant_id))
