"""`manage.py set_limit TENANT --metric M --amount A [--key K] [--model NAME] [--soft]`: a limit of the operator."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from tenants.limiting import describe, lift_limit, put_limit
from tenants.management.finding import key_named, tenant_named
from tenants.metrics import NAMES, read_amount
from tenants.models import ApiKey, Limit, Tenant
from tenants.scoping import tenant_scope


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
        owner = tenant_named(tenant)
        key = key_named(owner, options["key"]) if options["key"] else None
        with tenant_scope(owner.id):
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
