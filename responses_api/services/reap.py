"""Reap: ends the responses whose worker is gone, so that no client waits for ever and no row stays open.

Runs in every web process and by beat; who takes a lost response first ends it, nobody else does.
"""

import uuid
from typing import Final

import structlog

from responses_api.chains import CONTINUABLE
from responses_api.eventlog import journal
from responses_api.eventlog.claims import Lost, discard, give_up, take_lost
from responses_api.eventlog.message import Kind, Message
from responses_api.protocol import events
from responses_api.protocol.closing import closing
from responses_api.protocol.errors import ProtocolError, server_error
from responses_api.protocol.fold import fold
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.protocol.request import CreateRequest
from responses_api.protocol.response import snapshot
from responses_api.protocol.sse import decode, encode, frames_to_data
from responses_api.services.endings import failed, failure, last_events, refusal
from responses_api.services.finish import Outcome, finish
from responses_api.services.stored import retrieve

log = structlog.get_logger(__name__)

LOST: Final = server_error("The worker that generated this response was lost.", code="worker_lost")
_DERAILED: Final = server_error("The server failed to end the response.", code="generation_failed")


def reap() -> int:
    """End every response of a lost worker; returns how many this call ended.

    One that cannot be ended now is left to the next call after the time that a reaper has.
    """
    return sum(_try_to_end(lost, LOST) for lost in take_lost())


def end_derailed(response_id: str, envelope: bytes, worker: str) -> None:
    """End a response that its own living worker cannot end: something failed where nothing should.

    Of one whose envelope cannot even be read (another version wrote it) nothing can be told.
    """
    if not _try_to_end(Lost(response_id, worker, envelope), _DERAILED):
        discard(response_id, worker)


def _try_to_end(lost: Lost, error: ProtocolError) -> bool:
    try:
        _end(lost, error)
    except Exception:
        log.exception("a lost response could not be ended", response_id=lost.response_id)
        return False
    return True


def _end(lost: Lost, error: ProtocolError) -> None:
    job = Job.from_bytes(lost.job)
    told = [
        decode(data) for message in journal.read(job.response_id) for data in frames_to_data(message.body)
    ]
    final = _final(job, told, error)
    is_stored = bool(job.request["store"])
    if is_stored and not finish([Outcome(job, final)]):
        last_words = _overdue(job, told, final, error)
    else:
        last_words = _last_words(job, told, final, error)
    give_up(lost, last_words.to_bytes(), inbox=job.inbox, keep_journal=is_stored)
    log.error(
        "response ended without its worker",
        error=error.code,
        response_id=job.response_id,
        tenant_id=job.tenant_id,
        request_id=job.request_id,
        worker=lost.worker,
    )


def _overdue(job: Job, told: list[Json], final: Json, error: ProtocolError) -> Message:
    """The end that the worker had stored and not told, where what it told leads there."""
    stored = retrieve(uuid.UUID(job.tenant_id), job.response_id)
    if not job.request["stream"] and stored["status"] in CONTINUABLE:
        return Message(Kind.ANSWER, 0, 0, encode(stored))
    if told and not closing(told, job.dialect) and final["output"] == stored["output"]:
        return last_events([events.terminal(stored)], told[-1]["sequence_number"] + 1)
    return _last_words(job, told, final, error)


def _final(job: Job, told: list[Json], error: ProtocolError) -> Json:
    """The failed response, with what had been told of its output."""
    so_far = fold(told) or snapshot(
        response_id=job.response_id,
        created_at=job.created_at,
        request=CreateRequest.from_plain(job.request),
        status="in_progress",
    )
    return failed(so_far, error)


def _last_words(job: Job, told: list[Json], final: Json, error: ProtocolError) -> Message:
    if not told:
        return refusal(error)
    return failure(closing(told, job.dialect), final, error, told[-1]["sequence_number"] + 1)
