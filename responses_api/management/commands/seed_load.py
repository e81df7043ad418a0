"""`manage.py seed_load`: stored responses by the million, of tenants of their own, to measure with."""

import time
from argparse import ArgumentParser
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError

from responses_api.management.seeding.fill import Load, fill, make_tenants, settle
from responses_api.management.seeding.shapes import FEWEST_ITEMS, MOST_ITEMS

_MOST_RESPONSES: Final = 9_999_999
"""Told texts hold a response's number in seven digits."""
_MOST_TENANTS: Final = 1000
_MOST_DAYS: Final = 3650


class Command(BaseCommand):
    """Make tenants named `load-1`, `load-2`, …, and fill them with responses."""

    help = (
        "Make new tenants (load-1, load-2, …) and fill them with responses and items such as the service stores, in "
        "chains, over the last days: to measure with. Tenants that are there already are never written to. Deleting "
        "the new tenants takes everything away again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the amounts."""
        parser.add_argument("--responses", type=int, default=1_000_000, help="how many (default: 1000000)")
        parser.add_argument(
            "--items-per-response", type=int, default=5, help="how many items each has (default: 5)"
        )
        parser.add_argument(
            "--tenants", type=int, default=10, help="how many tenants they belong to (default: 10)"
        )
        parser.add_argument(
            "--days", type=float, default=30.0, help="how long they took to come (default: 30)"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        """Make them, telling how far it is."""
        load = Load(
            responses=_within("--responses", options["responses"], 1, _MOST_RESPONSES),
            items=_within("--items-per-response", options["items_per_response"], FEWEST_ITEMS, MOST_ITEMS),
            tenants=_within("--tenants", options["tenants"], 1, _MOST_TENANTS),
            days=_within("--days", options["days"], 0.01, _MOST_DAYS),
            until_ms=time.time_ns() // 1_000_000,
        )
        began = time.monotonic()
        tenants = make_tenants(load.tenants)
        items = fill(load, tenants, self._progress(load.responses))
        settle()
        names = tenants[0].name if len(tenants) == 1 else f"{tenants[0].name} … {tenants[-1].name}"
        self.stdout.write(
            f"Made {load.responses:,} responses and {items:,} items of {load.tenants:,} tenants ({names}), "
            f"as of the last {load.days:g} days, in {time.monotonic() - began:.0f} s."
        )

    def _progress(self, responses: int) -> Any:
        said = 0

        def tell(made: int) -> None:
            nonlocal said
            tenth = made * 10 // responses
            if tenth > said:
                said = tenth
                self.stdout.write(f"{made:,} responses …")

        return tell


def _within(option: str, value: Any, least: float, most: float) -> Any:
    if not least <= value <= most:
        raise CommandError(f"{option} must be between {least:,} and {most:,}, not {value:,}.")
    return value
