"""`manage.py set_limit TENANT --metric M --amount A [--key K] [--model NAME] [--soft]`: a limit of the operator."""

import uuid
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from tenants.limiting import describe, lift_limit, put_limit
from tenants.metrics import NAMES, read_amount
from tenants.models import ApiKey, Limit, Tenant
from tenants.scoping import operator_scope


class Command(BaseCommand):
    """Set what a tenant, one of its keys or a model may use up; a limit that is there gets the new amount."""

    help = "Set or change a limit of the operator. It holds at once, in every process."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare TENANT, --metric, --amount, --key, --model, --soft and --lift."""
        parser.add_argument("tenant", help="the tenant's name")
        parser.add_argument("--metric", required=True, choices=NAMES, help="what is counted")
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument(
            "--amount", help=f"how much there may be; of cost in {settings.CURRENCY}, for example 20.00"
        )
        what.add_argument("--lift", action="store_true", help="take the limit away")
        parser.add_argument(
            "--key", help="limit one key: its id, name or last four characters (else all keys together)"
        )
        parser.add_argument("--model", default="", help="limit one model (else all together)")
        parser.add_argument(
            "--soft", action="store_true", help="let pass what goes beyond it, and tell the tenant"
        )

    def handle(self, *_: Any, tenant: str, metric: str, model: str, **options: Any) -> None:
        """Set it and say what holds."""
        if len(model) > 200:
            raise CommandError("--model must have at most 200 characters.")
        with operator_scope():
            owner = Tenant.objects.filter(name=tenant).first()
            if owner is None:
                raise CommandError(f"There is no tenant named {tenant!r}; `create_tenant` makes one.")
            key = _key(owner, options["key"]) if options["key"] else None
            if options["lift"]:
                self._lift(owner, key, metric, model, not options["soft"])
                return
            limit, is_new = put_limit(
                owner,
                metric,
                _amount(metric, options["amount"]),
                key=key,
                model=model,
                is_hard=not options["soft"],
            )
            self.stdout.write(f"{'Set' if is_new else 'Changed'}: {describe(limit)}, of tenant {owner.name}.")

    def _lift(self, owner: Tenant, key: ApiKey | None, metric: str, model: str, is_hard: bool) -> None:
        place = {"key": key, "metric": metric, "model": model, "is_hard": is_hard, "set_by": "operator"}
        limit = Limit.objects.filter(tenant=owner, **place).first()
        if limit is None:
            raise CommandError(f"The operator set no such limit of tenant {owner.name}.")
        said = describe(limit)
        lift_limit(limit)
        self.stdout.write(f"Lifted: {said}, of tenant {owner.name}.")


def _amount(metric: str, text: str) -> int:
    try:
        return read_amount(metric, text)
    except ValueError as error:
        raise CommandError(f"--amount: {error}") from None


def _key(owner: Tenant, text: str) -> ApiKey:
    keys: list[ApiKey] = [
        key
        for key in ApiKey.objects.filter(tenant=owner, revoked_at=None)
        if text in (str(key.id), key.name, key.last_four) or _same_id(key.id, text)
    ]
    if len(keys) != 1:
        found = "several keys" if keys else "no working key"
        raise CommandError(f"--key: tenant {owner.name} has {found} with the id, name or last four {text!r}.")
    return keys[0]


def _same_id(key_id: uuid.UUID, text: str) -> bool:
    try:
        return uuid.UUID(text) == key_id
    except ValueError:
        return False
