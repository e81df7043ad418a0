"""What takes long is asked for here and done by a worker: a purge, the end of a tenant."""

import uuid
from functools import partial
from typing import Any, Final

import structlog
from celery import current_app
from django.db import transaction

from responses_api.dispatch import BACKGROUND_QUEUE, destination
from responses_api.protocol.errors import overloaded
from responses_api.services.retention import purge
from responses_api.services.tenant_end import ask_for_end
from tenants import audit
from tenants.models import Tenant
from tenants.scoping import tenant_scope

log = structlog.get_logger(__name__)

PURGE_TENANT: Final = "antiphon.purge_tenant"
END_TENANT: Final = "antiphon.end_tenant"


def ask_for_purge(tenant: Tenant, *, before: int, user: Any) -> None:
    """Have a worker delete what the tenant stored before a moment (unix seconds). Needs a scope that sees it.

    Raises `ProtocolError` 503 where the queue does not take it; then nothing is deleted.
    """
    try:
        _send(PURGE_TENANT, str(tenant.id), before)
    except Exception as error:  # whatever stopped the broker's client: who asked is told
        log.error("a purge could not be queued", error=type(error).__name__)
        raise overloaded("The queue does not answer, so nothing was deleted; try again.") from error
    audit.record("tenant.purge_asked", tenant.name, tenant_id=tenant.id, user=user, before=before)


def purge_and_tell(tenant_id: uuid.UUID, before: int) -> int:
    """Purge, and write into the audit log how many responses there were."""
    purged = purge(tenant_id, before=before)
    with tenant_scope(tenant_id):
        tenant = Tenant.objects.filter(id=tenant_id).first()
        if tenant is not None:
            audit.record(
                "tenant.purged",
                tenant.name,
                tenant_id=tenant_id,
                actor=audit.SYSTEM,
                before=before,
                responses=purged,
            )
    return purged


def begin_end(tenant: Tenant, *, user: Any) -> None:
    """Switch the tenant off for good and have a worker delete everything of it. Needs a scope that sees it.

    Where the queue does not answer, beat takes it up.
    """
    ask_for_end(tenant, user=user)
    transaction.on_commit(partial(_send, END_TENANT, str(tenant.id)), robust=True)


def _send(task: str, *args: Any) -> None:
    current_app.send_task(
        task,
        args=args,
        **destination(BACKGROUND_QUEUE),
        ignore_result=True,
        retry=True,
        retry_policy={"max_retries": 2, "interval_start": 0.1, "interval_step": 0.2},
    )
