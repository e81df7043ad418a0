"""Rescue: a background response that everybody has lost sight of is found by its row, and given to a worker again; jobs
that wait without a ticket in the broker get one.

The broker or Valkey may have been lost, a worker may have died with a ticket in its hand. Runs in every web process and
by beat, one look at a time in the whole service.
"""

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import structlog
from django.conf import settings

from responses_api.chains import load_context
from responses_api.dispatch import BACKGROUND_QUEUE, QUEUES, send_tickets, waiting_messages
from responses_api.eventlog import claims, turns
from responses_api.eventlog.claims import Lost, Whereabouts
from responses_api.eventlog.connection import blocking_client
from responses_api.models import Item, Response
from responses_api.models.response import UNFINISHED
from responses_api.protocol.errors import ProtocolError, overloaded
from responses_api.protocol.job import Job
from responses_api.protocol.order import with_preference
from responses_api.protocol.request import CreateRequest
from responses_api.protocol.target import Target
from responses_api.services.background import announce, begin_again, end_here, job_of_row, offer, told_before
from responses_api.services.identity import now
from responses_api.services.reap import LOST
from responses_api.services.routing import model_named
from responses_api.services.targets import able
from tenants.scoping import operator_scope, tenant_scope

log = structlog.get_logger(__name__)

_MOST_AT_ONCE: Final = 500
_NOBODY_CAME: Final = overloaded(
    "No worker took the response in time (ANTIPHON_BACKGROUND_QUEUE_SECONDS).", retry_after=None
)


def rescue() -> int:
    """Help every background response that is neither waiting for a worker nor with one, and replace tickets that are
    lost; returns how many responses were helped.
    """
    if not claims.may_rescue(settings.LEASE_SECONDS):
        return 0
    helped = sum(_try_to_help(*unclaimed) for unclaimed in _unclaimed())
    for queue_name in QUEUES:
        _replace_tickets(queue_name)
    return helped


def _replace_tickets(queue_name: str) -> None:
    """Send tickets for jobs that have waited for a while in a queue for which the broker has none.

    As long as it has some, all that waits moves on, and who comes too late for its ticket has come last.
    """
    waiting = min(turns.overdue(queue_name, settings.LEASE_SECONDS), _MOST_AT_ONCE)
    try:
        if not waiting or waiting_messages(queue_name):
            return
        send_tickets(queue_name, waiting)
    except Exception as error:  # of whichever class the broker's client has; the next look tries again
        log.warning("jobs wait for the broker", queue=queue_name, jobs=waiting, error=type(error).__name__)
    else:
        log.warning("lost tickets were replaced", queue=queue_name, jobs=waiting)


def _unclaimed() -> Iterator[tuple[Any, Whereabouts, bool]]:
    """The unfinished rows that no worker holds, and whether they wait for one. Those that were made just now are left
    out: they are on their way.
    """
    newest, made_before = "", now() - settings.LEASE_SECONDS
    while True:
        with operator_scope():
            waiting = Response.objects.filter(
                status__in=UNFINISHED, id__gt=newest, created_at__lte=made_before
            )
            fields = waiting.only("id", "tenant_id", "status", "created_at")
            rows = list(fields.order_by("id")[:_MOST_AT_ONCE])
        waits = turns.are_waiting(BACKGROUND_QUEUE, [(str(row.tenant_id), row.id) for row in rows])
        for row, found, is_waiting in zip(
            rows, claims.whereabouts([row.id for row in rows]), waits, strict=True
        ):
            if not found.is_claimed:
                yield row, found, is_waiting
        if len(rows) < _MOST_AT_ONCE:
            return
        newest = rows[-1].id


def _try_to_help(row: Any, found: Whereabouts, is_waiting: bool) -> bool:
    try:
        return _help(row, found, is_waiting)
    except Exception:
        log.exception("a background response could not be rescued", response_id=row.id)
        return False


def _help(row: Any, found: Whereabouts, is_waiting: bool) -> bool:
    is_late = row.status == "queued" and now() - row.created_at > settings.BACKGROUND_QUEUE_SECONDS
    if found.is_offered and not (found.is_cancelled or is_late):
        return not is_waiting and _queue_again(row)
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


def _queue_again(row: Any) -> bool:
    """Let a job wait that is there and waits nowhere: its worker let go of it before it began."""
    tenant_id = str(row.tenant_id)
    turns.queue_background(blocking_client(), BACKGROUND_QUEUE, tenant_id, row.id)
    announce(tenant_id, row.id)
    return True


def _offer_again(row: Any, found: Whereabouts) -> None:
    """Make the job anew of what is stored, and hand it to the workers."""
    told = told_before(row)
    try:
        job = job_of_lost(row)
    except ProtocolError as error:
        end_here(job_of_row(row), error, before=told)
        return
    # Something was told of one that had begun; what it was nobody knows once the journal is lost.
    is_forgotten = row.is_followed and told is None and not found.has_journal
    if row.status == "queued":
        offer(job, job.to_bytes(), told)
    elif is_forgotten or not begin_again(Lost(row.id, "", b""), job):
        end_here(job, LOST, before=told)


def job_of_lost(row: Any) -> Job:
    """The job of an unfinished row. Raises `ProtocolError` where what it needs is not there any more."""
    model = model_named(row.model)
    with tenant_scope(uuid.UUID(str(row.tenant_id))):
        history = load_context(row.previous_id) if row.previous_id else []
        given = Item.objects.filter(response_id=row.id, is_output=False).order_by("position")
        input_items = list(given.values_list("data", flat=True))
    job = replace(job_of_row(row), request_id=f"rescued_{row.id}", history=history, input_items=input_items)
    request = CreateRequest.from_plain({**row.request, "input": input_items})
    model = replace(model, targets=_chosen(able(model.targets, request), row))
    # What was told before, if anything was, came from the backend that its row names.
    placed = job.among(with_preference(model.ordered(job), told_by=row.backend))
    return placed if placed.targets else replace(placed, prices=job.prices)


def _chosen(targets: Sequence[Target], row: Any) -> tuple[Target, ...]:
    """Those that were chosen when the response was asked for; where none of them is left, all that can serve it."""
    chosen = (row.score or {}).get("backends") or ()
    return tuple(target for target in targets if target.name in chosen) or tuple(targets)
