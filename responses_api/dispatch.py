"""Hands jobs to the workers: the envelope to where it waits, the id to the broker, the task called by its name.

One thread of the process does it, so that a slow or absent broker never stops the event loop; what gathers while it
sends leaves together, as one message per queue. Nothing here imports `workers`.
"""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

import structlog
from celery import current_app
from django.conf import settings

log = structlog.get_logger(__name__)

GENERATE: Final = "antiphon.generate"
GENERATE_BACKGROUND: Final = "antiphon.generate_background"
BACKGROUND_QUEUE: Final = "antiphon.background"
_TIER_QUEUES: Final = {
    "priority": "antiphon.priority",
    "auto": "antiphon.default",
    "default": "antiphon.default",
    "flex": "antiphon.flex",
}
# In the order in which a worker serves them.
QUEUES: Final = (*dict.fromkeys(_TIER_QUEUES.values()), BACKGROUND_QUEUE)
AMQP_QUEUE: Final = "antiphon"
"""RabbitMQ deals from several queues as it likes: there all are this one, in the order of the messages' priorities."""
_MOST_WAITING: Final = 4_000
_MOST_PER_MESSAGE: Final = 8


def is_amqp() -> bool:
    """Whether the broker is RabbitMQ."""
    return str(settings.CELERY_BROKER_URL).startswith("amqp")


def destination(queue_name: str) -> dict[str, Any]:
    """Where a message for one of `QUEUES` goes, as Celery's options."""
    if is_amqp():
        return {"queue": AMQP_QUEUE, "priority": len(QUEUES) - 1 - QUEUES.index(queue_name)}
    return {"queue": queue_name}


@dataclass(frozen=True, slots=True)
class _Handover:
    queue: str
    response_id: str
    envelope: bytes | None
    """None: it was put where a worker can claim it before."""
    deadline: float
    on_failure: Callable[[], None]


Offer = Callable[[Sequence[tuple[str, bytes]]], None]
"""Puts envelopes, by response id, where a worker can claim them."""


class Dispatcher:
    """The process's way to the broker. `offer` is called in its thread."""

    def __init__(self, offer: Offer) -> None:
        self._offer = offer
        self._waiting: queue.SimpleQueue[_Handover] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="dispatcher", daemon=True).start()

    def dispatch(
        self, response_id: str, envelope: bytes, *, service_tier: str, on_failure: Callable[[], None]
    ) -> None:
        """Queue a job. `on_failure` is called, perhaps in another thread, when it could not be handed over."""
        if self._waiting.qsize() >= _MOST_WAITING:
            on_failure()
            return
        deadline = time.monotonic() + settings.QUEUE_SECONDS
        self._waiting.put(_Handover(_TIER_QUEUES[service_tier], response_id, envelope, deadline, on_failure))

    def announce(self, response_id: str) -> None:
        """Queue a background response whose job waits already. Where the broker is away, its row is found later."""
        deadline = time.monotonic() + settings.QUEUE_SECONDS

        def note() -> None:
            log.warning("a background response waits for the broker", response_id=response_id)

        self._waiting.put(_Handover(BACKGROUND_QUEUE, response_id, None, deadline, note))

    def _run(self) -> None:
        while True:
            batch = sorted(self._without_late(self._gather()), key=attrgetter("queue"))
            for queue_name, group in groupby(batch, key=attrgetter("queue")):
                self._hand_over(queue_name, list(group))

    def _gather(self) -> list[_Handover]:
        batch = [self._waiting.get()]
        while len(batch) < _MOST_PER_MESSAGE:
            try:
                batch.append(self._waiting.get_nowait())
            except queue.Empty:
                break
        return batch

    def _without_late(self, batch: list[_Handover]) -> list[_Handover]:
        """Leave out what waited here, for an absent broker, until its client had to be answered."""
        now = time.monotonic()
        for handover in batch:
            if handover.deadline <= now:
                handover.on_failure()
        return [handover for handover in batch if handover.deadline > now]

    def _hand_over(self, queue_name: str, batch: list[_Handover]) -> None:
        try:
            is_background = queue_name == BACKGROUND_QUEUE
            if not is_background:
                self._offer([(job.response_id, job.envelope) for job in batch if job.envelope is not None])
            current_app.send_task(
                GENERATE_BACKGROUND if is_background else GENERATE,
                args=([handover.response_id for handover in batch],),
                **destination(queue_name),
                expires=settings.BACKGROUND_QUEUE_SECONDS if is_background else settings.QUEUE_SECONDS,
                ignore_result=True,
                retry=True,
                retry_policy={"max_retries": 2, "interval_start": 0.1, "interval_step": 0.2},
            )
        except Exception as error:  # whatever stopped the client: each caller is told, none is left waiting
            log.error("jobs could not be handed to the broker", error=type(error).__name__, jobs=len(batch))
            for handover in batch:
                handover.on_failure()


def waiting_messages(queue_name: str) -> int:
    """How many messages wait in the broker for one of `QUEUES`."""
    with current_app.connection_for_read() as broker:
        channel: Any = broker.default_channel
        try:
            declared = channel.queue_declare(destination(queue_name)["queue"], passive=True)
        except broker.channel_errors:  # nobody has sent anything there yet
            return 0
    return int(declared.message_count)


_dispatcher: Dispatcher | None = None


def process_dispatcher(offer: Offer) -> Dispatcher:
    """The dispatcher of this process, started at its first use."""
    global _dispatcher
    if _dispatcher is None:
        _dispatcher = Dispatcher(offer)
    return _dispatcher
