"""What every web process keeps an eye on: lost workers, changed keys, and what it remembers."""

import asyncio
from typing import Final

from django.conf import settings

from responses_api.eventlog import bus
from responses_api.eventlog.connection import asyncio_client
from responses_api.eventlog.lasting import run_for_ever
from responses_api.recent import recent_contexts
from responses_api.services.database import in_database
from responses_api.services.reap import reap
from responses_api.services.rescue import rescue
from tenants import keys

_TIDY_SECONDS: Final = 60.0
_tasks: Final[list["asyncio.Task[None]"]] = []


def start_watching() -> None:
    """Start the process's watchers, once; needs the running loop that they live on."""
    if not _tasks:
        _tasks.append(run_for_ever("reaper", _reap_lost_workers))
        _tasks.append(run_for_ever("bus", _hear_the_bus))
        _tasks.append(run_for_ever("contexts", _forget_unused_contexts))


async def _reap_lost_workers() -> None:
    while True:
        await asyncio.sleep(settings.LEASE_SECONDS / 4)
        await in_database(reap)
        await in_database(rescue)


async def _hear_the_bus() -> None:
    await bus.listen(
        asyncio_client(), on_access=keys.forget, on_deleted=_forget_context, on_subscribed=_forget_all
    )


def _forget_context(tenant_id: str, root_id: str) -> None:
    recent_contexts.forget((tenant_id, root_id))


def _forget_all() -> None:
    keys.forget()
    recent_contexts.clear()


async def _forget_unused_contexts() -> None:
    while True:
        await asyncio.sleep(_TIDY_SECONDS)
        recent_contexts.forget_unused()
