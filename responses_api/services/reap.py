"""Reap: ends the responses whose worker is gone, so that no client waits for ever and no row stays open.

Runs in every web process and by beat; who takes a lost response first ends it, nobody else does. A background response
is given to another worker instead, as often as `background.begin_again` allows.
"""

import uuid
from typing import Final

import structlog

from responses_api.eventlog import bus, journal
from responses_api.eventlog.claims import Lost, discard, give_up, put_down, take_lost
from responses_api.eventlog.message import Message
from responses_api.protocol.errors import ProtocolError, server_error
from responses_api.protocol.job import Job
from responses_api.services.background import as_served, begin_again, end_here
from responses_api.services.endings import BrokenOff, broken_off, refusal
from responses_api.services.finish import finish
from responses_api.services.stored import stored_end

log = structlog.get_logger(__name__)

LOST: Final = server_error("The worker that generated this response was lost.", code="worker_lost")
_HANDED_ON: Final = server_error("No worker could end this response.", code="worker_lost")
_DERAILED: Final = server_error("The server failed to end the response.", code="generation_failed")


def reap() -> int:
    """End every response of a lost worker, or begin it again; returns how many this call saw to.

    One that cannot be ended now is left to the next call after the time that a reaper has.
    """
    return sum(_try_to_end(lost, LOST) for lost in take_lost())


def give_back(response_id: str, envelope: bytes, worker: str, error: ProtocolError | None) -> None:
    """See to a background response that its worker cannot end: it ends with `error`; without one it is handed on to
    another worker. Where not even that can be done now, it is found again by its row.
    """
    if not _try_to_end(Lost(response_id, worker, envelope), error or _HANDED_ON):
        put_down(response_id, worker)


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
    job = as_served(Job.from_bytes(lost.job))
    if job.is_background and bus.is_cancelled(job.response_id):
        end_here(job, None, worker=lost.worker)
    elif job.is_background and error in (LOST, _HANDED_ON) and begin_again(lost, job, is_loss=error is LOST):
        log.warning("a response was given to another worker", response_id=job.response_id, worker=lost.worker)
    else:
        _end_failed(lost, job, error)


def _end_failed(lost: Lost, job: Job, error: ProtocolError) -> None:
    ending = broken_off(job, journal.read_events(job.response_id), error)
    is_stored = bool(job.request["store"])
    is_ours = bool(finish([ending.outcome()]))
    last_words = _last_words(job, ending, error) if is_ours else _overdue(job, ending, error)
    give_up(
        lost,
        last_words.to_bytes(),
        inbox=job.inbox,
        keep_journal=is_stored or job.is_keyed,
        make_journal=job.is_keyed,
    )
    log.error(
        "response ended without its worker",
        error=error.code,
        response_id=job.response_id,
        tenant_id=job.tenant_id,
        request_id=job.request_id,
        worker=lost.worker,
    )


def _overdue(job: Job, ending: BrokenOff, error: ProtocolError) -> Message:
    """The end that the worker had stored and not told, where what it told leads there."""
    stream = job.request["stream"] or job.is_background
    told = b"".join(message.body for message in journal.read(job.response_id))
    stored = stored_end(uuid.UUID(job.tenant_id), job.response_id, stream, len(ending.told), told)
    return stored or _last_words(job, ending, error)


def _last_words(job: Job, ending: BrokenOff, error: ProtocolError) -> Message:
    return ending.last_words() if ending.told or job.is_background else refusal(error)
