"""A tenant: the team whose apps call the service, and the owner of everything they store."""

import uuid

from django.db import models
from django.db.models.functions import Now


class Tenant(models.Model):
    """One team. A tenant that is not active has no working keys; its data stays."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=120, unique=True)
    is_active = models.BooleanField(
        "active", default=True, db_default=True, help_text="Switched off, all keys of the tenant are refused."
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name
