"""Tenants for tests."""

from typing import Any

from tenants.models import Tenant
from tenants.scoping import operator_scope


def make_tenant(name: str, **fields: Any) -> Tenant:
    """A tenant, made as the operator makes it."""
    with operator_scope():
        tenant: Tenant = Tenant.objects.create(name=name, **fields)
    return tenant


def tenant_names() -> list[str]:
    """The names of all tenants, in their order."""
    with operator_scope():
        return list(Tenant.objects.order_by("name").values_list("name", flat=True))


def tenant_named(name: str) -> Tenant:
    """The tenant with this name."""
    with operator_scope():
        tenant: Tenant = Tenant.objects.get(name=name)
    return tenant
