"""Reap: ends the responses whose worker is gone, so that no client waits for ever and no row stays open.

Runs in every web process and by beat; who takes a lost response first ends it, nobody else does.
"""

from typing import Final

import structlog

from responses_api.eventlog import journal
from responses_api.eventlog.claims import Lost, give_up, take_lost
from responses_api.eventlog.message import Message
from responses_api.protocol import events
from responses_api.protocol.errors import server_error
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.protocol.request import CreateRequest
from responses_api.protocol.response import snapshot
from responses_api.protocol.sse import decode, frames_to_data
from responses_api.services.endings import failed, failure, refusal
from responses_api.services.finish import Outcome, finish

log = structlog.get_logger(__name__)

LOST: Final = server_error(
    "The worker that generated this response was lost.", code="worker_lost", status=500
)


def reap() -> int:
    """End every response of a lost worker; returns how many this call ended."""
    lost = take_lost()
    for entry in lost:
        _end(entry)
    return len(lost)


def _end(lost: Lost) -> None:
    job = Job.from_bytes(lost.job)
    told = [
        decode(data) for message in journal.read(job.response_id) for data in frames_to_data(message.body)
    ]
    final = _final(job, told)
    is_stored = bool(job.request["store"])
    if is_stored and not finish([Outcome(job, final)]):
        log.warning("a lost worker's response had been stored already", response_id=job.response_id)
        give_up(lost, [], keep_journal=True)
        return
    messages = [(job.inbox, _last_words(told, final).to_bytes())] if job.inbox else []
    give_up(lost, messages, keep_journal=is_stored)
    log.error(
        "worker lost, response failed",
        response_id=job.response_id,
        tenant_id=job.tenant_id,
        request_id=job.request_id,
        worker=lost.worker,
    )


def _final(job: Job, told: list[Json]) -> Json:
    """The failed response, with what had been told of its output."""
    so_far = events.fold(told) or snapshot(
        response_id=job.response_id,
        created_at=job.created_at,
        request=CreateRequest.from_plain(job.request),
        status="in_progress",
    )
    return failed(so_far, LOST)


def _last_words(told: list[Json], final: Json) -> Message:
    return failure(final, LOST, told[-1]["sequence_number"] + 1) if told else refusal(LOST)
