"""Retention: what a tenant keeps no longer is deleted, in batches that hold no lock for long.

Ids are time-ordered, so what is older than a moment is a range of the primary key. A batch is one statement in its own
transaction; rows that somebody else holds are left to the next run, so any number of purges may run at once. Responses
that have not ended stay: they are deleted once they have.
"""

import uuid
from collections.abc import Callable, Iterator
from typing import Any, Final

import structlog
from django.conf import settings
from django.db import OperationalError, connection

from responses_api.eventlog import bus, journal
from responses_api.models.response import UNFINISHED
from responses_api.protocol.ids import RESPONSE, first_id
from responses_api.services import approvals
from responses_api.services.identity import now
from tenants.models import Tenant
from tenants.scoping import operator_scope, tenant_scope

log = structlog.get_logger(__name__)

_MOST_PER_BATCH: Final = 500
_DAY_SECONDS: Final = 86_400
_CLAIMS_DAYS: Final = 30
"""How long a tenant that keeps nothing keeps at least that an approval was used: ids alone."""

_DELETE: Final = """
WITH old AS (
    SELECT id, root_id, completed_at FROM responses_api_response
     WHERE tenant_id = %(tenant)s AND id < %(before)s AND id > %(after)s AND NOT status = ANY(%(unfinished)s)
     ORDER BY id LIMIT %(most)s FOR UPDATE SKIP LOCKED
), items AS (
    DELETE FROM responses_api_item USING old WHERE tenant_id = %(tenant)s AND response_id = old.id
), keys AS (
    UPDATE responses_api_idempotentrequest SET is_gone = true
      FROM old WHERE tenant_id = %(tenant)s AND response_id = old.id
), gone AS (
    DELETE FROM responses_api_response AS response USING old
     WHERE response.tenant_id = %(tenant)s AND response.id = old.id
)
SELECT id, root_id, completed_at FROM old ORDER BY id
"""


def purge_expired() -> int:
    """Delete the responses that are older than their tenants keep them; returns how many there were."""
    with operator_scope():
        keeping = list(Tenant.objects.exclude(retention_days=None).values_list("id", "retention_days"))
        unkept = Tenant.objects.filter(retention_days=None, zero_data_retention=True)
        keeping_nothing = list(unkept.values_list("id", flat=True))
    for tenant_id in keeping_nothing:
        approvals.purge(tenant_id, before=now() - _CLAIMS_DAYS * _DAY_SECONDS)
    return sum(
        purge(tenant_id, before=now() - days * _DAY_SECONDS)
        for tenant_id, days in keeping
        if days is not None
    )


def purge(tenant_id: uuid.UUID, *, before: int, told: Callable[[int], None] | None = None) -> int:
    """Delete the tenant's ended responses that were made before a moment (unix seconds), with their items.

    Returns how many there were; `told` hears after each batch how many it is so far. Raises the database's error where
    it stays away; what was deleted until then is gone, and the next call goes on.
    """
    purged = 0
    for batch in _batches(tenant_id, first_id(RESPONSE, before * 1000)):
        purged += batch
        if told is not None:
            told(purged)
    approvals.purge(tenant_id, before=before)
    if purged:
        log.info("responses purged", tenant_id=str(tenant_id), responses=purged)
    return purged


def _batches(tenant_id: uuid.UUID, before: str) -> Iterator[int]:
    after, most = "", _MOST_PER_BATCH
    while True:
        try:
            gone = _delete(tenant_id, after=after, before=before, most=most)
        except OperationalError:
            if most == 1:
                raise
            most = max(1, most // 8)  # responses with very many items take longer than a statement may
            continue
        if not gone:
            return
        # Those before it are gone or held by somebody: no batch walks over their remains again.
        after = gone[-1]
        yield len(gone)


def _delete(tenant_id: uuid.UUID, *, after: str, before: str, most: int) -> list[str]:
    """Delete one batch, oldest first, and return its ids; then nobody tells of them any more."""
    given: dict[str, Any] = {
        "tenant": tenant_id,
        "after": after,
        "before": before,
        "most": most,
        "unfinished": list(UNFINISHED),
    }
    with tenant_scope(tenant_id), connection.cursor() as cursor:
        cursor.execute(_DELETE, given)
        gone = cursor.fetchall()
    # Not before they are gone: a copy that is made meanwhile would stay.
    bus.announce_deletions(str(tenant_id), {root_id for _, root_id, _ in gone if root_id is not None})
    journal.drop_all([response_id for response_id, _, ended in gone if ended is None or _has_journal(ended)])
    return [response_id for response_id, _, _ in gone]


def _has_journal(ended_at: int) -> bool:
    return now() - ended_at < settings.JOURNAL_SECONDS + _DAY_SECONDS
