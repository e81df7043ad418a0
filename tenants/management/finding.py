"""What commands are told by name: a tenant, and one of its keys."""

import uuid
from typing import Any

from django.core.management.base import CommandError
from django.db.models import Q

from tenants.models import ApiKey, Tenant
from tenants.scoping import operator_scope


def tenant_named(name: str) -> Tenant:
    """The tenant of this name. Raises CommandError."""
    with operator_scope():
        found: Tenant | None = Tenant.objects.filter(name=name).first()
    if found is None:
        raise CommandError(f"There is no tenant named {name!r}; `create_tenant` makes one.")
    return found


def key_named(tenant: Tenant, text: str) -> ApiKey:
    """The tenant's key with this id, name or last four characters. Raises CommandError, also where several fit.

    Keys that were revoked are not looked at, nor those of the playground.
    """
    named = Q(name=text) | Q(last_four=text)
    if (key_id := _uuid(text)) is not None:
        named |= Q(pk=key_id)
    with operator_scope():
        rows: Any = ApiKey.objects.filter(named, tenant=tenant, revoked_at=None, purpose="app")
        found = list(rows.select_related("tenant"))
    if not found:
        raise CommandError(
            f"The tenant {tenant.name!r} has no working key named {text!r}, nor one that ends so."
        )
    if len(found) > 1:
        listed = "".join(f"\n  {key.id}  {key}" for key in found)
        raise CommandError(f"Several keys fit; name one by its id:{listed}")
    key: ApiKey = found[0]
    return key


def _uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
