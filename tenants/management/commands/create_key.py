"""`manage.py create_key TENANT [--name N] [--scopes S] [--expires-days D] … [--json]`: another key for a tenant."""

import json
from argparse import ArgumentParser
from datetime import datetime, timedelta
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from tenants.keys import issue_key
from tenants.management.finding import tenant_named
from tenants.models.key import DIALECTS, UNSERVED_TOOLS, known_scopes
from tenants.rules import BadRule

_MOST_DAYS: Final = 3650


class Command(BaseCommand):
    """Print a new key of an existing tenant, once; the keys it has go on working."""

    help = "Print a new API key for an existing tenant. The key is shown this once; only its hash is kept."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare TENANT, --name, the key's rules, --dialect, --unserved-tools and --json."""
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
        parser.add_argument(
            "--scopes",
            help=f"what the key may do, separated by commas, of {', '.join(known_scopes())} (default: all but the "
            "last, which is the operator's own)",
        )
        parser.add_argument(
            "--expires-days", type=float, help="for how many days it works (default: for ever)"
        )
        parser.add_argument(
            "--models", default="", help="the models it may ask, * for any letters (default: all)"
        )
        parser.add_argument(
            "--addresses", default="", help="the addresses or networks it may come from (default: all)"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")

    def handle(self, *_: Any, tenant: str, name: str, dialect: str, **options: Any) -> None:
        """Make the key and print it."""
        if len(name) > 120:
            raise CommandError("--name must have at most 120 characters.")
        owner = tenant_named(tenant)
        if not owner.is_active:
            raise CommandError(f"The tenant {tenant!r} is switched off; no key of it would work.")
        try:
            key = issue_key(
                owner,
                name=name,
                dialect=dialect,
                unserved_tools=options["unserved_tools"],
                scopes=_listed(options["scopes"]) if options["scopes"] is not None else None,
                expires_at=_end(options["expires_days"]),
                allowed_models=_listed(options["models"]),
                allowed_addresses=_listed(options["addresses"]),
            )
        except BadRule as error:
            raise CommandError(str(error)) from None
        if options["json"]:
            self.stdout.write(json.dumps({"tenant": str(owner.id), "name": name, "key": key}))
        else:
            self.stdout.write(f"A new key of tenant {owner.name} ({owner.id}), shown this once:\n{key}")


def _listed(text: str) -> list[str]:
    return [entry.strip() for entry in text.split(",") if entry.strip()]


def _end(days: float | None) -> datetime | None:
    if days is None:
        return None
    if not 0 < days <= _MOST_DAYS:
        raise CommandError(f"--expires-days must be above 0 and at most {_MOST_DAYS}.")
    return timezone.now() + timedelta(days=days)
