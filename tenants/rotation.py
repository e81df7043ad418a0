"""Rotation: a key is replaced by one with the same rules, and both work until the old one's grace is over."""

import uuid
from datetime import datetime, timedelta
from typing import Any, Final

from django.utils import timezone

from tenants import audit
from tenants.keys import announce_change, new_key
from tenants.models import ApiKey, Limit, ToolPolicy
from tenants.scoping import tenant_scope

LONGEST_GRACE: Final = timedelta(days=90)


class NotRotated(ValueError):
    """A key that cannot be rotated, or not so; says why."""


def rotate_key(key: ApiKey, *, grace: timedelta, user: Any = None) -> tuple[ApiKey, str]:
    """Make a key in place of `key`: the stored key and its text, which cannot be had again.

    It has the same name, rules, limits and policy; where the old one had a life time, as long a one from now on. What
    was counted for the old key's limits stays the old key's. The old key works for `grace` longer, never beyond the
    end that it had. Raises `NotRotated` for a key that was revoked, has expired or was replaced before.
    """
    if not timedelta(0) <= grace <= LONGEST_GRACE:
        raise NotRotated(f"The grace period must be between 0 and {LONGEST_GRACE.days} days.")
    with tenant_scope(key.tenant_id):
        old = (
            ApiKey.objects.select_for_update(no_key=True, of=("self",))
            .select_related("tenant")
            .get(pk=key.pk)
        )
        now = timezone.now()
        _check(old, now)
        made, text = new_key(
            old.tenant,
            name=old.name,
            dialect=old.dialect,
            unserved_tools=old.unserved_tools,
            scopes=old.scopes,
            expires_at=now + (old.expires_at - old.created_at) if old.expires_at else None,
            allowed_models=old.allowed_models,
            allowed_addresses=old.allowed_addresses,
            purpose=old.purpose,
            user=user,
        )
        made.replaces = old
        made.save(update_fields=["replaces"])
        _hand_on(old, made)
        old.expires_at = min(now + grace, old.expires_at or datetime.max.replace(tzinfo=now.tzinfo))
        old.save(update_fields=["expires_at"])
        audit.record(
            "key.rotated",
            str(old),
            tenant_id=old.tenant_id,
            user=user,
            replaced_by=str(made),
            works_until=old.expires_at.isoformat(),
        )
    announce_change()
    return made, text


def _check(old: ApiKey, now: datetime) -> None:
    if old.revoked_at is not None:
        raise NotRotated("This key was revoked; issue another one.")
    if old.expires_at is not None and old.expires_at <= now:
        raise NotRotated("This key has expired; issue another one.")
    if ApiKey.objects.filter(replaces=old).exists():
        raise NotRotated("This key was replaced before; rotate the one that replaced it.")


def _hand_on(old: ApiKey, made: ApiKey) -> None:
    """Give the new key what holds for the old one: its limits, whoever set them, and its policy in force."""
    for limit in Limit.objects.filter(key=old):
        limit.pk, limit.key = uuid.uuid4(), made
        limit.save(force_insert=True)
    policy = ToolPolicy.objects.filter(key=old).order_by("-version").first()
    if policy is not None:
        policy.pk, policy.key, policy.version = uuid.uuid4(), made, 1
        policy.save(force_insert=True)
