"""`manage.py create_tenant NAME [--json]`: a tenant and its first key."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import IntegrityError

from tenants import audit
from tenants.keys import issue_key
from tenants.models import Tenant
from tenants.scoping import operator_scope


class Command(BaseCommand):
    """Create a tenant and print its key, once."""

    help = "Create a tenant and print an API key for it. The key is shown this once; only its hash is kept."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare NAME, --key-name and --json."""
        parser.add_argument("name", help="the tenant's name, unique")
        parser.add_argument("--key-name", default="first key", help="a name to recognise the key by")
        parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")

    def handle(self, *_: Any, name: str, key_name: str, **options: Any) -> None:
        """Create both and print them."""
        if not name.strip() or len(name) > 120:
            raise CommandError("NAME must have between 1 and 120 characters.")
        if len(key_name) > 120:
            raise CommandError("--key-name must have at most 120 characters.")
        try:
            with operator_scope():
                tenant = Tenant.objects.create(name=name)
                audit.record("tenant.founded", name, tenant_id=tenant.id)
                key = issue_key(tenant, name=key_name)
        except IntegrityError:
            raise CommandError(f"A tenant named {name!r} exists already; choose another name.") from None
        if options["json"]:
            self.stdout.write(json.dumps({"tenant": str(tenant.id), "name": name, "key": key}))
        else:
            self.stdout.write(f"Tenant {name} ({tenant.id}) created. Its key, shown this once:\n{key}")
