"""Which requests a tenant made under which `Idempotency-Key`."""

from typing import Final

from django.db import models
from django.db.models.functions import Now

from responses_api.models.fields import PublicIdField
from tenants.scoping import ScopedManager

LONGEST_KEY: Final = 255


class IdempotentRequest(models.Model):
    """A request that its client may send again: its key, what it asked (a digest), and the one response to it."""

    tenant = models.ForeignKey(
        "tenants.Tenant", on_delete=models.CASCADE, db_constraint=False, db_index=False, related_name="+"
    )
    key = models.CharField(max_length=LONGEST_KEY, db_collation="C")
    digest = models.BinaryField(max_length=32)
    response_id = PublicIdField()
    is_gone = models.BooleanField(
        default=False, db_default=False, help_text="Its response was deleted: it is not made again."
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects = ScopedManager()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("tenant", "key"), name="request_once_per_key"),)
        indexes = (
            models.Index(fields=("tenant", "response_id"), name="request_by_response"),
            models.Index(fields=("created_at",), name="request_by_age"),
        )

    def __str__(self) -> str:
        return self.response_id
