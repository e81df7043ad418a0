"""Reap: ends the responses whose worker is gone, so that no client waits for ever and no row stays open.

Runs in every web process and by beat; who takes a lost response first ends it, nobody else does.
"""

import uuid
from typing import Final

import structlog

from responses_api.chains import CONTINUABLE
from responses_api.eventlog import journal
from responses_api.eventlog.claims import Lost, give_up, take_lost
from responses_api.eventlog.message import Kind, Message
from responses_api.protocol import events
from responses_api.protocol.closing import closing
from responses_api.protocol.errors import server_error
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.protocol.request import CreateRequest
from responses_api.protocol.response import snapshot
from responses_api.protocol.sse import decode, encode, frames_to_data
from responses_api.services.endings import failed, failure, last_events, refusal
from responses_api.services.finish import Outcome, finish
from responses_api.services.stored import retrieve

log = structlog.get_logger(__name__)

LOST: Final = server_error(
    "The worker that generated this response was lost.", code="worker_lost", status=500
)


def reap() -> int:
    """End every response of a lost worker; returns how many this call ended.

    One that cannot be ended now is left to the next call after the time that a reaper has.
    """
    return sum(map(_try_to_end, take_lost()))


def _try_to_end(lost: Lost) -> bool:
    try:
        _end(lost)
    except Exception:
        log.exception("a lost response could not be ended", response_id=lost.response_id)
        return False
    return True


def _end(lost: Lost) -> None:
    job = Job.from_bytes(lost.job)
    told = [
        decode(data) for message in journal.read(job.response_id) for data in frames_to_data(message.body)
    ]
    final = _final(job, told)
    is_stored = bool(job.request["store"])
    if is_stored and not finish([Outcome(job, final)]):
        last_words = _overdue(job, told, final)
    else:
        last_words = _last_words(job, told, final)
    give_up(lost, last_words.to_bytes(), inbox=job.inbox, keep_journal=is_stored)
    log.error(
        "worker lost, response ended",
        response_id=job.response_id,
        tenant_id=job.tenant_id,
        request_id=job.request_id,
        worker=lost.worker,
    )


def _overdue(job: Job, told: list[Json], final: Json) -> Message:
    """The end that the worker had stored and not told, where what it told leads there."""
    stored = retrieve(uuid.UUID(job.tenant_id), job.response_id)
    if not job.request["stream"] and stored["status"] in CONTINUABLE:
        return Message(Kind.ANSWER, 0, 0, encode(stored))
    if told and not closing(told, job.dialect) and final["output"] == stored["output"]:
        return last_events([events.terminal(stored)], told[-1]["sequence_number"] + 1)
    return _last_words(job, told, final)


def _final(job: Job, told: list[Json]) -> Json:
    """The failed response, with what had been told of its output."""
    so_far = events.fold(told) or snapshot(
        response_id=job.response_id,
        created_at=job.created_at,
        request=CreateRequest.from_plain(job.request),
        status="in_progress",
    )
    return failed(so_far, LOST)


def _last_words(job: Job, told: list[Json], final: Json) -> Message:
    if not told:
        return refusal(LOST)
    return failure(closing(told, job.dialect), final, LOST, told[-1]["sequence_number"] + 1)
