"""The end of a tenant: everything of it is deleted, in batches, whatever interrupts it.

Asking for it is one transaction: the tenant is switched off, so its keys and its people are out at once. Then the
deletion is done by a task, and taken up by beat until nothing is left. The tenant's own row goes last, when no response
that was running then can come to its end any more.
"""

import uuid
from datetime import timedelta
from typing import Any, Final

import structlog
from django.conf import settings
from django.db import connection
from django.utils import timezone

from responses_api.models import File, IdempotentRequest, Item, Response, UsedApproval
from responses_api.models.response import UNFINISHED
from responses_api.protocol.errors import ProtocolError
from responses_api.services.cancel import cancel
from responses_api.services.identity import now
from responses_api.services.retention import purge
from responses_api.services.stored_files import delete_all as delete_all_files
from tenants import audit
from tenants.keys import announce_change
from tenants.models import (
    ApiKey,
    AuditEvent,
    Invitation,
    Limit,
    Membership,
    Tenant,
    ToolPolicy,
    UsageRecord,
    UsageTotal,
)
from tenants.scoping import operator_scope, tenant_scope

log = structlog.get_logger(__name__)

_AT_ONCE: Final = 5_000
_MARGIN_SECONDS: Final = 60.0

# In an order in which nothing is deleted before what points to it.
_MODELS: Final[tuple[Any, ...]] = (
    Item,
    Response,
    File,
    IdempotentRequest,
    UsedApproval,
    UsageRecord,
    UsageTotal,
    Limit,
    ToolPolicy,
    Invitation,
    Membership,
    ApiKey,
    AuditEvent,
)


def ask_for_end(tenant: Tenant, *, user: Any = None, actor: str = audit.COMMAND) -> None:
    """Switch a tenant off for good; from here on it is being deleted. Needs a scope that sees it."""
    tenant.is_active = False
    tenant.deletion_asked_at = tenant.deletion_asked_at or timezone.now()
    tenant.save(update_fields=["is_active", "deletion_asked_at"])
    audit.record("tenant.deletion_asked", tenant.name, tenant_id=tenant.id, user=user, actor=actor)
    announce_change()


def end_asked_for() -> int:
    """Go on with the deletion of every tenant whose end was asked for; returns how many there are no more."""
    with operator_scope():
        asked = list(Tenant.objects.exclude(deletion_asked_at=None).values_list("id", flat=True))
    return sum(_try_to_end(tenant_id) for tenant_id in asked)


def end_tenant(tenant_id: uuid.UUID) -> bool:
    """Delete what the tenant has, if its end was asked for. True once its own row is gone, too.

    Raises the database's error where it stays away; the next call goes on.
    """
    with operator_scope():
        tenant = Tenant.objects.filter(id=tenant_id).exclude(deletion_asked_at=None).first()
    if tenant is None:
        return False
    _cancel_unfinished(tenant_id)
    purge(tenant_id, before=now() + 86_400)
    delete_all_files(tenant_id)
    if timezone.now() < _last_possible_end(tenant):
        return False
    for model in _MODELS:
        _empty(tenant_id, model._meta.db_table)
    return _remove(tenant)


def _try_to_end(tenant_id: uuid.UUID) -> bool:
    try:
        return end_tenant(tenant_id)
    except Exception:  # the others must come to their end all the same; this one is tried again
        log.exception("a tenant could not be deleted yet", tenant_id=str(tenant_id))
        return False


def _last_possible_end(tenant: Tenant) -> Any:
    """When nothing that ran when the end was asked for can be stored any more."""
    asked_at = tenant.deletion_asked_at
    assert asked_at is not None
    return asked_at + timedelta(seconds=settings.RESPONSE_SECONDS + settings.QUEUE_SECONDS + _MARGIN_SECONDS)


def _cancel_unfinished(tenant_id: uuid.UUID) -> None:
    with tenant_scope(tenant_id):
        waiting = list(Response.objects.filter(status__in=UNFINISHED).values_list("id", flat=True))
    for response_id in waiting:
        try:
            cancel(tenant_id, response_id)
        except ProtocolError as error:
            log.warning("a response could not be cancelled yet", response_id=response_id, error=error.code)


def _empty(tenant_id: uuid.UUID, table: str) -> None:
    """Delete the tenant's rows of a table, so many in each transaction."""
    batch = _AT_ONCE
    while batch == _AT_ONCE:
        with tenant_scope(tenant_id), connection.cursor() as cursor:
            cursor.execute(
                f'DELETE FROM "{table}" WHERE tenant_id = %s AND ctid = ANY(ARRAY('
                f'SELECT ctid FROM "{table}" WHERE tenant_id = %s LIMIT %s))',
                [tenant_id, tenant_id, _AT_ONCE],
            )
            batch = cursor.rowcount


def _remove(tenant: Tenant) -> bool:
    with operator_scope():
        Tenant.objects.filter(id=tenant.id).delete()
        audit.record("tenant.deleted", tenant.name, tenant_id=None, actor=audit.SYSTEM, id=str(tenant.id))
    log.info("tenant deleted", tenant_id=str(tenant.id))
    return True
