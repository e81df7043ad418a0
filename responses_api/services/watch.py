"""What every web process keeps an eye on: lost workers, changed keys, and what it remembers."""

import asyncio
from typing import Final

from django.conf import settings

from responses_api.eventlog import bus
from responses_api.eventlog.connection import asyncio_client
from responses_api.eventlog.lasting import run_for_ever
from responses_api.recent import recent_contexts
from responses_api.services import presence
from responses_api.services.database import in_database
from responses_api.services.reap import reap
from responses_api.services.rescue import rescue
from responses_api.services.sweep import sweep
from tenants import keys, last_use

_TIDY_SECONDS: Final = 60.0
_USES_SECONDS: Final = 5.0
_tasks: Final[list["asyncio.Task[None]"]] = []


def start_watching() -> None:
    """Start the process's watchers, once; needs the running loop that they live on."""
    if not _tasks:
        _tasks.append(run_for_ever("reaper", _reap_lost_workers))
        _tasks.append(run_for_ever("bus", _hear_the_bus))
        _tasks.append(run_for_ever("contexts", _forget_unused_contexts))
        _tasks.append(run_for_ever("presence", presence.keep_watch))
        _tasks.append(run_for_ever("uses of keys", _write_uses_of_keys))


async def _reap_lost_workers() -> None:
    while True:
        await asyncio.sleep(settings.LEASE_SECONDS / 4)
        await in_database(reap)
        await in_database(rescue)
        await in_database(sweep)


async def _hear_the_bus() -> None:
    await bus.listen(
        asyncio_client(), on_access=_forget_keys, on_deleted=_forget_context, on_subscribed=_forget_all
    )


def _forget_context(tenant_id: str, root_id: str) -> None:
    recent_contexts.forget((tenant_id, root_id))


def _forget_keys() -> None:
    keys.forget()
    presence.look_again()


def _forget_all() -> None:
    _forget_keys()
    recent_contexts.clear()


async def _forget_unused_contexts() -> None:
    while True:
        await asyncio.sleep(_TIDY_SECONDS)
        recent_contexts.forget_unused()


async def _write_uses_of_keys() -> None:
    while True:
        await asyncio.sleep(_USES_SECONDS)
        if last_use.has_uses():
            await in_database(last_use.write_uses)
