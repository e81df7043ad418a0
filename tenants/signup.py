"""Who may have an account and a team of their own, and how a team begins."""

from typing import Any, Final

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import IntegrityError, transaction

from tenants import audit
from tenants.limits import give_starting_limits
from tenants.members import NotAllowed, join
from tenants.models import Membership, Tenant
from tenants.models.membership import OWNER
from tenants.scoping import operator_scope, tenant_scope

OPEN: Final = "open"
INVITATION: Final = "invitation"
CLOSED: Final = "closed"

MOST_TEAMS: Final = 5
"""How many teams a person may own that they founded by themselves."""


def may_found(user: Any) -> bool:
    """Whether a person may found teams: an operator, and everybody where sign-up is open."""
    return bool(user.is_superuser or settings.SIGNUP == OPEN)


def found_tenant(user: Any, name: str) -> Tenant:
    """Make a tenant that `user` owns. Raises `NotAllowed`: the name is taken, or it would be one team too many."""
    if not may_found(user):
        raise NotAllowed("New teams are made by this service's operators; ask them, or a team to invite you.")
    with operator_scope():
        # One at a time for each person: two at once would both be below the bound.
        get_user_model().objects.select_for_update().get(pk=user.pk)
        owned = Membership.objects.filter(user_id=user.pk, role=OWNER).count()
        if owned >= MOST_TEAMS and not user.is_superuser:
            raise NotAllowed(f"You own {owned} teams, and nobody founds more than {MOST_TEAMS}.")
        return _found(user, name)


def _found(user: Any, name: str) -> Tenant:
    try:
        with transaction.atomic():
            tenant: Tenant = Tenant.objects.create(name=name)
    except IntegrityError:
        raise NotAllowed("Another team has this name already: choose another one.") from None
    with tenant_scope(tenant.id):
        audit.record("tenant.founded", name, tenant_id=tenant.id, user=user)
        join(tenant.id, user, OWNER, user=user)
        give_starting_limits(tenant)
    return tenant
