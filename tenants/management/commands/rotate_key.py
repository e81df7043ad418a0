"""`manage.py rotate_key TENANT KEY [--grace-hours H] [--json]`: another key in place of one, and both for a while."""

import json
from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tenants.management.finding import key_named, tenant_named
from tenants.rotation import LONGEST_GRACE, NotRotated, rotate_key


class Command(BaseCommand):
    """Print a key with the rules, limits and policy of an existing one, which works on until its grace is over."""

    help = (
        "Replace a key: print a new one, this once, with the same rules, limits and policy. The old one works on for "
        "the grace period."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare TENANT, KEY, --grace-hours and --json."""
        parser.add_argument("tenant", help="the tenant's name")
        parser.add_argument("key", help="the key's id, its name, or its last four characters")
        parser.add_argument(
            "--grace-hours",
            type=float,
            default=24.0,
            help="how long the old key works on (default: 24; 0: not at all)",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")

    def handle(self, *_: Any, tenant: str, key: str, grace_hours: float, **options: Any) -> None:
        """Rotate the key and print the new one."""
        if not 0 <= grace_hours <= LONGEST_GRACE.total_seconds() / 3600:
            raise CommandError(f"--grace-hours must be between 0 and {LONGEST_GRACE.days * 24}.")
        owner = tenant_named(tenant)
        old = key_named(owner, key)
        try:
            made, text = rotate_key(old, grace=timedelta(hours=grace_hours))
        except NotRotated as error:
            raise CommandError(str(error)) from None
        until = made.replaces.expires_at if made.replaces is not None else None
        assert until is not None, "the old key was given an end"
        if options["json"]:
            told = {
                "tenant": str(owner.id),
                "name": made.name,
                "key": text,
                "old_works_until": until.isoformat(),
            }
            self.stdout.write(json.dumps(told))
        else:
            self.stdout.write(f"{old} works until {until:%Y-%m-%d %H:%M:%S UTC}.\n")
            self.stdout.write(f"The key in its place, shown this once:\n{text}")
