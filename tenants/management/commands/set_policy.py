"""`manage.py set_policy TENANT FILE [--key K] [--based-on N]`: put a new version of a tool policy in force."""

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from responses_api.protocol.policy import Policy
from responses_api.protocol.policy_reading import PolicyError, read_policy
from tenants.management.finding import key_named, tenant_named
from tenants.policy_versions import PolicyMoved, newest_version, save_version
from tenants.scoping import tenant_scope


class Command(BaseCommand):
    """Read a policy from a file of JSON; versions that were in force before stay as they are."""

    help = "Put a new version of the tool policy of a tenant, or of one of its keys, in force at once, everywhere."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare TENANT, FILE, --key and --based-on."""
        parser.add_argument("tenant", help="the tenant's name")
        parser.add_argument(
            "file", help="a file of JSON as `show_policy --json` prints it; - for standard input"
        )
        parser.add_argument("--key", help="one key's own policy: the key's id, name or last four characters")
        parser.add_argument(
            "--based-on",
            type=int,
            metavar="VERSION",
            help="refuse it unless this version is in force; 0 for none (default: whichever is)",
        )

    def handle(self, *_: Any, tenant: str, file: str, **options: Any) -> None:
        """Check it, save it, and say which version it is."""
        owner = tenant_named(tenant)
        key = key_named(owner, options["key"]) if options["key"] else None
        policy = _read(file)
        with tenant_scope(owner.id):
            based_on = options["based_on"]
            if based_on is None:
                newest = newest_version(owner.id, key.id if key else None)
                based_on = newest.version if newest else 0
            try:
                made = save_version(tenant=owner, key=key, policy=policy, based_on=based_on)
            except PolicyMoved as error:
                now = f"version {error.newest.version}" if error.newest else "none"
                raise CommandError(f"Nothing was saved: in force is {now}, not version {based_on}.") from None
        whose = f"the key {key.name} of {owner.name}" if key else owner.name
        self.stdout.write(f"Version {made.version} of the tool policy of {whose} is in force.")


def _read(file: str) -> Policy:
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
        return read_policy(json.loads(text))
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}.") from None
    except PolicyError as error:
        raise CommandError(f"{file} is no policy.\n" + "\n".join(said for _, said in error.faults)) from None
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{file} is not valid JSON: {error}.") from None
