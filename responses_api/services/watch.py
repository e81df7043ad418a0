"""What every web process keeps an eye on: lost workers, and changed keys."""

import asyncio
from typing import Final

import structlog
from django.conf import settings

from responses_api.eventlog import bus
from responses_api.eventlog.connection import asyncio_client
from responses_api.services.database import in_database
from responses_api.services.reap import reap
from tenants import keys

log = structlog.get_logger(__name__)

_tasks: Final[list["asyncio.Task[None]"]] = []


def start_watching() -> None:
    """Start the process's watchers, once."""
    if not _tasks:
        _tasks.append(asyncio.create_task(_reap_lost_workers(), name="reaper"))
        _tasks.append(asyncio.create_task(bus.listen(asyncio_client(), on_access=keys.forget), name="bus"))


async def _reap_lost_workers() -> None:
    while True:
        await asyncio.sleep(settings.LEASE_SECONDS / 4)
        try:
            await in_database(reap)
        except Exception:
            log.exception("reaping failed, trying again")
