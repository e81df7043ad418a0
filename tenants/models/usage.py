"""The ledger: what each admitted request used and what it cost. It holds no content."""

from typing import Final

from django.db import models

from tenants.scoping import ScopedManager

STATES: Final = (
    ("completed", "completed"),
    ("incomplete", "incomplete"),
    ("failed", "failed"),
    ("cancelled", "cancelled"),
)


class UsageRecord(models.Model):
    """One admitted request at its end.

    Tokens are those that the backend told; `is_estimated` where it told none although it had begun. Prices are
    nano-units (1e-9) of the currency for a million tokens, as they were when the request came; costs are nano-units.
    Times are in unix seconds, durations in milliseconds.
    """

    response_id = models.CharField(max_length=64, primary_key=True, db_collation="C", editable=False)
    tenant = models.ForeignKey(
        "tenants.Tenant", on_delete=models.CASCADE, db_constraint=False, db_index=False, related_name="+"
    )
    key_id = models.UUIDField("key")
    model = models.CharField(max_length=200)
    backend = models.CharField(max_length=64, blank=True)
    purpose = models.CharField(max_length=16, default="respond", db_default="respond")
    status = models.CharField(max_length=16, choices=STATES)
    error_code = models.CharField(max_length=64, blank=True, default="", db_default="")
    input_tokens = models.BigIntegerField(default=0, db_default=0)
    cached_tokens = models.BigIntegerField(
        default=0, db_default=0, help_text="Of the input, what the backend had cached."
    )
    output_tokens = models.BigIntegerField(default=0, db_default=0)
    reasoning_tokens = models.BigIntegerField(
        default=0, db_default=0, help_text="Of the output, what was reasoning."
    )
    is_estimated = models.BooleanField(default=False, db_default=False)
    input_price = models.BigIntegerField(default=0, db_default=0)
    cached_input_price = models.BigIntegerField(default=0, db_default=0)
    output_price = models.BigIntegerField(default=0, db_default=0)
    cost_nanos = models.BigIntegerField(default=0, db_default=0)
    reserved_tokens = models.BigIntegerField(default=0, db_default=0)
    reserved_nanos = models.BigIntegerField(default=0, db_default=0)
    attempts = models.PositiveSmallIntegerField(default=1, db_default=1)
    created_at = models.BigIntegerField(help_text="When the request was admitted.")
    ended_at = models.BigIntegerField()
    first_event_ms = models.PositiveIntegerField(
        null=True, blank=True, help_text="Until the model's first word."
    )
    duration_ms = models.PositiveIntegerField(null=True, blank=True)
    is_rolled_up = models.BooleanField(
        default=False, db_default=False, editable=False, help_text="Whether its sums are in `UsageTotal`."
    )

    objects = ScopedManager()

    class Meta:
        ordering = ("-created_at",)
        indexes = (
            # With what the sums of a span need, so that they are made of the index alone.
            models.Index(
                fields=("tenant", "created_at"),
                include=("key_id", "model", "input_tokens", "output_tokens", "cost_nanos"),
                name="usage_by_tenant_and_time",
            ),
            models.Index(
                fields=("tenant", "created_at"),
                condition=models.Q(is_rolled_up=False),
                name="usage_not_rolled_up",
            ),
        )

    def __str__(self) -> str:
        return self.response_id
