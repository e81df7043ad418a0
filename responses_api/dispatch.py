"""Hands jobs to the workers: the job to where it waits for its tenant's turn, a ticket to the broker; the task is
called by its name.

A ticket says how many jobs of a queue may be taken, not which. One thread of the process hands over, so that a slow or
absent broker never stops the event loop; what gathers while it sends leaves together, as one ticket per queue. Nothing
here imports `workers`.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, Protocol

import structlog
from celery import current_app
from django.conf import settings

from responses_api.fair_queue import FairQueue

log = structlog.get_logger(__name__)

GENERATE: Final = "antiphon.generate"
GENERATE_BACKGROUND: Final = "antiphon.generate_background"
BACKGROUND_QUEUE: Final = "antiphon.background"
DEFAULT_QUEUE: Final = "antiphon.default"
_TIER_QUEUES: Final = {
    "priority": "antiphon.priority",
    "auto": DEFAULT_QUEUE,
    "default": DEFAULT_QUEUE,
    "flex": "antiphon.flex",
}
# In the order in which a worker serves them.
QUEUES: Final = (*dict.fromkeys(_TIER_QUEUES.values()), BACKGROUND_QUEUE)
AMQP_QUEUE: Final = "antiphon"
"""RabbitMQ deals from several queues as it likes: there all are this one, in the order of the messages' priorities."""
_MOST_WAITING: Final = 4_000
_MOST_PER_TICKET: Final = 8
"""Jobs that a worker takes at once, and holds one slot for."""


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
    tenant_id: str
    response_id: str
    envelope: bytes | None
    """None: the job waits for a worker already, and only its ticket is missing."""
    deadline: float
    on_failure: Callable[[], None]


class WaitingRoom(Protocol):
    """Where jobs wait until a worker with a ticket takes them (`eventlog.turns`)."""

    def offer(self, queue_name: str, jobs: Sequence[tuple[str, str, bytes]], /) -> None:
        """Let jobs wait in this queue, each given as its tenant's id, its response's id and its bytes."""

    def take_back(self, response_ids: Sequence[str], /) -> None:
        """Let nobody take these any more."""


class Dispatcher:
    """The process's way to the broker. `room` is called in its thread.

    Tenants take turns here, too: while the broker is slow, one with many requests delays another's by one request.
    """

    def __init__(self, room: WaitingRoom) -> None:
        self._room = room
        self._waiting: FairQueue[_Handover] = FairQueue(_MOST_WAITING)
        threading.Thread(target=self._run, name="dispatcher", daemon=True).start()

    def dispatch(
        self,
        response_id: str,
        envelope: bytes,
        *,
        tenant_id: str,
        service_tier: str,
        on_failure: Callable[[], None],
    ) -> None:
        """Queue a job. `on_failure` is called, perhaps in another thread, when it could not be handed over."""
        self._put(_TIER_QUEUES[service_tier], tenant_id, response_id, envelope, on_failure)

    def announce(self, response_id: str, *, tenant_id: str) -> None:
        """Send a ticket for a background job that waits already. Where the broker is away, one is sent later."""

        def note() -> None:
            log.warning("a background response waits for the broker", response_id=response_id)

        self._put(BACKGROUND_QUEUE, tenant_id, response_id, None, note)

    def _put(
        self,
        queue_name: str,
        tenant_id: str,
        response_id: str,
        envelope: bytes | None,
        on_failure: Callable[[], None],
    ) -> None:
        deadline = time.monotonic() + settings.QUEUE_SECONDS
        handover = _Handover(queue_name, tenant_id, response_id, envelope, deadline, on_failure)
        pushed_out = self._waiting.put(tenant_id, handover)
        if pushed_out is not None:
            pushed_out.on_failure()

    def _run(self) -> None:
        while True:
            gathered = self._waiting.get(_MOST_PER_TICKET)
            batch = sorted(self._without_late(gathered), key=attrgetter("queue"))
            for queue_name, group in groupby(batch, key=attrgetter("queue")):
                self._hand_over(queue_name, list(group))

    def _without_late(self, batch: list[_Handover]) -> list[_Handover]:
        """Leave out what waited here, for an absent broker, until its client had to be answered."""
        now = time.monotonic()
        for handover in batch:
            if handover.deadline <= now:
                handover.on_failure()
        return [handover for handover in batch if handover.deadline > now]

    def _hand_over(self, queue_name: str, batch: list[_Handover]) -> None:
        jobs = [(job.tenant_id, job.response_id, job.envelope) for job in batch if job.envelope is not None]
        try:
            if jobs:
                self._room.offer(queue_name, jobs)
            _send_ticket(queue_name, len(batch))
        except Exception as error:  # whatever stopped the client: each caller is told, none is left waiting
            log.error("jobs could not be handed to the broker", error=type(error).__name__, jobs=len(batch))
            for handover in batch:
                handover.on_failure()
            self._take_back([response_id for _, response_id, _ in jobs])

    def _take_back(self, response_ids: list[str]) -> None:
        """Another job's ticket must not bring up what its client is told that nobody takes."""
        try:
            self._room.take_back(response_ids)
        except Exception as error:  # no more can be done: they expire
            log.error("jobs could not be taken back", error=type(error).__name__, jobs=len(response_ids))


def send_tickets(queue_name: str, count: int) -> None:
    """Let workers take so many jobs of one of `QUEUES`. A ticket too many finds nothing, and changes nothing.

    Raises the broker's error, of whichever class its client has.
    """
    for first in range(0, count, _MOST_PER_TICKET):
        _send_ticket(queue_name, min(_MOST_PER_TICKET, count - first))


def _send_ticket(queue_name: str, count: int) -> None:
    is_background = queue_name == BACKGROUND_QUEUE
    current_app.send_task(
        GENERATE_BACKGROUND if is_background else GENERATE,
        args=(queue_name, count),
        **destination(queue_name),
        expires=settings.BACKGROUND_QUEUE_SECONDS if is_background else settings.QUEUE_SECONDS,
        ignore_result=True,
        retry=True,
        retry_policy={"max_retries": 2, "interval_start": 0.1, "interval_step": 0.2},
    )


def waiting_messages(queue_name: str) -> int:
    """How many tickets wait in the broker for one of `QUEUES`; with RabbitMQ, for all of them together."""
    with current_app.connection_for_read() as broker:
        channel: Any = broker.default_channel
        try:
            declared = channel.queue_declare(destination(queue_name)["queue"], passive=True)
        except broker.channel_errors:  # nobody has sent anything there yet
            return 0
    return int(declared.message_count)


_dispatcher: Dispatcher | None = None


def process_dispatcher(room: WaitingRoom) -> Dispatcher:
    """The dispatcher of this process, started at its first use."""
    global _dispatcher
    if _dispatcher is None:
        _dispatcher = Dispatcher(room)
    return _dispatcher
