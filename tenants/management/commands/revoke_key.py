"""`manage.py revoke_key TENANT KEY`: refuse a key from now on, everywhere, and end what runs with it."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from tenants.keys import revoke_key
from tenants.management.finding import key_named, tenant_named
from tenants.scoping import tenant_scope


class Command(BaseCommand):
    """Revoke one key of a tenant."""

    help = "Revoke a key for good: every process refuses it within a second and ends what runs with it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare TENANT and KEY."""
        parser.add_argument("tenant", help="the tenant's name")
        parser.add_argument("key", help="the key's id, its name, or its last four characters")

    def handle(self, *_: Any, tenant: str, key: str, **options: Any) -> None:
        """Revoke the key."""
        owner = tenant_named(tenant)
        found = key_named(owner, key)
        with tenant_scope(owner.id):
            revoke_key(found)
        self.stdout.write(f"Revoked: {found}.")
