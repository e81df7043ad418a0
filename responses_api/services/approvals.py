"""Approvals are used once: a call that a client has approved is run by one response, however often the approval comes.

Whoever is about to run it claims it first. A response that is taken up again by another worker has its own claims.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection

from responses_api.models import UsedApproval
from tenants.scoping import tenant_scope

_CLAIM: Final = """
INSERT INTO responses_api_usedapproval AS used (tenant_id, approval_request_id, response_id)
VALUES (%(tenant)s, %(request)s, %(response)s)
ON CONFLICT (tenant_id, approval_request_id) DO UPDATE SET response_id = used.response_id
 WHERE used.response_id = excluded.response_id
RETURNING response_id
"""
# In batches: however many there are, no statement takes longer than one may.
_PURGE_AT_ONCE: Final = 5_000
_PURGE: Final = """
DELETE FROM responses_api_usedapproval WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM responses_api_usedapproval
     WHERE tenant_id = %(tenant)s AND created_at < %(before)s ORDER BY created_at LIMIT %(most)s
     FOR UPDATE SKIP LOCKED
))
"""


def claim(tenant_id: UUID, approval_request_id: str, response_id: str) -> bool:
    """Whether this response may run what was approved: true for the first one that asks, and for it again. Blocks: for
    threads. `approval_request_id` is the `key` of the answered request (`protocol.approvals`).
    """
    given: dict[str, Any] = {"tenant": tenant_id, "request": approval_request_id, "response": response_id}
    with tenant_scope(tenant_id), connection.cursor() as cursor:
        cursor.execute(_CLAIM, given)
        return cursor.fetchone() is not None


def claimed(tenant_id: UUID, approval_request_ids: Sequence[str]) -> set[str]:
    """Those of these approvals that some response has used. Blocks: for threads."""
    with tenant_scope(tenant_id):
        used = UsedApproval.objects.filter(approval_request_id__in=approval_request_ids)
        return set(used.values_list("approval_request_id", flat=True))


def purge(tenant_id: UUID, *, before: int) -> int:
    """Delete the claims that a tenant's responses made before a moment (unix seconds); returns how many.

    What was asked before then is deleted, too: nobody can approve it any more.
    """
    purged, batch = 0, _PURGE_AT_ONCE
    given: dict[str, Any] = {"before": datetime.fromtimestamp(before, UTC), "most": _PURGE_AT_ONCE}
    while batch == _PURGE_AT_ONCE:
        with tenant_scope(tenant_id), connection.cursor() as cursor:
            cursor.execute(_PURGE, {**given, "tenant": tenant_id})
            batch = cursor.rowcount
        purged += batch
    return purged
