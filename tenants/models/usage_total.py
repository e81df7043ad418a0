"""The ledger added up: what a tenant's key used of a model in an hour, and in a day."""

from typing import Final

from django.contrib.postgres.fields import ArrayField
from django.db import models

from tenants.scoping import ScopedManager

SPANS: Final = (("hour", "hour"), ("day", "day (UTC)"))


class UsageTotal(models.Model):
    """The sums of ledger rows whose requests were admitted in one span: made by `tenants.rollup` and nobody else.

    Each row of the ledger is in it exactly once for each span when it is marked `is_rolled_up`, and not at all before.
    `starts_at` is in unix seconds. `duration` and `first_event` are counts of milliseconds by `tenants.histogram`.
    """

    tenant = models.ForeignKey(
        "tenants.Tenant", on_delete=models.CASCADE, db_constraint=False, db_index=False, related_name="+"
    )
    span = models.CharField(max_length=8, choices=SPANS)
    starts_at = models.BigIntegerField()
    key_id = models.UUIDField("key")
    model = models.CharField(max_length=200)
    requests = models.BigIntegerField()
    completed = models.BigIntegerField()
    incomplete = models.BigIntegerField()
    failed = models.BigIntegerField()
    cancelled = models.BigIntegerField()
    input_tokens = models.BigIntegerField()
    cached_tokens = models.BigIntegerField()
    output_tokens = models.BigIntegerField()
    reasoning_tokens = models.BigIntegerField()
    cost_nanos = models.BigIntegerField()
    duration = ArrayField(models.BigIntegerField())
    first_event = ArrayField(models.BigIntegerField())

    objects = ScopedManager()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("tenant", "span", "starts_at", "key_id", "model"), name="usage_total_once"
            ),
        )
        indexes = (models.Index(fields=("span", "starts_at"), name="usage_total_by_time"),)

    def __str__(self) -> str:
        return f"{self.model}, the {self.span} from {self.starts_at}"
