"""A limit on what a tenant, one of its keys or one model may use up."""

import uuid
from typing import Final

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models.functions import Now

from tenants.metrics import METRICS, MOST
from tenants.models.key import ApiKey
from tenants.models.tenant import Tenant
from tenants.scoping import ScopedManager

_ONCE: Final = "There is such a limit already; change that one."
SETTERS: Final = (("operator", "the operator"), ("tenant", "the tenant"))


class Limit(models.Model):
    """One limit. `amount` counts requests, tokens or responses; of cost, nano-units of the currency (1e-9).

    A hard limit refuses what would go beyond it; a soft one lets it pass and tells the tenant's people. What the
    operator set a tenant cannot change; it may set closer limits of its own.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="limits")
    key = models.ForeignKey(
        ApiKey,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="limits",
        help_text="The key that is limited. Empty: all keys of the tenant together.",
    )
    model = models.CharField(
        max_length=200, blank=True, default="", help_text="The model that is limited. Empty: all together."
    )
    metric = models.CharField(max_length=32, choices=METRICS)
    amount = models.BigIntegerField(validators=[MinValueValidator(0), MaxValueValidator(MOST)])
    is_hard = models.BooleanField("hard", default=True, db_default=True)
    set_by = models.CharField(max_length=16, choices=SETTERS, default="tenant", db_default="tenant")
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects = ScopedManager()

    class Meta:
        ordering = ("tenant", "metric", "model")
        constraints = (
            models.UniqueConstraint(
                fields=("tenant", "model", "metric", "is_hard", "set_by"),
                condition=models.Q(key=None),
                name="limit_of_tenant_once",
                violation_error_message=_ONCE,
            ),
            models.UniqueConstraint(
                fields=("key", "model", "metric", "is_hard", "set_by"),
                condition=models.Q(key__isnull=False),
                name="limit_of_key_once",
                violation_error_message=_ONCE,
            ),
        )

    def __str__(self) -> str:
        return f"{self.amount} {self.get_metric_display()}"
