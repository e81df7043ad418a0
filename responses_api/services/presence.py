"""Who is here: open connections and running answers, each of which ends when its key does.

A key ends by a revoke, by its time, or with its tenant. A change is told on the bus (`watch.py`), and each process then
asks the database once for the keys of everybody who is here; the time that a key has is a timer. Where a word was lost
the look that comes every `ANTIPHON_CACHE_SECONDS` finds it.
"""

import asyncio
import contextlib
import time
import uuid
from types import TracebackType
from typing import Final, Self

import structlog
from django.conf import settings

from responses_api.protocol.errors import ProtocolError
from responses_api.services.access import Scope, Visitor, authenticate
from responses_api.services.database import in_database
from responses_api.services.faults import KEY_ENDED
from tenants.keys import Principal, still_working

log = structlog.get_logger(__name__)

_RETRY_SECONDS: Final = 0.5
_LONGEST_TIMER_SECONDS: Final = 86_400.0

_here: Final[set["Stay"]] = set()
_changes = 0
_changed: asyncio.Event | None = None


class Stay:
    """One connection or answer, from its key's recognition to its end; `over` is set when its key ends before it."""

    def __init__(self, principal: Principal) -> None:
        self.principal = principal
        self.over: asyncio.Future[ProtocolError] = asyncio.get_running_loop().create_future()
        self._timer: asyncio.TimerHandle | None = None
        _here.add(self)
        self.lasts_until(principal.expires_at)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.leave()

    @property
    def key_id(self) -> uuid.UUID:
        """The key that it stands and falls with."""
        return self.principal.key_id

    def lasts_until(self, expires_at: float | None) -> None:
        """The key expires then, in unix seconds; None: it does not."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if expires_at is not None:
            left = expires_at - time.time()
            if left <= 0:
                self.end()
            else:
                wait = min(left, _LONGEST_TIMER_SECONDS)
                self._timer = asyncio.get_running_loop().call_later(wait, self.lasts_until, expires_at)

    def end(self) -> None:
        """The key is no longer valid."""
        if not self.over.done():
            log.info("a key has ended while it was in use", key_id=str(self.key_id))
            self.over.set_result(KEY_ENDED)

    def check(self) -> None:
        """Raises the key's end, where it has come."""
        if self.over.done():
            raise self.over.result().anew()

    def leave(self) -> None:
        """It has come to its own end."""
        _here.discard(self)
        self.lasts_until(None)


async def enter(visitor: Visitor, scope: Scope) -> Stay:
    """Admit a visitor who stays, as `authenticate` does. Leave whatever happens. Raises `ProtocolError` 401 or 403."""
    before = _changes
    stay = Stay(await authenticate(visitor, scope))
    if before != _changes:
        look_again()  # what has changed meanwhile was asked for before this one was here
    return stay


def look_again() -> None:
    """Keys or tenants have changed, or may have: see who may stay."""
    global _changes
    _changes += 1
    if _changed is not None:
        _changed.set()


async def keep_watch() -> None:
    """End what may not stay, whenever something has changed and now and then, until cancelled."""
    global _changed
    _changed = asyncio.Event()
    while True:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(_changed.wait(), settings.CACHE_SECONDS)
        _changed.clear()
        if _here and not await _look():
            await asyncio.sleep(_RETRY_SECONDS)
            _changed.set()


async def _look() -> bool:
    """Ask for the keys of everybody who is here; False where the database does not answer."""
    staying = list(_here)
    try:
        working = await in_database(still_working, {stay.key_id for stay in staying})
    except ProtocolError:
        return False
    for stay in staying:
        if stay not in _here:
            continue
        if stay.key_id in working:
            stay.lasts_until(working[stay.key_id])
        else:
            stay.end()
    return True
