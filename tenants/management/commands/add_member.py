"""`manage.py add_member TENANT EMAIL [--role ROLE]`: somebody who has an account belongs to a tenant from now on."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from django.db.models import Q

from tenants.management.finding import tenant_named
from tenants.members import NotAllowed, add_member
from tenants.models.membership import MEMBER, ROLES


class Command(BaseCommand):
    """Make somebody a member, or give a member another role. Who has no account yet is invited in the admin."""

    help = "Make somebody who has an account a member of a tenant, or give a member another role."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare TENANT, EMAIL and --role."""
        parser.add_argument("tenant", help="the tenant's name")
        parser.add_argument("email", help="the account's e-mail address, or its user name")
        parser.add_argument("--role", choices=[role for role, _ in ROLES], default=MEMBER)

    def handle(self, *_: Any, tenant: str, email: str, role: str, **__: Any) -> None:
        """Find both and join them."""
        try:
            membership = add_member(tenant_named(tenant), _account(email), role)
        except NotAllowed as refusal:
            raise CommandError(str(refusal)) from None
        self.stdout.write(f"{membership.user.email or email} is {membership.role} of {tenant} now.")


def _account(name: str) -> Any:
    accounts = get_user_model().objects.filter(Q(email__iexact=name) | Q(username=name), is_active=True)
    if accounts.count() > 1:
        raise CommandError(f"Several accounts are called {name!r}: give the user name of the right one.")
    account = accounts.first()
    if account is None:
        raise CommandError(f"There is no account {name!r}. Invite the address: Invitations, in the admin.")
    return account
