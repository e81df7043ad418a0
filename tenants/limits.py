"""The limits that hold for a key: what the tenant and its operator set, as plain data."""

import uuid
from dataclasses import dataclass

from django.db.models import Q

from tenants.models import Limit


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
