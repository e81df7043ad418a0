"""`manage.py show_policy TENANT [--key K] [--at N] [--json]`: the tool policy of a tenant or of one of its keys."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from responses_api.protocol.policy_reading import PolicyError
from responses_api.protocol.policy_words import rule_in_words, settings_in_words
from tenants.management.finding import key_named, tenant_named
from tenants.models import ToolPolicy
from tenants.policy_versions import policy_of
from tenants.scoping import tenant_scope


class Command(BaseCommand):
    """Print a version in words, or as the JSON that `set_policy` takes."""

    help = "Print the tool policy in force of a tenant, or of one of its keys."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare TENANT, --key, --at and --json."""
        parser.add_argument("tenant", help="the tenant's name")
        parser.add_argument("--key", help="one key's own policy: the key's id, name or last four characters")
        parser.add_argument(
            "--at", type=int, metavar="VERSION", help="an older version (default: the one in force)"
        )
        parser.add_argument("--json", action="store_true", help="print it as `set_policy` takes it")

    def handle(self, *_: Any, tenant: str, **options: Any) -> None:
        """Find the version and print it."""
        owner = tenant_named(tenant)
        key = key_named(owner, options["key"]) if options["key"] else None
        with tenant_scope(owner.id):
            rows = ToolPolicy.objects.filter(tenant=owner, key=key).order_by("-version")
            row = (rows.filter(version=options["at"]) if options["at"] is not None else rows).first()
        if row is None:
            raise CommandError(
                "There is no such version." if options["at"] is not None else "There is no policy."
            )
        try:
            policy = policy_of(row)
        except PolicyError as error:
            raise CommandError(f"Version {row.version} cannot be read. {error}") from None
        if options["json"]:
            self.stdout.write(json.dumps(policy.to_plain(), indent=2, ensure_ascii=False))
            return
        self.stdout.write(f"Version {row.version}")
        for number, rule in enumerate(policy.rules, 1):
            self.stdout.write(f"  {number}. {rule_in_words(rule)} [{rule.id}]")
        for sentence in settings_in_words(policy):
            self.stdout.write(f"  {sentence}")
