"""An API key: stored as a hash, shown once."""

import uuid
from typing import Final

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
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
SCOPES: Final = (
    ("responses:write", "make, cancel, compact and delete responses"),
    ("responses:read", "read stored responses"),
    ("models:read", "list models"),
    ("usage:read", "read usage and limits"),
    ("files:write", "upload and delete files"),
    ("files:read", "read files"),
)
CHOOSE_BACKENDS: Final = "backends:choose"
OPERATOR_SCOPES: Final = ((CHOOSE_BACKENDS, "name the backend that is to be asked"),)
"""Scopes that the operator alone gives, by name: no key has one by default."""
PURPOSES: Final = (("app", "for apps"), ("playground", "of the playground"))


def all_scopes() -> list[str]:
    """Every scope of tenants, which a key has unless it is told otherwise."""
    return [scope for scope, _ in SCOPES]


def known_scopes() -> list[str]:
    """Every scope that there is."""
    return [scope for scope, _ in (*SCOPES, *OPERATOR_SCOPES)]


class ApiKey(models.Model):
    """A key of one tenant. Only its SHA-256 is kept, with what a person needs to recognise it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="keys")
    name = models.CharField(max_length=120)
    digest = models.BinaryField(max_length=32, unique=True, editable=False)
    prefix = models.CharField(max_length=12, editable=False)
    last_four = models.CharField(max_length=4, editable=False)
    purpose = models.CharField(
        max_length=16, choices=PURPOSES, default="app", db_default="app", editable=False
    )
    scopes = ArrayField(
        models.CharField(max_length=32, choices=(*SCOPES, *OPERATOR_SCOPES)),
        default=all_scopes,
        db_default=all_scopes(),
        help_text="What the key may do.",
    )
    allowed_models = ArrayField(
        models.CharField(max_length=200),
        default=list,
        db_default=[],
        blank=True,
        help_text="Names of models, * for any letters. Empty: all models.",
    )
    allowed_addresses = ArrayField(
        models.CharField(max_length=64),
        default=list,
        db_default=[],
        blank=True,
        help_text="Addresses or networks (192.0.2.7, 192.0.2.0/24, 2001:db8::/32) that may use the key. Empty: all.",
    )
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
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", editable=False
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    expires_at = models.DateTimeField(
        null=True, blank=True, help_text="From then on the key is refused. Empty: it does not expire."
    )
    replaces = models.OneToOneField(
        "self",
        null=True,
        on_delete=models.SET_NULL,
        related_name="replaced_by",
        editable=False,
        help_text="The key that this one was made in place of; that one works until its own end.",
    )
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = ScopedManager()

    class Meta:
        verbose_name = "API key"
        ordering = ("-created_at",)
        indexes = (models.Index(fields=("tenant", "-created_at"), name="key_by_tenant"),)

    def __str__(self) -> str:
        return f"{self.name} ({self.hint})"

    @property
    def hint(self) -> str:
        """What a person recognises the key by: its first and its last letters."""
        return f"{self.prefix}…{self.last_four}"
