"""Rescue: a background response that everybody has lost sight of is found by its row, and given to a worker again.

The broker or Valkey may have been lost, a worker may have died between taking a message and claiming its job. Runs in
every web process and by beat, one look at a time in the whole service.
"""

import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import structlog
from django.conf import settings

from responses_api.chains import load_context
from responses_api.dispatch import BACKGROUND_QUEUE, waiting_messages
from responses_api.eventlog import claims
from responses_api.eventlog.claims import Lost, Whereabouts
from responses_api.models import Item, Response
from responses_api.models.response import UNFINISHED
from responses_api.protocol.errors import ProtocolError, overloaded
from responses_api.protocol.job import Job
from responses_api.services.background import announce, begin_again, end_here, job_of_row, offer, told_before
from responses_api.services.identity import now
from responses_api.services.reap import LOST
from responses_api.services.routing import model_named
from tenants.scoping import operator_scope, tenant_scope

log = structlog.get_logger(__name__)

_MOST_AT_ONCE: Final = 500
_SEND_AGAIN_SECONDS: Final = 600.0
"""A message that waits in a queue that is never empty may be one of those that wait, or lost: after so long it is sent
again. A second message changes nothing: the job is claimed once."""

_NOBODY_CAME: Final = overloaded(
    "No worker took the response in time (ANTIPHON_BACKGROUND_QUEUE_SECONDS).", retry_after=None
)


def rescue() -> int:
    """Help every background response that is neither waiting for a worker nor with one; returns how many there were."""
    if not claims.may_rescue(settings.LEASE_SECONDS):
        return 0
    return sum(_try_to_help(row, whereabouts) for row, whereabouts in _unclaimed())


def _unclaimed() -> Iterator[tuple[Any, Whereabouts]]:
    """The unfinished rows that no worker holds. Those that were made just now are left out: they are on their way."""
    newest, made_before = "", now() - settings.LEASE_SECONDS
    while True:
        with operator_scope():
            waiting = Response.objects.filter(
                status__in=UNFINISHED, id__gt=newest, created_at__lte=made_before
            )
            rows = list(waiting.only("id", "status", "created_at").order_by("id")[:_MOST_AT_ONCE])
        for row, found in zip(rows, claims.whereabouts([row.id for row in rows]), strict=True):
            if not found.is_claimed:
                yield row, found
        if len(rows) < _MOST_AT_ONCE:
            return
        newest = rows[-1].id


def _try_to_help(row: Any, found: Whereabouts) -> bool:
    try:
        return _help(row, found)
    except Exception:
        log.exception("a background response could not be rescued", response_id=row.id)
        return False


def _help(row: Any, found: Whereabouts) -> bool:
    is_late = row.status == "queued" and now() - row.created_at > settings.BACKGROUND_QUEUE_SECONDS
    if found.is_offered and not (found.is_cancelled or is_late):
        return _send_again(row.id, found.sent_at)
    with operator_scope():
        whole = Response.objects.filter(id=row.id, status__in=UNFINISHED).first()
    if whole is None:
        return False
    log.warning("a lost background response was found", response_id=row.id, tenant_id=str(whole.tenant_id))
    if found.is_cancelled or is_late:
        end_here(job_of_row(whole), _NOBODY_CAME if is_late else None, before=told_before(whole))
    else:
        _offer_again(whole, found)
    return True


def _send_again(response_id: str, sent_at: float | None) -> bool:
    """Send the message of a job that waits, if it must be lost."""
    age = time.time() - (sent_at or 0.0)
    if age < settings.LEASE_SECONDS:
        return False
    if age < _SEND_AGAIN_SECONDS and waiting_messages(BACKGROUND_QUEUE):
        return False
    announce(response_id)
    return True


def _offer_again(row: Any, found: Whereabouts) -> None:
    """Make the job anew of what is stored, and hand it to the workers."""
    told = told_before(row)
    try:
        job = _job(row)
    except ProtocolError as error:
        end_here(job_of_row(row), error, before=told)
        return
    # Something was told of one that had begun; what it was nobody knows once the journal is lost.
    is_forgotten = row.is_followed and told is None and not found.has_journal
    if row.status == "queued":
        offer(job, job.to_bytes(), told)
    elif is_forgotten or not begin_again(Lost(row.id, "", b""), job):
        end_here(job, LOST, before=told)


def _job(row: Any) -> Job:
    """The job of an unfinished row. Raises `ProtocolError` where what it needs is not there any more."""
    model = model_named(row.model)
    with tenant_scope(uuid.UUID(str(row.tenant_id))):
        history = load_context(row.previous_id) if row.previous_id else []
        given = Item.objects.filter(response_id=row.id, is_output=False).order_by("position")
        input_items = list(given.values_list("data", flat=True))
    return replace(
        job_of_row(row),
        request_id=f"rescued_{row.id}",
        history=history,
        input_items=input_items,
        backend=model.backend.to_plain(),
        upstream_model=model.upstream_model,
        context_window=model.context_window,
    )
