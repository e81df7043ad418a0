"""What people and commands did to a tenant: written once, never changed, without secrets."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from tenants.scoping import ScopedManager


class AuditEvent(models.Model):
    """One administrative act. `tenant_id` is null for acts on what belongs to no tenant (backends, operators).

    `actor` says who in words that stay true when the account is gone; `details` holds plain facts (old and new values
    of settings), never a key, a token, a password or content.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(
        "tenants.Tenant",
        null=True,
        on_delete=models.SET_NULL,
        db_constraint=False,
        db_index=False,
        related_name="+",
        editable=False,
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", editable=False
    )
    actor = models.CharField(max_length=254, editable=False)
    action = models.CharField(max_length=64, editable=False, help_text="For example key.issued.")
    subject = models.CharField(max_length=254, editable=False, help_text="What it was done to.")
    details = models.JSONField(default=dict, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects = ScopedManager()

    class Meta:
        ordering = ("-created_at", "-id")
        indexes = (models.Index(fields=("tenant", "-created_at"), name="audit_by_tenant"),)

    def __str__(self) -> str:
        return f"{self.action}: {self.subject}"
