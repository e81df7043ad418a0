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

from responses_api.dispatch import BACKGROUND_QUEUE, process_dispatcher
from responses_api.eventlog import claims, journal, turns
from responses_api.eventlog.backends import server_of
from responses_api.eventlog.claims import Lost
from responses_api.eventlog.message import Kind, Message
from responses_api.models import Response
from responses_api.models.response import UNFINISHED
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.protocol.rounds import last_round_end
from responses_api.protocol.sse import decode, frames_of, frames_to_data
from responses_api.quotas.spending import Used, cost
from responses_api.services.charges import told_usage
from responses_api.services.endings import broken_off, numbered
from responses_api.services.finish import end, kept_of, open_row
from responses_api.services.hosted import is_ours
from responses_api.services.room import has_room
from responses_api.services.running import opening, running_snapshot
from tenants.scoping import tenant_scope

log = structlog.get_logger(__name__)

_MOST_LOSSES: Final = 1
_MOST_ATTEMPTS: Final = 10


def prelude(job: Job) -> Message:
    """What is told of a background response before any worker has it."""
    return numbered(Kind.EVENTS, opening(job)[:-1], 0)


def accept(job: Job, envelope: bytes) -> None:
    """Store the response, then offer it to the workers. Once it is stored it will be worked on, come what may.

    `envelope` is the job as bytes. Raises the database's error; then there is no response.
    """
    open_row(job, running_snapshot(job, "queued"))
    try:
        offer(job, envelope)
    except (RedisError, OSError) as error:
        log.warning("a background response waits for Valkey", error=type(error).__name__)


def offer(job: Job, envelope: bytes, told: Message | None = None) -> None:
    """Hand the job to the workers; `told` is what was told of it before. Raises RedisError or OSError; then its row is
    found later.
    """
    offered = (job.tenant_id, job.response_id, envelope)
    turns.offer_background(BACKGROUND_QUEUE, offered, (told or prelude(job)).to_bytes())
    announce(job.tenant_id, job.response_id)


def announce(tenant_id: str, response_id: str) -> None:
    """Have a worker come for a job that waits."""
    process_dispatcher(turns).announce(response_id, tenant_id=tenant_id)


def job_of_row(row: Any) -> Job:
    """The job of an unfinished row, as far as its end needs it: without its conversation."""
    kept = row.score or {}
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
        dialect=kept.get("dialect", "open"),
        attempt=row.attempt,
        prices=kept.get("prices"),
        reserved=kept.get("reserved"),
        output_cap=kept.get("output_cap"),
        spent=kept.get("spent"),
        sealed_secrets=kept.get("sealed_secrets"),
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


def as_served(job: Job) -> Job:
    """The job of a lost worker, asked of the target that had begun to answer it."""
    name = server_of(job.response_id) if job.targets else None
    target = next((target for target in job.choices() if target.name == name), None)
    return job if target is None else job.at(target)


def begin_again(lost: Lost, job: Job, *, is_loss: bool = True) -> bool:
    """Give a response to another worker: its own was lost, or stopped in order and handed it on. False where it may not
    be given on any more, or has ended.
    """
    job = as_served(job)  # where anything was told it is asked first, whoever takes it
    used = told_usage(job, journal.read_events(job.response_id))
    spent = Used.from_plain(job.spent).plus(used).to_plain()
    again = replace(job, attempt=job.attempt + 1, losses=job.losses + is_loss, spent=spent)
    if again.losses > _MOST_LOSSES or again.attempt >= _MOST_ATTEMPTS:
        return False
    if job.reserved is not None:
        # Whoever ends it, all that was used is charged by that target's prices.
        dearest = max(cost(used, target.prices) for target in job.choices())
        more = {"tokens": used.tokens, "nanos": dearest}
        if not has_room(job, more):
            log.warning("a quota has no room for another attempt", response_id=job.response_id)
            return False
        again = replace(again, reserved={name: job.reserved[name] + more[name] for name in more})
    finished = _finished_rounds(job)
    with tenant_scope(uuid.UUID(job.tenant_id)):
        # Also one that was counted before, by a reaper that was lost itself.
        rows = Response.objects.filter(id=job.response_id, attempt__lte=again.attempt, status__in=UNFINISHED)
        row = rows.only("is_followed").first()
        if row is None:
            return False
        # What somebody may have seen is written down: it must not be told otherwise should Valkey be lost, too.
        score: Json = kept_of(again)
        if row.is_followed:
            score["told"] = b"".join(message.body for message in journal.read(job.response_id)).decode()
        elif finished is not None:
            score["told"] = finished.body.decode()
        named = again.backend["name"]
        if not rows.update(status="queued", attempt=again.attempt, score=score, backend=named):
            return False
    beginning = finished or prelude(job)
    claims.put_back(BACKGROUND_QUEUE, job.tenant_id, lost, again.to_bytes(), beginning.to_bytes())
    announce(job.tenant_id, job.response_id)
    return True


def _finished_rounds(job: Job) -> Message | None:
    """What was told of a response up to the end of its last finished round; None where there was none. Nobody may have
    seen it, and it is kept all the same: tools are not run a second time.
    """
    frames = [frame for message in journal.read(job.response_id) for frame in frames_of(message.body)]
    told = [decode(data) for data in frames_to_data(b"".join(frames))]
    count = last_round_end(told, is_ours)
    return Message(Kind.EVENTS, 0, count, b"".join(frames[:count])) if count else None


def end_here(
    job: Job, error: ProtocolError | None, *, worker: str = "", before: Message | None = None
) -> None:
    """End a background response for a worker that does not, or that there is not: as failed, or without an error as
    cancelled. `worker` holds its claim, if one does; `before` is what was told, should the journal be lost.
    """
    told = journal.read_events(job.response_id)
    if not told and before is not None:
        told = [decode(data) for data in frames_to_data(before.body)]
    ending = broken_off(job, told, error)
    if end(job, ending.final, ending.score(), told_usage(job, told)):
        log.info(
            "response ended without a worker",
            status=ending.final["status"],
            error=error.code if error else None,
            response_id=job.response_id,
            tenant_id=job.tenant_id,
        )
    lost = Lost(job.response_id, worker, b"")
    claims.give_up(lost, ending.last_words().to_bytes(), inbox=None, keep_journal=True)


def told_before(row: Any) -> Message | None:
    """What was told of an unfinished row by an attempt that was lost, where somebody may have seen it."""
    told = (row.score or {}).get("told", "").encode()
    return Message(Kind.EVENTS, 0, sum(1 for _ in frames_to_data(told)), told) if told else None
