"""An API key: stored as a hash, shown once."""

import uuid
from typing import Final

from django.db import models
from django.db.models.functions import Now

from tenants.models.tenant import Tenant
from tenants.scoping import ScopedManager

# Whose names raw reasoning has in the stream; clients whose headers do not tell need a key that does.
DIALECTS: Final = (
    ("auto", "what the client's headers tell"),
    ("open", "the Open Responses specification's"),
    ("openai", "OpenAI's"),
)
UNSERVED_TOOLS: Final = (
    ("auto", "refused, except from clients that send them with every request"),
    ("refuse", "refused"),
    ("leave_out", "left out"),
)


class ApiKey(models.Model):
    """A key of one tenant. Only its SHA-256 is kept, with what a person needs to recognise it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="keys")
    name = models.CharField(max_length=120)
    digest = models.BinaryField(max_length=32, unique=True, editable=False)
    prefix = models.CharField(max_length=12, editable=False)
    last_four = models.CharField(max_length=4, editable=False)
    dialect = models.CharField(
        max_length=16,
        choices=DIALECTS,
        default="auto",
        db_default="auto",
        help_text="Whose names the events of raw reasoning have for clients that use this key.",
    )
    unserved_tools = models.CharField(
        "tools that are not served",
        max_length=16,
        choices=UNSERVED_TOOLS,
        default="auto",
        db_default="auto",
        help_text="What becomes of tools that this server does not serve; a response tells the tools that it had.",
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = ScopedManager()

    class Meta:
        verbose_name = "API key"
        ordering = ("-created_at",)
        indexes = (models.Index(fields=("tenant", "-created_at"), name="key_by_tenant"),)

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…{self.last_four})"
