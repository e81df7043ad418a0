"""Which tools the responses of a tenant or a key may call: versions that never change."""

import uuid
from typing import Final

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models.functions import Now

from tenants.models.key import ApiKey
from tenants.models.tenant import Tenant
from tenants.scoping import ScopedManager

EFFECTS: Final = (("allow", "allowed"), ("deny", "denied"))
ON_VIOLATION: Final = (
    ("suppress", "the call is left out and the response goes on"),
    ("fail", "the response fails"),
)


class ToolPolicy(models.Model):
    """One version of the policy of a tenant (`key` is null) or of one of its keys; the highest version is in force.

    `rules` is a list of objects as `responses_api.protocol.policy` reads them: the first that matches a call decides.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="policies")
    key = models.ForeignKey(ApiKey, null=True, blank=True, on_delete=models.CASCADE, related_name="policies")
    version = models.PositiveIntegerField(editable=False)
    rules = models.JSONField(default=list, blank=True)
    default_effect = models.CharField(
        max_length=8,
        choices=EFFECTS,
        default="allow",
        db_default="allow",
        help_text="What becomes of a call that no rule speaks of.",
    )
    hosted_tools = models.BooleanField(
        default=True, db_default=True, help_text="Whether tools that this server runs may be used at all."
    )
    on_violation = models.CharField(max_length=16, choices=ON_VIOLATION, default="fail", db_default="fail")
    max_tool_calls = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="The most calls that one response may make. Empty: any number.",
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", editable=False
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects = ScopedManager()

    class Meta:
        verbose_name = "tool policy"
        verbose_name_plural = "tool policies"
        ordering = ("tenant", "key", "-version")
        constraints = (
            models.UniqueConstraint(
                fields=("tenant", "version"), condition=models.Q(key=None), name="version_of_tenant_once"
            ),
            models.UniqueConstraint(
                fields=("key", "version"), condition=models.Q(key__isnull=False), name="version_of_key_once"
            ),
        )

    def __str__(self) -> str:
        return f"version {self.version}"
