"""The inside of a worker process: takes messages off the broker and runs the tasks they name.

The tasks, the runtime and the broker are the real ones; what is left out is Celery's own process, which the
end-to-end tests have.
"""

import threading
import uuid
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from kombu import Consumer, Queue

from config.celery import app
from responses_api.eventlog import names, turns
from responses_api.eventlog.connection import blocking_client
from tests.support.client import wait_until

VALKEY: Any = blocking_client()

_THREADS = 16
_TURN_SECONDS = 0.2
_TICKET_SECONDS = 60


class QueueWorker:
    """Serves these queues until it is stopped."""

    def __init__(self, queues: Iterable[str], *, threads: int = _THREADS) -> None:
        self._queues = [Queue(name, routing_key=name) for name in queues]
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="worker")
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="queue worker", daemon=True)

    def __enter__(self) -> Self:
        app.loader.import_default_modules()  # registers the tasks, as a worker does at its start
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._stopped.set()
        self._thread.join(10)
        self._pool.shutdown()

    def _run(self) -> None:
        with (
            app.connection_for_read() as broker,
            Consumer(broker, queues=self._queues, callbacks=[self._take], no_ack=True),
        ):
            while not self._stopped.is_set():
                with suppress(TimeoutError):
                    broker.drain_events(timeout=_TURN_SECONDS)

    def _take(self, body: Any, message: Any) -> None:
        arguments, options, _ = body
        self._pool.submit(app.tasks[message.headers["task"]], *arguments, **options)


def ticket(*response_ids: str) -> tuple[str, int]:
    """What a worker's task is given: a queue in which nothing waits but these, in their order, and how many."""
    queue_name = f"test.{uuid.uuid4().hex}"
    waiting = {response_id: place for place, response_id in enumerate(response_ids)}
    pipeline = VALKEY.pipeline(transaction=True)
    for elsewhere in VALKEY.keys(names.waiting("*", "*")):
        pipeline.zrem(elsewhere, *response_ids)
    pipeline.zadd(names.waiting(queue_name, "tenant"), waiting)
    pipeline.zadd(names.turns(queue_name), {"tenant": 0})
    for name in (names.waiting(queue_name, "tenant"), names.turns(queue_name)):
        pipeline.expire(name, _TICKET_SECONDS)
    pipeline.execute()
    return queue_name, len(response_ids)


def claim(response_ids: Sequence[str], worker: str) -> list[tuple[str, bytes]]:
    """Let `worker` take those of these jobs that may be taken."""
    return turns.take(*ticket(*response_ids), worker)


def take_ticket(tier: str, timeout: float = 5.0) -> None:
    """Take a ticket of a service tier that no worker serves off the broker."""
    queue_name = f"antiphon.{tier}"
    with app.connection_for_read() as broker, broker.SimpleQueue(queue_name, no_ack=True) as tickets:
        (named, count), _, _ = tickets.get(timeout=timeout).payload
    assert (named, count) == (queue_name, 1)


def newest_id(tier: str) -> str | None:
    """The response that came last of those in the queue of a service tier that no worker serves."""
    scores: dict[bytes, float] = {}
    for waiting in VALKEY.keys(names.waiting(f"antiphon.{tier}", "*")):
        scores |= dict(VALKEY.zrange(waiting, 0, -1, withscores=True))
    return max(scores, key=lambda raw: scores[raw]).decode() if scores else None


def take_id(tier: str, timeout: float = 5.0) -> str:
    """The response whose job came last, and waits, in a service tier that no worker serves; its ticket is taken."""
    take_ticket(tier, timeout)

    def look() -> str | None:
        found = newest_id(tier)
        return found if found is not None and VALKEY.exists(names.job(found)) else None

    return str(wait_until(look, timeout=timeout, what=f"a job that waits in the tier {tier}", every=0.005))


def take_job(tier: str, timeout: float = 5.0) -> tuple[str, int]:
    """As `take_id`, as a ticket for that job alone."""
    return ticket(take_id(tier, timeout))
