"""ORM work for the event loop, and what is said while the database does not answer.

Connections come from the process's pool (`DATABASES` in the settings) and go back to it after each piece of work. A
pool that is used up makes its callers wait, then fail as a database that is away does: with 503, to be tried again.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Final, ParamSpec, TypeVar

import structlog
from django.conf import settings
from django.db import InterfaceError, OperationalError, close_old_connections

from responses_api.protocol.errors import ProtocolError, overloaded

log = structlog.get_logger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

UNANSWERED: Final = (OperationalError, InterfaceError)
"""What the ORM raises when the database is away, too slow, or has no free connection."""

_threads: Final = ThreadPoolExecutor(max_workers=8, thread_name_prefix="database")


async def in_database(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `function`, which may use the ORM, beside the event loop and return what it returns.

    Raises `ProtocolError` 503 `overloaded` where the database does not answer, and whatever `function` raises.
    """
    work = partial(_run, partial(function, *args, **kwargs), time.monotonic())
    return await asyncio.get_running_loop().run_in_executor(_threads, copy_context().run, work)


def lent(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `function` in a thread that has other things to do afterwards: its connection goes back at once.

    Raises whatever `function` raises.
    """
    try:
        return function(*args, **kwargs)
    finally:
        close_old_connections()


def unanswered(error: Exception) -> ProtocolError:
    """What a client reads of one of `UNANSWERED`; the log has the rest."""
    log.error("the database did not answer", error=str(error), cause=type(error.__cause__).__name__)
    return overloaded("The database does not answer at the moment; try again.")


def _run(function: Callable[[], T], asked_at: float) -> T:
    # Who waited for a thread as long as one may wait for a connection has waited enough.
    waited = time.monotonic() - asked_at
    if waited > settings.DATABASE_WAIT_SECONDS:
        raise unanswered(OperationalError(f"{waited:.0f} s in the queue for the database"))
    try:
        return lent(function)
    except UNANSWERED as error:
        raise unanswered(error) from error
