"""The limits that hold for a key: what the tenant and its operator set, as plain data."""

import uuid
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Q

from tenants import audit
from tenants.models import Limit, Tenant


@dataclass(frozen=True, slots=True)
class LimitSpec:
    """One limit: see `tenants.models.Limit`. `key_id` None and `model` "" are everybody and everything."""

    id: uuid.UUID
    key_id: uuid.UUID | None
    model: str
    metric: str
    amount: int
    is_hard: bool
    set_by: str


def limits_of(tenant_id: uuid.UUID, key_id: uuid.UUID) -> tuple[LimitSpec, ...]:
    """All limits that a request with this key may run into, whatever its model. Needs a scope."""
    rows = Limit.objects.filter(Q(key=None) | Q(key_id=key_id), tenant_id=tenant_id).order_by("id")
    return tuple(
        LimitSpec(*row)
        for row in rows.values_list("id", "key_id", "model", "metric", "amount", "is_hard", "set_by")
    )


def give_starting_limits(tenant: Tenant) -> None:
    """Give a tenant that signed up by itself the operator's limits of `ANTIPHON_SIGNUP_LIMITS`. Needs a scope.

    For a tenant that is new: it has no keys yet, so no process has to be told.
    """
    for metric, amount in settings.SIGNUP_LIMITS:
        Limit.objects.create(tenant=tenant, metric=metric, amount=amount, set_by="operator")
    if settings.SIGNUP_LIMITS:
        audit.record(
            "limit.set",
            "the limits of a new tenant",
            tenant_id=tenant.id,
            actor=audit.SYSTEM,
            limits=dict(settings.SIGNUP_LIMITS),
        )
