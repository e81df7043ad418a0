"""The playground's keys: one for each person and tenant, for an hour, shown to nobody."""

from datetime import datetime, timedelta
from typing import Any, Final

from django.utils import timezone

from tenants.audit import name_of
from tenants.keys import new_key, revoke_key
from tenants.models import ApiKey, Tenant
from tenants.scoping import tenant_scope

PURPOSE: Final = "playground"
LIFETIME: Final = timedelta(hours=1)
_SCOPES: Final = ("responses:write", "responses:read", "models:read")
_LONGEST_NAME: Final = 120


def playground_key(tenant: Tenant, user: Any) -> tuple[str, datetime]:
    """A key of `tenant` for what `user` tries out: its text and its end. The one that they had is revoked."""
    expires_at = timezone.now() + LIFETIME
    with tenant_scope(tenant.id):
        for earlier in ApiKey.objects.filter(
            tenant=tenant, created_by=user, purpose=PURPOSE, revoked_at=None, expires_at__gt=timezone.now()
        ):
            revoke_key(earlier, user=user)
        name = f"playground of {name_of(user)}"[:_LONGEST_NAME]
        _, text = new_key(
            tenant, name=name, scopes=_SCOPES, expires_at=expires_at, purpose=PURPOSE, user=user
        )
    return text, expires_at
