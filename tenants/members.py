"""Who belongs to which tenant: the one place that looks across tenants for a person."""

import uuid
from typing import Any

from tenants.models import Membership
from tenants.scoping import operator_scope


def memberships_of(user: Any) -> list[Membership]:
    """The memberships of a person in tenants that are switched on, with their tenants, by the tenants' names."""
    with operator_scope():
        mine = Membership.objects.filter(user_id=user.pk, tenant__is_active=True)
        return list(mine.select_related("tenant").order_by("tenant__name"))


def current_membership(user: Any, chosen: str | None) -> Membership | None:
    """The membership that a person works in: in the tenant with the id `chosen`, else in their first one."""
    mine = memberships_of(user)
    named = (membership for membership in mine if str(membership.tenant_id) == chosen)
    return next(named, mine[0] if mine else None)


def is_member(user: Any, tenant_id: uuid.UUID) -> bool:
    """Whether a person belongs to a tenant."""
    return any(membership.tenant_id == tenant_id for membership in memberships_of(user))
