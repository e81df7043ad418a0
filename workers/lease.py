"""The worker's lease: one name in Valkey that lives while the worker's loop does, and the looks that go with it."""

import asyncio
import os
import socket
import uuid
from collections.abc import Mapping
from typing import Final

import redis.asyncio as redis_asyncio
import structlog
from celery import current_app
from django.conf import settings
from redis.exceptions import RedisError

from responses_api.dispatch import BACKGROUND_QUEUE
from responses_api.eventlog import claims
from responses_api.eventlog.publish import missing_inboxes
from workers.errand import Errand
from workers.generation import Generation

log = structlog.get_logger(__name__)

_RETRY_SECONDS: Final = 1


class Lease:
    """Keeps the worker known as alive, and finds out at each beat what words on the bus may have missed."""

    def __init__(self, client: "redis_asyncio.Redis", running: Mapping[str, Generation | Errand]) -> None:
        self.worker = _new_name()
        self._client = client
        self._background_only = _takes_background_alone()
        self._running = running
        self._missing: set[str] = set()
        self._look = asyncio.Event()

    async def register(self) -> None:
        """Make the worker known, however long Valkey takes to answer."""
        while True:
            try:
                await claims.register(self._client, self.worker, background_only=self._background_only)
            except (RedisError, OSError) as error:
                log.warning("Valkey does not answer, trying again", error=type(error).__name__)
                await asyncio.sleep(_RETRY_SECONDS)
            else:
                return

    def look_at_once(self) -> None:
        """Do not wait for the next beat: something may have been missed."""
        self._look.set()

    async def keep(self) -> None:
        """Renew the lease, four times in its length, until cancelled."""
        while True:
            await self._pause(settings.LEASE_SECONDS / 4)
            try:
                await self._beat()
            except (RedisError, OSError) as error:
                log.warning("the lease could not be renewed, trying again", error=type(error).__name__)

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._look.wait()
        except TimeoutError:
            return
        self._look.clear()

    async def _beat(self) -> None:
        if not await claims.beat(self._client, self.worker, background_only=self._background_only):
            await self._begin_anew()
        await self._cancel_unwanted()
        await self._cancel_unheard()

    async def _begin_anew(self) -> None:
        """This worker was taken for lost: what it ran and its name are the reapers' now; it goes on under another."""
        lost, self.worker = self.worker, _new_name()
        log.error("the lease was lost; abandoning what runs", responses=len(self._running), worker=lost)
        for generation in list(self._running.values()):
            if generation.worker == lost:
                generation.abandon()
        await claims.register(self._client, self.worker, background_only=self._background_only)
        await claims.forsake(self._client, lost)

    async def _cancel_unwanted(self) -> None:
        if self._running:
            for response_id in await claims.cancelled(self._client, list(self._running)):
                generation = self._running.get(response_id)
                if generation is not None:
                    generation.cancel()

    async def _cancel_unheard(self) -> None:
        """Cancel what nobody can hear any more. An inbox may be missing for a moment while its reader makes it anew."""
        inboxes = {generation.job.inbox for generation in self._running.values() if generation.job.inbox}
        before, self._missing = self._missing, set(await missing_inboxes(self._client, inboxes))
        gone = before & self._missing
        for generation in list(self._running.values()):
            if generation.job.inbox in gone:
                log.info("web process gone, cancelling", response_id=generation.job.response_id)
                generation.cancel()


def _takes_background_alone() -> bool:
    """Whether this process was started for the background queue and no other."""
    return set(current_app.amqp.queues.consume_from) == {BACKGROUND_QUEUE}


def _new_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
