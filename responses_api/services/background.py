"""Background responses: nobody waits for them, so a row holds them from their first moment to their end.

The row is what survives the client, the web process, the worker, the broker and Valkey; what is in Valkey is only the
quick way. Each change of the row's state is one statement that says what it must have been before, so that whoever
comes late changes nothing.
"""

import uuid
from dataclasses import replace
from typing import Any, Final

import structlog
from redis.exceptions import RedisError

from responses_api.dispatch import process_dispatcher
from responses_api.eventlog import claims, journal
from responses_api.eventlog.claims import Lost
from responses_api.eventlog.message import Kind, Message
from responses_api.models import Response
from responses_api.models.response import UNFINISHED
from responses_api.protocol.job import Job
from responses_api.protocol.sse import frames_to_data
from responses_api.services.endings import numbered
from responses_api.services.finish import open_row
from responses_api.services.running import opening, running_snapshot
from tenants.scoping import tenant_scope

log = structlog.get_logger(__name__)

MOST_ATTEMPTS: Final = 2


def prelude(job: Job) -> Message:
    """What is told of a background response before any worker has it."""
    return numbered(Kind.EVENTS, opening(job)[:-1], 0)


def accept(job: Job) -> None:
    """Store the response, then offer it to the workers. Once it is stored it will be worked on, come what may.

    Raises the database's error; then there is no response.
    """
    open_row(job, running_snapshot(job, "queued"))
    try:
        offer(job)
    except (RedisError, OSError) as error:
        log.warning("a background response waits for Valkey", error=type(error).__name__)


def offer(job: Job) -> None:
    """Hand the job to the workers. Raises RedisError or OSError; its row is found later."""
    claims.offer_background(job.response_id, job.to_bytes(), prelude(job).to_bytes())
    process_dispatcher(claims.offer).announce(job.response_id)


def job_of_row(row: Any) -> Job:
    """The job of an unfinished row, as far as its end needs it: without its conversation."""
    return Job(
        response_id=row.id,
        tenant_id=str(row.tenant_id),
        key_id=str(row.key_id),
        request_id="",
        created_at=row.created_at,
        request=row.request,
        history=[],
        input_items=[],
        backend={"name": row.backend},
        upstream_model="",
        inbox=None,
        dialect=(row.score or {}).get("dialect", "open"),
        attempt=row.attempt,
    )


def take_up(response_id: str, envelope: bytes, worker: str) -> list[bytes] | None:
    """A worker has claimed the job: returns the data of the events that were told already, for it to go on from.

    None where it must not begin: nobody wants the response any more, it has ended, another attempt runs, or the
    database does not answer (then it is found again later).
    """
    try:
        job = Job.from_bytes(envelope)
        if _begin(job):
            return [data for message in journal.read(response_id) for data in frames_to_data(message.body)]
        claims.discard(response_id, worker, keep_journal=True)
    except Exception:  # the others that were claimed with it must begin all the same
        log.exception("a background response could not be begun", response_id=response_id)
        claims.put_down(response_id, worker)
    return None


def _begin(job: Job) -> bool:
    """Write down that this attempt begins, if it is still the one to begin."""
    with tenant_scope(uuid.UUID(job.tenant_id)):
        waiting = Response.objects.filter(id=job.response_id, attempt=job.attempt, status__in=UNFINISHED)
        return bool(waiting.update(status="in_progress"))


def begin_again(lost: Lost, job: Job) -> bool:
    """Give a response whose worker was lost to another one. False where it may not be, or has ended."""
    again = replace(job, attempt=job.attempt + 1)
    if again.attempt >= MOST_ATTEMPTS:
        return False
    with tenant_scope(uuid.UUID(job.tenant_id)):
        # Also one that was counted before, by a reaper that was lost itself.
        rows = Response.objects.filter(id=job.response_id, attempt__lte=again.attempt, status__in=UNFINISHED)
        if not rows.update(attempt=again.attempt):
            return False
    claims.put_back(lost, again.to_bytes(), prelude(job).to_bytes())
    process_dispatcher(claims.offer).announce(job.response_id)
    return True
