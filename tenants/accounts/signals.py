"""The audit log of accounts: who signed up."""

from typing import Any

from allauth.account.signals import user_signed_up
from django.dispatch import receiver

from tenants import audit
from tenants.scoping import operator_scope


@receiver(user_signed_up)
def write_down(user: Any, **_: Any) -> None:
    """Write down a new account; it belongs to no tenant yet."""
    with operator_scope():
        audit.record("user.signed_up", user.email, tenant_id=None, user=user)
