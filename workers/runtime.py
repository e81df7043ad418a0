"""The worker process's one event loop, and what lives as long as the process: its lease, its publisher, its upstream
connections and its writer.

A Celery task holds its slot (a thread) while its responses run on this loop, so that Celery's own acknowledgements,
limits and shutdown work as they do for any task.
"""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, Final

import structlog

from responses_api.eventlog import bus, claims, turns
from responses_api.eventlog.backends import Backends
from responses_api.eventlog.connection import asyncio_client
from responses_api.eventlog.lasting import run_for_ever
from responses_api.eventlog.publish import Publisher
from responses_api.protocol.job import Job
from responses_api.services import egress, faults
from responses_api.services.background import take_up
from responses_api.services.database import lent
from responses_api.services.reap import end_derailed, give_back
from workers.backends.client import UpstreamClient
from workers.backends.counting import load as load_vocabulary
from workers.compaction import answer_compact
from workers.errand import Errand
from workers.faults import HandedBack
from workers.generation import Generation
from workers.lease import Lease
from workers.retelling import Told
from workers.secrets import find_credential
from workers.serving import Serving
from workers.tokens import answer_count
from workers.tools.mcp.connections import McpConnections
from workers.writer import Writer

log = structlog.get_logger(__name__)

_START_SECONDS: Final = 30
_MOST_REMEMBERED: Final = 10_000


class Runtime:
    """The loop, its thread, and the responses that run on it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._failure: BaseException | None = None
        self._running: dict[str, Generation | Errand] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._cancelled: OrderedDict[str, None] = OrderedDict()
        self._housekeeping: list[asyncio.Task[None]] = []
        self._open = AsyncExitStack()
        self.serving: Serving | None = None
        """What it has for the tools that the service runs; None before it has started."""
        threading.Thread(target=self._run_loop, name="generation loop", daemon=True).start()

    @property
    def worker(self) -> str:
        """The name under which this process claims jobs now."""
        return self._lease.worker

    def wait_until_started(self) -> None:
        """Wait until the worker is registered. Raises RuntimeError or TimeoutError where it cannot be."""
        if not self._started.wait(_START_SECONDS):
            raise TimeoutError(f"the worker could not register in Valkey within {_START_SECONDS} seconds")
        if self._failure is not None:
            raise RuntimeError("the worker could not start") from self._failure

    def run(self, queue_name: str, count: int) -> None:
        """Take up to so many jobs of this queue and run them to their ends, from a task's thread."""
        self.wait_until_started()
        worker = self._lease.worker
        taken = turns.take(queue_name, count, worker)
        if taken:
            self._await(self._generate_all([(*job, ()) for job in taken], worker))

    def run_in_background(self, queue_name: str, count: int) -> None:
        """As `run`, of background jobs: those that are still wanted."""
        self.wait_until_started()
        worker = self._lease.worker
        # This thread waits as long as they run: with a connection each, so many would use up the process's.
        taken = [(*job, lent(take_up, *job, worker)) for job in turns.take(queue_name, count, worker)]
        wanted = [(response_id, job, told) for response_id, job, told in taken if told is not None]
        if wanted:
            self._await(self._generate_all(wanted, worker))

    def stop_after(self, seconds: float) -> None:
        """Let what runs go on for so long, then end it with an error that its client is told."""
        timer = threading.Timer(seconds, self._loop.call_soon_threadsafe, [self._stop_all])
        timer.daemon = True  # a worker with nothing left to do ends at once
        timer.start()

    def close(self) -> None:
        """Stop in order: end what still runs, tell what is pending, take the name off the list."""
        self._await(self._shut_down())
        claims.unregister(self._lease.worker)

    def _await(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _run_loop(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._start())
        except BaseException as error:
            self._failure = error
            raise
        finally:
            self._started.set()
        self._loop.run_forever()

    async def _start(self) -> None:
        self._client = asyncio_client()
        self._upstream = await self._open.enter_async_context(UpstreamClient(secret=find_credential))
        self._publisher = Publisher(self._client)
        self._backends = Backends(self._client)
        self._writer = Writer(self._loop)
        self._connections = McpConnections(egress.rules())
        self.serving = Serving.of_process(self._connections)
        self._lease = Lease(self._client, self._running)
        await self._lease.register()
        bus_client = asyncio_client()

        async def hear() -> None:
            await bus.listen(
                bus_client,
                on_cancel=self._cancel,
                on_stop=self._stop,
                on_subscribed=self._lease.look_at_once,
            )

        self._housekeeping = [run_for_ever("bus", hear), run_for_ever("lease", self._lease.keep)]
        # A refusal of what does not fit must not come too late to be one: after the stream has begun.
        self._loop.run_in_executor(None, load_vocabulary)
        log.info("worker ready", worker=self._lease.worker)

    async def _generate_all(self, claimed: Sequence[tuple[str, bytes, Told]], worker: str) -> None:
        tasks = [asyncio.create_task(self._generate(*job, worker)) for job in claimed]
        self._tasks.update(tasks)
        await asyncio.gather(*tasks, return_exceptions=True)
        self._tasks.difference_update(tasks)

    async def _generate(self, response_id: str, envelope: bytes, told: Told, worker: str) -> None:
        """Run one claimed job. Whatever happens, it comes to an end that its client is told."""
        try:
            await self._run(Job.from_bytes(envelope), told, worker)
        except HandedBack as back:
            # What it told so far must be in the journal before anybody goes on from there.
            await self._publisher.flushed()
            await self._loop.run_in_executor(None, lent, give_back, response_id, envelope, worker, back.error)
        except Exception:
            log.exception("a response left its way", response_id=response_id)
            # What it told so far must be in the journal before its end is made from there.
            await self._publisher.flushed()
            await self._loop.run_in_executor(None, lent, end_derailed, response_id, envelope, worker)

    async def _run(self, job: Job, told: Told, worker: str) -> None:
        generation = self._begin(job, told, worker)
        self._running[job.response_id] = generation
        if job.response_id in self._cancelled:
            self._loop.call_soon(generation.cancel)
        try:
            await generation.run()
        finally:
            del self._running[job.response_id]

    def _begin(self, job: Job, told: Told, worker: str) -> Generation | Errand:
        if job.purpose == "count_tokens":
            return Errand(job, worker, self._publisher, partial(answer_count, upstream=self._upstream))
        if job.purpose == "compact":
            answer = partial(answer_compact, upstream=self._upstream)
            return Errand(job, worker, self._publisher, answer, self._writer, self._backends)
        return Generation(
            job,
            worker,
            self._upstream,
            self._publisher,
            self._writer,
            self._backends,
            told,
            self.serving,
        )

    def _cancel(self, response_id: str) -> None:
        generation = self._running.get(response_id)
        if generation is not None:
            generation.cancel()
        else:
            # Perhaps claimed by a thread of this process a moment ago; `_run` asks.
            self._cancelled[response_id] = None
            while len(self._cancelled) > _MOST_REMEMBERED:
                self._cancelled.popitem(last=False)

    def _stop(self, response_id: str, why: str) -> None:
        """The web process that asked for the response is being stopped, or its key has ended."""
        generation = self._running.get(response_id)
        if isinstance(generation, Generation):
            generation.stop(faults.ENDINGS.get(why, faults.STOPPED))

    def _stop_all(self) -> None:
        for generation in list(self._running.values()):
            generation.stop()

    async def _shut_down(self) -> None:
        # Celery has waited for its tasks, unless it was told twice to stop: then some still run.
        self._stop_all()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for task in self._housekeeping:
            task.cancel()
        await self._connections.close()
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
