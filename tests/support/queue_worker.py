"""The inside of a worker process: takes messages off the broker and runs the tasks they name.

The tasks, the runtime and the broker are the real ones; what is left out is Celery's own process, which the
end-to-end tests have.
"""

import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from kombu import Consumer, Queue

from config.celery import app

_THREADS = 16
_TURN_SECONDS = 0.2


class QueueWorker:
    """Serves these queues until it is stopped."""

    def __init__(self, queues: Iterable[str]) -> None:
        self._queues = [Queue(name, routing_key=name) for name in queues]
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="worker")
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


def take_job(tier: str, timeout: float = 5.0) -> list[str]:
    """The response ids in the next message of a service tier that no worker serves."""
    with app.connection_for_read() as broker, broker.SimpleQueue(f"antiphon.{tier}", no_ack=True) as waiting:
        message = waiting.get(timeout=timeout)
    (response_ids,), _, _ = message.payload
    return list(response_ids)
