"""The process's writer: one thread that stores ended responses, all that wait in one transaction.

While a commit is under way the next ended responses gather; under load a commit thus serves many of them, alone each
is stored at once.
"""

import asyncio
import queue
import threading
import time
from typing import Final

import structlog
from django.db import InterfaceError, OperationalError, close_old_connections, connection

from responses_api.services.finish import Outcome, finish

log = structlog.get_logger(__name__)

_MOST_PER_TRANSACTION: Final = 64
_PAUSES_SECONDS: Final = (0.5, 1.0, 1.5)
_AWAY: Final = (OperationalError, InterfaceError)

_Entry = tuple[Outcome, "asyncio.Future[bool]"]


class Writer:
    """Stores outcomes for coroutines of `loop`."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._is_closed = False
        self._waiting: queue.SimpleQueue[_Entry | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    async def write(self, outcome: Outcome) -> bool:
        """Store `outcome`; False where somebody else had ended it. Raises the database's error when it stays away."""
        if self._is_closed:
            raise RuntimeError("the writer is closed; nothing can be stored any more")
        stored: asyncio.Future[bool] = self._loop.create_future()
        self._waiting.put((outcome, stored))
        return await stored

    def close(self) -> None:
        """Store what waits, then end the thread."""
        self._is_closed = True
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        while True:
            batch, is_last = self._gather()
            if batch:
                self._store(batch)
            if is_last:
                connection.close()
                return

    def _gather(self) -> tuple[list[_Entry], bool]:
        batch: list[_Entry] = []
        entry = self._waiting.get()
        while entry is not None:
            batch.append(entry)
            if len(batch) == _MOST_PER_TRANSACTION:
                return batch, False
            try:
                entry = self._waiting.get_nowait()
            except queue.Empty:
                return batch, False
        return batch, True

    def _store(self, batch: list[_Entry]) -> None:
        try:
            stored = self._finish([outcome for outcome, _ in batch])
        except _AWAY as error:
            # Nothing is wrong with these: the database is away, and stays away for each of them.
            self._loop.call_soon_threadsafe(_fail, batch, error)
        except Exception as error:
            if len(batch) == 1:
                self._loop.call_soon_threadsafe(_fail, batch, error)
                return
            # One that cannot be stored must not take the others with it.
            for entry in batch:
                self._store([entry])
        else:
            self._loop.call_soon_threadsafe(_resolve, batch, stored)

    def _finish(self, outcomes: list[Outcome]) -> set[str]:
        """Store, trying again for a while where the database is away."""
        for pause in _PAUSES_SECONDS:
            try:
                return _with_fresh_connection(outcomes)
            except _AWAY as error:
                log.warning("the database is away, trying again", error=type(error).__name__)
                time.sleep(pause)
        return _with_fresh_connection(outcomes)


def _with_fresh_connection(outcomes: list[Outcome]) -> set[str]:
    close_old_connections()
    try:
        return finish(outcomes)
    finally:
        close_old_connections()


def _resolve(batch: list[_Entry], stored: set[str]) -> None:
    for outcome, future in batch:
        if not future.done():
            future.set_result(outcome.job.response_id in stored)


def _fail(batch: list[_Entry], error: Exception) -> None:
    for _, future in batch:
        if not future.done():
            future.set_exception(error)
