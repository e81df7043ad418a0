"""Who asks when the operator checks its own routes: a tenant of its own, and a key for one run."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import count
from typing import Final

from django.utils import timezone

from tenants import audit
from tenants.keys import new_key, revoke_key
from tenants.models import ApiKey, Tenant
from tenants.models.key import CHOOSE_BACKENDS
from tenants.scoping import operator_scope, tenant_scope

TENANT_ID: Final = uuid.UUID("6a2c7f5e-3f0b-4f52-9d5e-c0f0a2ce0001")
"""The tenant is known by its id: a team may have taken the name before."""
NAME: Final = "Conformance"
_LIFETIME: Final = timedelta(hours=1)
_SCOPES: Final = ("responses:write", "responses:read", CHOOSE_BACKENDS)


@contextmanager
def checking_key(model: str) -> Iterator[str]:
    """The text of a key that may ask this model at any of its backends. It is revoked at the end, whatever happens."""
    key, text = new_key(
        checking_tenant(),
        name=f"checks {model}"[:120],
        scopes=_SCOPES,
        expires_at=timezone.now() + _LIFETIME,
        allowed_models=[model],
    )
    try:
        yield text
    finally:
        with tenant_scope(TENANT_ID):
            revoke_key(ApiKey.objects.get(id=key.id))


def checking_tenant() -> Tenant:
    """The operator's own tenant, made where it is not there yet. It has no members: nobody signs in to it."""
    with operator_scope():
        found: Tenant | None = Tenant.objects.filter(id=TENANT_ID).first()
        if found is None:
            found = Tenant.objects.create(id=TENANT_ID, name=_free_name(), retention_days=1)
            audit.record("tenant.founded", found.name, tenant_id=found.id, actor=audit.SYSTEM)
    return found


def _free_name() -> str:
    names = (NAME if number == 1 else f"{NAME} {number}" for number in count(1))
    return next(name for name in names if not Tenant.objects.filter(name=name).exists())
