"""Sweep: a reservation that everybody has forgotten is settled by its row of the ledger, or given back.

Whoever should have settled it died between the database's commit and Valkey, or before anybody took its job. Runs in
every web process and by beat, one look at a time in the whole service.
"""

import uuid
from collections.abc import Sequence
from typing import Any, Final

import structlog
from django.conf import settings

from responses_api.eventlog import claims
from responses_api.eventlog.connection import blocking_client
from responses_api.models import Response
from responses_api.models.response import UNFINISHED
from responses_api.quotas import names
from responses_api.quotas.counters import Reservation
from responses_api.quotas.settling import settle
from responses_api.services.identity import now
from tenants import ledger
from tenants.ledger import Entry
from tenants.models import Limit
from tenants.scoping import operator_scope, tenant_scope

log = structlog.get_logger(__name__)

_SETTLING_SECONDS: Final = 5
"""How long whoever wrote a row may take to settle it."""
_QUEUES: Final = 3
"""After so many times as long as it may wait a job that is nowhere will not come any more."""


def sweep() -> int:
    """Settle what was forgotten; returns how much it was."""
    client: Any = blocking_client()
    if not client.set(names.sweep(), b"1", nx=True, px=int(settings.LEASE_SECONDS * 1000)):
        return 0
    with operator_scope():
        tenants = list(Limit.objects.order_by().values_list("tenant_id", flat=True).distinct())
    return sum(map(_try_to_sweep, tenants))


def _try_to_sweep(tenant_id: uuid.UUID) -> int:
    try:
        entries = forgotten(tenant_id, _open(tenant_id))
    except Exception:
        log.exception("a tenant's reservations could not be looked through", tenant_id=str(tenant_id))
        return 0
    if entries:
        log.warning("forgotten reservations were settled", tenant_id=str(tenant_id), responses=len(entries))
        settle(entries)
    return len(entries)


def _open(tenant_id: uuid.UUID) -> list[Reservation]:
    held: Any = blocking_client().hgetall(names.prefix(tenant_id) + "open")
    return [Reservation.from_text(raw.decode(), tenant_id, text.decode()) for raw, text in held.items()]


def forgotten(tenant_id: uuid.UUID, reservations: Sequence[Reservation]) -> list[Entry]:
    """The rows of the ledger of those that nobody settles any more. One without a row that nobody will run gets one, of
    a failed request that used nothing.
    """
    old = [reservation for reservation in reservations if _age(reservation) > _SETTLING_SECONDS]
    with tenant_scope(tenant_id):
        ended = ledger.entries([reservation.response_id for reservation in old])
        known = {entry.response_id for entry in ended}
        lost = _lost([reservation for reservation in old if reservation.response_id not in known])
        recorded = ledger.record([_failed(reservation) for reservation in lost])
    return [
        *(entry for entry in ended if now() - entry.ended_at > _SETTLING_SECONDS),
        *(_failed(reservation) for reservation in lost if reservation.response_id in recorded),
    ]


def _lost(reservations: Sequence[Reservation]) -> list[Reservation]:
    """Those whose job is nowhere any more."""
    longest = settings.QUEUE_SECONDS * _QUEUES
    late = [reservation for reservation in reservations if _age(reservation) > longest]
    ids = [reservation.response_id for reservation in late]
    waiting = set(Response.objects.filter(id__in=ids, status__in=UNFINISHED).values_list("id", flat=True))
    found = zip(late, claims.whereabouts(ids), strict=True) if ids else ()
    return [
        reservation
        for reservation, where in found
        if not (where.is_claimed or where.is_offered or reservation.response_id in waiting)
    ]


def _age(reservation: Reservation) -> int:
    return now() - reservation.created_at


def _failed(reservation: Reservation) -> Entry:
    return Entry(
        response_id=reservation.response_id,
        tenant_id=reservation.tenant_id,
        key_id=reservation.key_id,
        model=reservation.model,
        status="failed",
        error_code="worker_lost",
        reserved_tokens=reservation.tokens,
        reserved_nanos=reservation.nanos,
        created_at=reservation.created_at,
        ended_at=now(),
    )
