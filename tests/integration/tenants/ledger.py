"""Rows of the ledger for tests."""

import uuid
from typing import Any

from tenants.models import Tenant, UsageRecord
from tenants.scoping import operator_scope

NOON = 1_796_040_000
"""A time of day on which hours and days are far away: 2026-11-30 12:00 UTC."""


def spend(tenant: Tenant, *, at: int = NOON, **columns: Any) -> UsageRecord:
    """One ended request that was admitted at the unix second `at`."""
    values: dict[str, Any] = {
        "response_id": f"resp_{uuid.uuid4().hex}",
        "key_id": uuid.UUID(int=1),
        "model": "test-model",
        "backend": "scripted",
        "status": "completed",
        "input_tokens": 100,
        "output_tokens": 20,
        "cost_nanos": 5_000,
        "duration_ms": 400,
        "first_event_ms": 100,
    }
    with operator_scope():
        made: UsageRecord = UsageRecord.objects.create(
            tenant=tenant, created_at=at, ended_at=at + 1, **{**values, **columns}
        )
    return made
