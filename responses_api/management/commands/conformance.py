"""`manage.py conformance --base-url URL --api-key KEY --model MODEL`: the conformance suite."""

import sys
from argparse import ArgumentParser, Namespace
from typing import Any

from django.core.management.base import BaseCommand

from responses_api.conformance.command import DESCRIPTION, add_arguments, main


class Command(BaseCommand):
    """Check a server of the Open Responses API from outside."""

    help = DESCRIPTION
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the suite's own options."""
        add_arguments(parser)

    def handle(self, *_: Any, **options: Any) -> None:
        """Run it; the exit code is the suite's."""
        code = main(Namespace(**options), self.stdout.write, self.stderr.write)
        if code:
            sys.exit(code)
