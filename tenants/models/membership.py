"""Who of the people belongs to which tenant, and who was asked to."""

import uuid
from typing import Final

from django.conf import settings
from django.db import models
from django.db.models.functions import Lower, Now

from tenants.models.tenant import Tenant
from tenants.scoping import ScopedManager

OWNER: Final = "owner"
ADMIN: Final = "admin"
MEMBER: Final = "member"
ROLES: Final = (
    (OWNER, "owner: everything, also owners and the end of the tenant"),
    (ADMIN, "admin: keys, limits, policies, members, and what was stored"),
    (MEMBER, "member: looks, and changes nothing"),
)


class Membership(models.Model):
    """One person in one tenant, with what they may do there."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=16, choices=ROLES, default=MEMBER, db_default=MEMBER)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects = ScopedManager()

    class Meta:
        ordering = ("tenant", "created_at")
        constraints = (models.UniqueConstraint(fields=("tenant", "user"), name="member_once"),)

    def __str__(self) -> str:
        return f"{self.user} ({self.role})"

    @property
    def may_change(self) -> bool:
        """Whether this person may change what the tenant has."""
        return self.role in (OWNER, ADMIN)

    @property
    def is_owner(self) -> bool:
        """Whether this person may decide about the tenant itself and its owners."""
        return self.role == OWNER


class Invitation(models.Model):
    """An address that was asked to join a tenant. The link's token is kept as its SHA-256 only."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="invitations")
    email = models.EmailField("e-mail address")
    role = models.CharField(max_length=16, choices=ROLES, default=MEMBER, db_default=MEMBER)
    digest = models.BinaryField(max_length=32, unique=True, editable=False)
    invited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", editable=False
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    expires_at = models.DateTimeField(editable=False)
    accepted_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = ScopedManager()

    class Meta:
        ordering = ("-created_at",)
        constraints = (
            models.UniqueConstraint(
                "tenant",
                Lower("email"),
                condition=models.Q(accepted_at=None),
                name="invited_once",
                violation_error_message="This address has an invitation already; delete that one to send another.",
            ),
        )

    def __str__(self) -> str:
        return f"{self.email} ({self.role})"
