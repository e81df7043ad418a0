"""Invitations: made and sent, accepted once, revoked. The link's token is known to who got the mail, to nobody else.

A token that was used, has expired, was revoked or never existed is one and the same thing to whoever holds it: gone.
"""

import hashlib
import secrets
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from tenants import audit, mail
from tenants.members import NotAllowed, join, roles_to_give
from tenants.models import Invitation, Membership
from tenants.scoping import operator_scope, tenant_scope

MOST_OPEN: Final = 100
"""How many invitations of a tenant may wait at a time."""

_MAIL: Final = "accounts/email/invitation"

LinkOf = Callable[[str], str]
"""The address of the page that accepts an invitation, from its token."""


class Gone(LookupError):
    """There is no such invitation, any more or ever."""


def digest_of(token: str) -> str:
    """What a token is found by, in hexadecimal: its SHA-256."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def invite(tenant_id: uuid.UUID, email: str, role: str, *, by: Any, link_of: LinkOf) -> Invitation:
    """Ask an address to join a tenant: store the invitation and send its mail, or do neither.

    Raises `NotAllowed` (the role is not theirs to give, the address is invited or a member's) and `MailFailed`.
    """
    with tenant_scope(tenant_id):
        _refuse(tenant_id, email, role, by)
        token = secrets.token_urlsafe(32)
        try:
            with transaction.atomic():
                invitation: Invitation = Invitation.objects.create(
                    tenant_id=tenant_id,
                    email=email,
                    role=role,
                    digest=bytes.fromhex(digest_of(token)),
                    invited_by=by,
                    expires_at=_end(),
                )
        except IntegrityError:
            raise NotAllowed("This address has an invitation already; it can be sent again.") from None
        audit.record("member.invited", email, tenant_id=tenant_id, user=by, role=role)
        _send(invitation, token, link_of)
        return invitation


def send_again(invitation: Invitation, *, by: Any, link_of: LinkOf) -> None:
    """Send an invitation that waits once more, with a new link and from now on; the old link is dead.

    Raises `NotAllowed` and `MailFailed`.
    """
    with tenant_scope(invitation.tenant_id):
        waiting = _waiting(invitation, by)
        token = secrets.token_urlsafe(32)
        waiting.digest, waiting.expires_at = bytes.fromhex(digest_of(token)), _end()
        waiting.save(update_fields=["digest", "expires_at"])
        audit.record("invitation.sent_again", waiting.email, tenant_id=waiting.tenant_id, user=by)
        _send(waiting, token, link_of)


def revoke(invitation: Invitation, *, by: Any) -> None:
    """Take an invitation back; its link is dead. One that was accepted stays as a record. Raises `NotAllowed`."""
    with tenant_scope(invitation.tenant_id):
        waiting = _waiting(invitation, by)
        waiting.delete()
        audit.record("invitation.revoked", waiting.email, tenant_id=waiting.tenant_id, user=by)


def find(digest: str) -> Invitation:
    """The invitation with this digest, with its tenant and who sent it. Raises `Gone`."""
    with operator_scope():
        return _find(digest)


def accept(digest: str, *, user: Any, addresses: list[str]) -> Membership:
    """Join by an invitation that was sent to one of the person's verified `addresses`. Raises `Gone`, `NotAllowed`.

    The row is locked: of two that accept at the same time one joins. Whoever is a member already keeps their role.
    """
    with operator_scope():
        invitation = _find(digest, lock=True)
        if invitation.email.lower() not in {address.lower() for address in addresses}:
            raise NotAllowed(f"This invitation was sent to {invitation.email}: sign in with that address.")
        with tenant_scope(invitation.tenant_id):
            invitation.accepted_at = timezone.now()
            invitation.save(update_fields=["accepted_at"])
            mine: Membership | None = Membership.objects.filter(user_id=user.pk).first()
            return mine or join(invitation.tenant_id, user, invitation.role, user=user)


def _find(digest: str, *, lock: bool = False) -> Invitation:
    rows = Invitation.objects.filter(
        digest=_as_bytes(digest), accepted_at=None, expires_at__gt=timezone.now(), tenant__is_active=True
    ).select_related("tenant", "invited_by")
    found: Invitation | None = (rows.select_for_update(of=("self",)) if lock else rows).first()
    if found is None:
        raise Gone
    return found


def _as_bytes(digest: str) -> bytes:
    try:
        return bytes.fromhex(digest)
    except ValueError:
        raise Gone from None


def _waiting(invitation: Invitation, by: Any) -> Invitation:
    """The invitation as it is stored, locked, while it waits and is for `by` to decide about. Raises `NotAllowed`."""
    rows = Invitation.objects.filter(accepted_at=None, pk=invitation.pk)
    found: Invitation | None = rows.select_for_update(of=("self",)).first()
    if found is None:
        raise NotAllowed("This invitation was accepted or revoked meanwhile.")
    _refuse_role(found.tenant_id, found.role, by)
    return found


def _refuse(tenant_id: uuid.UUID, email: str, role: str, by: Any) -> None:
    _refuse_role(tenant_id, role, by)
    if Membership.objects.filter(user__email__iexact=email).exists():
        raise NotAllowed("This address belongs to a member of the team already.")
    if Invitation.objects.filter(accepted_at=None).count() >= MOST_OPEN:
        raise NotAllowed(f"{MOST_OPEN} invitations of the team wait: revoke some of them first.")


def _refuse_role(tenant_id: uuid.UUID, role: str, by: Any) -> None:
    mine = Membership.objects.filter(user_id=by.pk, tenant_id=tenant_id).first()
    if role not in roles_to_give(by, mine):
        raise NotAllowed("Owners invite anybody, admins invite admins and members, and members nobody.")


def _end() -> Any:
    return timezone.now() + timedelta(days=settings.INVITATION_DAYS)


def _send(invitation: Invitation, token: str, link_of: LinkOf) -> None:
    context = {"invitation": invitation, "link": link_of(token), "days": settings.INVITATION_DAYS}
    mail.send(_MAIL, invitation.email, context)
