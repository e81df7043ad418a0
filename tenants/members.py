"""Who belongs to which tenant: the one place that looks across tenants for a person, and decides about roles.

Whatever changes who a tenant's owners are happens under a lock on the tenant's row, so that of two changes at the same
time the second sees the first: a tenant always keeps an owner.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tenants import audit
from tenants.keys import announce_change
from tenants.models import Membership, Tenant
from tenants.models.membership import ADMIN, MEMBER, OWNER
from tenants.scoping import operator_scope, tenant_scope


class NotAllowed(ValueError):
    """What somebody wants to do with members is not theirs to do, or would leave a tenant without an owner."""


def memberships_of(user: Any) -> list[Membership]:
    """The memberships of a person in tenants that are switched on, with their tenants, by the tenants' names."""
    with operator_scope():
        mine = Membership.objects.filter(user_id=user.pk, tenant__is_active=True)
        return list(mine.select_related("tenant").order_by("tenant__name"))


def current_of(mine: list[Membership], chosen: str | None) -> Membership | None:
    """Of a person's memberships the one that they work in: in the tenant with the id `chosen`, else the first."""
    named = (membership for membership in mine if str(membership.tenant_id) == chosen)
    return next(named, mine[0] if mine else None)


def roles_to_give(user: Any, membership: Membership | None) -> tuple[str, ...]:
    """The roles that a person may give and take away: an operator and an owner all, an admin all but owner."""
    if user.is_superuser or (membership is not None and membership.is_owner):
        return (OWNER, ADMIN, MEMBER)
    return (ADMIN, MEMBER) if membership is not None and membership.may_change else ()


def add_member(tenant: Tenant, user: Any, role: str, *, actor: str = audit.COMMAND) -> Membership:
    """Make a person a member, or give a member this role: an operator's act, asked of nobody. Raises `NotAllowed`."""
    with tenant_scope(tenant.id):
        _lock(tenant.id)
        membership = Membership.objects.filter(user_id=user.pk).first()
        if membership is None:
            membership = join(tenant.id, user, role, actor=actor)
        elif membership.role != role:
            _give(membership, role, actor=actor)
        return membership


def join(tenant_id: uuid.UUID, person: Any, role: str, **by: Any) -> Membership:
    """Make a person a member, inside the tenant's scope; `by` says who did it, as `audit.record` wants it."""
    membership: Membership = Membership.objects.create(tenant_id=tenant_id, user=person, role=role)
    audit.record("member.joined", audit.name_of(person), tenant_id=tenant_id, **by, role=role)
    return membership


def change_role(tenant_id: uuid.UUID, membership_id: uuid.UUID, role: str, *, by: Any) -> Membership:
    """Give a member another role. `by` is the person who wants it. Raises `NotAllowed`."""
    with _members_of(tenant_id, by) as allowed:
        membership = _find(membership_id)
        if membership.role == role:
            return membership
        if membership.role not in allowed or role not in allowed:
            raise NotAllowed(
                "Only an owner decides who is an owner; an admin decides about admins and members."
            )
        _give(membership, role, user=by)
        return membership


def remove(tenant_id: uuid.UUID, membership_id: uuid.UUID, *, by: Any) -> None:
    """Take a member out, or leave: everybody may take themselves out. Raises `NotAllowed`."""
    with _members_of(tenant_id, by) as allowed:
        membership = _find(membership_id)
        leaves = membership.user_id == by.pk
        if not leaves and membership.role not in allowed:
            raise NotAllowed(
                "An owner removes anybody, an admin admins and members; everybody else may leave."
            )
        _keep_an_owner(membership)
        subject = audit.name_of(membership.user)
        membership.delete()
        announce_change()
        audit.record(
            "member.left" if leaves else "member.removed",
            subject,
            tenant_id=tenant_id,
            user=by,
            role=membership.role,
        )


def last_owner_of(user: Any) -> list[str]:
    """The names of the tenants that a person is the only owner of."""
    with operator_scope():
        owned = Membership.objects.filter(user_id=user.pk, role=OWNER).select_related("tenant")
        return [mine.tenant.name for mine in owned if not _other_owners(mine).exists()]


def _give(membership: Membership, role: str, **by: Any) -> None:
    if role != OWNER:
        _keep_an_owner(membership)
    before, membership.role = membership.role, role
    membership.save(update_fields=["role"])
    announce_change()  # the person's key of the playground may end with it
    subject = audit.name_of(membership.user)
    audit.record(
        "member.role_changed", subject, tenant_id=membership.tenant_id, **by, before=before, after=role
    )


def _keep_an_owner(membership: Membership) -> None:
    if membership.role == OWNER and not _other_owners(membership).exists():
        raise NotAllowed("A team keeps at least one owner: make somebody else an owner first.")


def _other_owners(membership: Membership) -> Any:
    others = Membership.objects.filter(tenant_id=membership.tenant_id, role=OWNER, user__is_active=True)
    return others.exclude(pk=membership.pk)


def _find(membership_id: uuid.UUID) -> Membership:
    found: Membership | None = Membership.objects.select_related("user").filter(pk=membership_id).first()
    if found is None:
        raise NotAllowed("This person is no member any more.")
    return found


@contextmanager
def _members_of(tenant_id: uuid.UUID, by: Any) -> Iterator[tuple[str, ...]]:
    """The tenant's scope and lock, and the roles that `by` decides about, as they are under the lock."""
    with tenant_scope(tenant_id):
        _lock(tenant_id)
        yield roles_to_give(by, Membership.objects.filter(user_id=by.pk).first())


def _lock(tenant_id: uuid.UUID) -> None:
    """Hold the tenant's row until the transaction ends; who only refers to it, as a new key does, is not held up."""
    Tenant.objects.select_for_update(no_key=True).get(pk=tenant_id)
