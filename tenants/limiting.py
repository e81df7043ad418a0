"""Limits set and lifted: every process learns it at once, and the audit log keeps who did it."""

from typing import Any

from django.conf import settings

from tenants import audit
from tenants.keys import announce_change
from tenants.metrics import amount_text
from tenants.models import ApiKey, Limit, Tenant


def put_limit(
    tenant: Tenant,
    metric: str,
    amount: int,
    *,
    key: ApiKey | None = None,
    model: str = "",
    is_hard: bool = True,
    set_by: str = "operator",
    user: Any = None,
) -> tuple[Limit, bool]:
    """Set a limit, or change the amount of the one that there is: (limit, whether it is new). Needs a scope.

    `amount` is in nano-units where it is cost. Raises `ValueError` where the key is another tenant's.
    """
    if key is not None and key.tenant_id != tenant.id:
        raise ValueError(f"The key {key} does not belong to the tenant {tenant}.")
    place = {
        "tenant": tenant,
        "key": key,
        "model": model,
        "metric": metric,
        "is_hard": is_hard,
        "set_by": set_by,
    }
    limit, is_new = Limit.objects.get_or_create(**place, defaults={"amount": amount})
    if is_new or limit.amount != amount:
        before, limit.amount = limit.amount, amount
        limit.save(update_fields=["amount"])
        tell("set" if is_new else "changed", limit, user=user, **({} if is_new else {"before": before}))
    return limit, is_new


def lift_limit(limit: Limit, *, user: Any = None) -> None:
    """Delete a limit. Needs a scope."""
    tell("lifted", limit, user=user)
    limit.delete()


def tell(what: str, limit: Limit, *, user: Any = None, **details: Any) -> None:
    """Say that a limit was set, changed or lifted: to the audit log, and to every process once that is committed."""
    audit.record(
        f"limit.{what}",
        describe(limit),
        tenant_id=limit.tenant_id,
        user=user,
        limit=str(limit.pk),
        metric=limit.metric,
        amount=limit.amount,
        is_hard=limit.is_hard,
        set_by=limit.set_by,
        key=str(limit.key_id) if limit.key_id else None,
        model=limit.model or None,
        **details,
    )
    announce_change()


def describe(limit: Limit) -> str:
    """A limit in words: `60 requests per minute, key laptop (ak_abc…wxyz), model x, hard`."""
    amount = amount_text(limit.metric, limit.amount, settings.CURRENCY)
    return ", ".join(
        (
            f"{amount} {limit.get_metric_display()}",
            *((f"key {limit.key}",) if limit.key_id else ()),
            *((f"model {limit.model}",) if limit.model else ()),
            "hard" if limit.is_hard else "soft",
        )
    )
