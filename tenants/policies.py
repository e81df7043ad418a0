"""The tool policies in force: of the tenant and of the key, as the plain data that the protocol judges calls by."""

import uuid
from typing import Any

from django.db.models import Q

from tenants.models import ToolPolicy


def policies_in_force(tenant_id: uuid.UUID, key_id: uuid.UUID) -> tuple[dict[str, Any], ...]:
    """The newest version of the tenant's policy and of the key's, as far as there are any. Needs a scope."""
    versions = (
        ToolPolicy.objects.filter(Q(key=None) | Q(key_id=key_id), tenant_id=tenant_id)
        .order_by("key_id", "-version")
        .distinct("key_id")
    )
    return tuple(plain_policy(version) for version in sorted(versions, key=_of_key))


def _of_key(version: ToolPolicy) -> bool:
    """Sorts the tenant's policy before the key's."""
    return version.key_id is not None


def plain_policy(version: ToolPolicy) -> dict[str, Any]:
    """One version as plain data: what travels with a job."""
    return {
        "id": str(version.id),
        "version": version.version,
        "of": "tenant" if version.key_id is None else "key",
        "rules": version.rules,
        "default_effect": version.default_effect,
        "hosted_tools": version.hosted_tools,
        "on_violation": version.on_violation,
        "max_tool_calls": version.max_tool_calls,
    }
