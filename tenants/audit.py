"""The audit log: who did what to a tenant, in the same transaction as the act itself."""

import uuid
from typing import Any, Final

from tenants.models import AuditEvent

COMMAND: Final = "manage.py"
"""The actor of what a command of manage.py did."""
SYSTEM: Final = "Antiphon"
"""The actor of what the service did by itself."""

_LONGEST: Final = 254


def record(
    action: str,
    subject: str,
    *,
    tenant_id: uuid.UUID | None,
    user: Any = None,
    actor: str = COMMAND,
    **details: Any,
) -> None:
    """Write down an act, inside the scope and the transaction that it is done in.

    `action` is `thing.done` (`key.revoked`); `subject` names what it was done to, in words; `details` are plain facts
    as JSON. Never hand over a key, a token, a password or content. `user` is who did it; without one, `actor` says.
    """
    who = name_of(user) if user is not None else actor
    AuditEvent.objects.create(
        tenant_id=tenant_id,
        user=user,
        actor=who[:_LONGEST],
        action=action,
        subject=subject[:_LONGEST],
        details=details,
    )


def name_of(user: Any) -> str:
    """What a person is called: by their address, or where they have none by their user name."""
    return str(user.email or user.get_username())
