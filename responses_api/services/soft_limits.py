"""Soft limits let requests pass; that one was reached is written down and told to the tenant's owners."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from celery import current_app

from responses_api.dispatch import DEFAULT_QUEUE, destination
from responses_api.quotas.counters import Check
from responses_api.quotas.wording import described
from tenants.audit import SYSTEM, record
from tenants.scoping import tenant_scope

TELL_OWNERS: Final = "antiphon.tell_owners"
_EXPIRES_SECONDS: Final = 3600


def tell_reached(tenant_id: UUID, reached: Sequence[Check]) -> None:
    """Write down that these soft limits were reached, and have the owners told by e-mail. Blocks: for threads."""
    with tenant_scope(tenant_id):
        for check in reached:
            record(
                "limit.soft_reached",
                described(check),
                tenant_id=tenant_id,
                actor=SYSTEM,
                limit=str(check.limit.id),
                metric=check.limit.metric,
                amount=check.amount,
                model=check.limit.model,
            )
    limits = "\n".join(f"* {described(check)}" for check in reached)
    current_app.send_task(
        TELL_OWNERS,
        args=[
            str(tenant_id),
            "A soft limit was reached",
            f"Requests go on, and this was reached:\n\n{limits}\n",
        ],
        **destination(DEFAULT_QUEUE),
        expires=_EXPIRES_SECONDS,
        ignore_result=True,
    )
