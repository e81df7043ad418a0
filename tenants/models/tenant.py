"""A tenant: the team whose apps call the service, and the owner of everything they store."""

import uuid
from typing import Final

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models.functions import Now

from tenants.scoping import TenantManager

_LONGEST_RETENTION_DAYS: Final = 3650


class Tenant(models.Model):
    """One team. A tenant that is not active has no working keys; its data stays."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=120, unique=True)
    is_active = models.BooleanField(
        "active", default=True, db_default=True, help_text="Switched off, all keys of the tenant are refused."
    )
    retention_days = models.PositiveIntegerField(
        "retention",
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(_LONGEST_RETENTION_DAYS)],
        help_text="Days after which a stored response is deleted. Empty: kept until somebody deletes it.",
    )
    zero_data_retention = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Every response is made as with `store: false`, whatever its request says: nothing of it is kept.",
    )
    deletion_asked_at = models.DateTimeField(
        null=True,
        editable=False,
        help_text="When its end was asked for: everything of it is being deleted.",
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects = TenantManager()

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name
