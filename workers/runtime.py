"""The worker process's one event loop, and what lives as long as the process: its lease, its publisher, its upstream
connections and its writer.

A Celery task holds its slot (a thread) while its responses run on this loop, so that Celery's own acknowledgements,
limits and shutdown work as they do for any task.
"""

import asyncio
import os
import socket
import threading
import uuid
from collections import OrderedDict
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from typing import Any, Final

import structlog
from django.conf import settings
from redis.exceptions import RedisError

from responses_api.eventlog import bus, claims
from responses_api.eventlog.connection import asyncio_client
from responses_api.eventlog.publish import Publisher, missing_inboxes
from responses_api.protocol.job import Job
from workers.backends.client import UpstreamClient
from workers.generation import Generation
from workers.secrets import secret
from workers.writer import Writer

log = structlog.get_logger(__name__)

_START_SECONDS: Final = 30
_MOST_REMEMBERED: Final = 10_000


class Runtime:
    """The loop, its thread, and the responses that run on it."""

    def __init__(self) -> None:
        self.worker = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._running: dict[str, Generation] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._cancelled: OrderedDict[str, None] = OrderedDict()
        self._housekeeping: list[asyncio.Task[None]] = []
        self._open = AsyncExitStack()
        threading.Thread(target=self._run_loop, name="generation loop", daemon=True).start()

    def wait_until_started(self) -> None:
        """Wait until the worker is registered. Raises TimeoutError where Valkey does not answer."""
        if not self._started.wait(_START_SECONDS):
            raise TimeoutError(f"the worker could not register in Valkey within {_START_SECONDS} seconds")

    def run(self, response_ids: list[str]) -> None:
        """Claim these jobs and run them to their ends, from a task's thread."""
        self.wait_until_started()
        jobs = [Job.from_bytes(envelope) for envelope in claims.claim(response_ids, self.worker)]
        if jobs:
            self._await(self._generate_all(jobs))

    def close(self) -> None:
        """Stop in order: end what still runs, tell what is pending, take the name off the list."""
        self._await(self._shut_down())
        claims.unregister(self.worker)

    def _await(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _run_loop(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.create_task(self._start())
        self._loop.run_forever()

    async def _start(self) -> None:
        self._client = asyncio_client()
        self._upstream = await self._open.enter_async_context(UpstreamClient(secret=secret))
        self._publisher = Publisher(self._client, self.worker, self._lost_inbox)
        self._writer = Writer(self._loop)
        await self._register()
        listening = bus.listen(asyncio_client(), on_cancel=self._cancel)
        self._housekeeping = [
            asyncio.create_task(listening, name="bus"),
            asyncio.create_task(self._keep_lease(), name="lease"),
        ]
        self._started.set()
        log.info("worker ready", worker=self.worker)

    async def _register(self) -> None:
        while True:
            try:
                await claims.register(self._client, self.worker)
            except RedisError as error:
                log.warning("Valkey does not answer, trying again", error=type(error).__name__)
                await asyncio.sleep(1)
            else:
                return

    async def _generate_all(self, jobs: list[Job]) -> None:
        tasks = [asyncio.create_task(self._generate(job)) for job in jobs]
        self._tasks.update(tasks)
        try:
            await asyncio.gather(*tasks)
        finally:
            self._tasks.difference_update(tasks)

    async def _generate(self, job: Job) -> None:
        generation = Generation(job, self._upstream, self._publisher, self._writer)
        self._running[job.response_id] = generation
        if job.response_id in self._cancelled:
            asyncio.get_running_loop().call_soon(generation.cancel)
        try:
            await generation.run()
        finally:
            del self._running[job.response_id]

    def _cancel(self, response_id: str) -> None:
        generation = self._running.get(response_id)
        if generation is not None:
            generation.cancel()
        else:
            # Perhaps claimed by a thread of this process a moment ago; `_generate` asks.
            self._cancelled[response_id] = None
            while len(self._cancelled) > _MOST_REMEMBERED:
                self._cancelled.popitem(last=False)

    def _inboxes(self) -> set[str]:
        return {generation.job.inbox for generation in self._running.values() if generation.job.inbox}

    def _lost_inbox(self, inbox: str) -> None:
        """A web process is gone: nobody listens to its live responses any more."""
        for generation in list(self._running.values()):
            if generation.job.inbox == inbox:
                log.info("web process gone, cancelling", response_id=generation.job.response_id)
                generation.cancel()

    async def _keep_lease(self) -> None:
        while True:
            await asyncio.sleep(settings.LEASE_SECONDS / 4)
            try:
                if not await claims.beat(self._client, self.worker):
                    self._abandon_all()
                    await claims.register(self._client, self.worker)
                for inbox in await missing_inboxes(self._client, self._inboxes()):
                    self._lost_inbox(inbox)
            except RedisError as error:
                log.warning("the lease could not be renewed, trying again", error=type(error).__name__)

    def _abandon_all(self) -> None:
        """This worker was taken for lost, and others have ended its responses: stop them without another word."""
        log.error("the lease was lost; abandoning what runs", responses=len(self._running))
        for generation in list(self._running.values()):
            generation.abandon()

    async def _shut_down(self) -> None:
        # Celery has waited for its tasks, unless it was told twice to stop: then some still run.
        for generation in list(self._running.values()):
            generation.stop()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for task in self._housekeeping:
            task.cancel()
        await self._publisher.close()
        await self._open.aclose()
        self._writer.close()
        await self._client.aclose()


_runtime: Runtime | None = None
_lock: Final = threading.Lock()


def process_runtime() -> Runtime:
    """The runtime of this process, started at its first use."""
    global _runtime
    with _lock:
        if _runtime is None:
            _runtime = Runtime()
        return _runtime


def running_runtime() -> Runtime | None:
    """The runtime if it was started."""
    return _runtime
