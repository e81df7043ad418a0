"""`manage.py create_key TENANT [--name N] [--dialect D] [--unserved-tools T] [--json]`: another key for a tenant."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tenants.keys import issue_key
from tenants.models import Tenant
from tenants.models.key import DIALECTS, UNSERVED_TOOLS
from tenants.scoping import operator_scope


class Command(BaseCommand):
    """Print a new key of an existing tenant, once; the keys it has go on working."""

    help = "Print a new API key for an existing tenant. The key is shown this once; only its hash is kept."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare TENANT, --name, --dialect, --unserved-tools and --json."""
        parser.add_argument("tenant", help="the tenant's name")
        parser.add_argument("--name", default="another key", help="a name to recognise the key by")
        parser.add_argument(
            "--dialect",
            choices=[dialect for dialect, _ in DIALECTS],
            default="auto",
            help="whose names the events of raw reasoning have: the specification's (open), OpenAI's (openai), or "
            "those that the client's headers tell (auto, the default)",
        )
        parser.add_argument(
            "--unserved-tools",
            choices=[choice for choice, _ in UNSERVED_TOOLS],
            default="auto",
            help="what becomes of tools that this server does not serve: refuse the request, leave them out, or refuse "
            "it except from clients that send them with every request (auto, the default)",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")

    def handle(self, *_: Any, tenant: str, name: str, dialect: str, **options: Any) -> None:
        """Make the key and print it."""
        if len(name) > 120:
            raise CommandError("--name must have at most 120 characters.")
        with operator_scope():
            owner = Tenant.objects.filter(name=tenant).first()
        if owner is None:
            raise CommandError(f"There is no tenant named {tenant!r}; `create_tenant` makes one.")
        if not owner.is_active:
            raise CommandError(f"The tenant {tenant!r} is switched off; no key of it would work.")
        key = issue_key(owner, name=name, dialect=dialect, unserved_tools=options["unserved_tools"])
        if options["json"]:
            self.stdout.write(json.dumps({"tenant": str(owner.id), "name": name, "key": key}))
        else:
            self.stdout.write(f"A new key of tenant {owner.name} ({owner.id}), shown this once:\n{key}")
