"""Tool policies over time: versions are only ever added, and nobody overwrites what they have not seen."""

import uuid
from typing import Any

from django.db import transaction

from responses_api.protocol.policy import Policy
from responses_api.protocol.policy_reading import policies_of
from responses_api.protocol.policy_words import differences
from tenants import audit
from tenants.keys import announce_change
from tenants.models import ApiKey, Tenant, ToolPolicy
from tenants.policies import plain_policy


class PolicyMoved(Exception):
    """Somebody else has saved a version meanwhile; `newest` is the one in force now."""

    def __init__(self, newest: ToolPolicy | None) -> None:
        super().__init__()
        self.newest = newest


def newest_version(tenant_id: uuid.UUID, key_id: uuid.UUID | None) -> ToolPolicy | None:
    """The version in force of the tenant's policy, or with `key_id` of that key's. Needs a scope."""
    versions = ToolPolicy.objects.filter(tenant_id=tenant_id, key_id=key_id)
    return versions.select_related("created_by").order_by("-version").first()


def policy_of(version: ToolPolicy) -> Policy:
    """A stored version, read. Raises `PolicyError`."""
    (policy,) = policies_of([plain_policy(version)])
    return policy


def save_version(
    *,
    tenant: Tenant,
    key: ApiKey | None,
    policy: Policy,
    based_on: int,
    user: Any = None,
    action: str = "policy.changed",
    **details: Any,
) -> ToolPolicy:
    """Put a new version in force for the tenant, or for one of its keys; every process learns it at once.

    `based_on` is the version that the change was made of, 0 for none; `user` who made it, None for a command. Needs a
    scope. Raises `PolicyMoved` where another version is in force by now.
    """
    key_id = key.id if key is not None else None
    with transaction.atomic():
        # Who saves at the same time waits here, and then finds the version that was added.
        Tenant.objects.select_for_update(no_key=True).get(id=tenant.id)
        before = newest_version(tenant.id, key_id)
        version = before.version if before is not None else 0
        if version != based_on:
            raise PolicyMoved(before)
        made: ToolPolicy = ToolPolicy.objects.create(
            tenant=tenant, key=key, version=version + 1, created_by=user, **policy.to_plain()
        )
        audit.record(
            action,
            f"the tool policy of the key {key.name}" if key else f"the tool policy of {tenant.name}",
            tenant_id=tenant.id,
            user=user,
            version=made.version,
            changes=changes_between(before, made),
            **details,
        )
        announce_change()
    return made


def changes_between(before: ToolPolicy | None, after: ToolPolicy) -> list[str]:
    """What a version says otherwise than the one before it, in words. Raises `PolicyError`."""
    return differences(policy_of(before) if before is not None else None, policy_of(after))
