"""`manage.py conformance`: the suite against any server, or, with `--routes`, against each route of this one."""

import json
import sys
from argparse import ArgumentParser, Namespace
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from redis.exceptions import RedisError

from responses_api.conformance.command import DESCRIPTION, FAILED, OK, UNUSABLE, add_arguments, main
from responses_api.conformance.scenario import select_scenarios
from responses_api.conformance.scenario_report import any_failed, as_matrix, as_plain
from responses_api.eventlog.alone import Taken
from responses_api.services.route_checks import JOBS, TIMEOUT, Check, Found, check_places, places


class _Unusable(Exception):
    """Why there is nothing to look at."""


class Command(BaseCommand):
    """Check a server of the Open Responses API from outside, or what stands behind the routes of this one."""

    help = DESCRIPTION
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the suite's own options, and those of `--routes`."""
        add_arguments(parser)
        parser.add_argument(
            "--routes",
            action="store_true",
            help="play the scenarios against each model at each of its backends, through the running service of this "
            "installation (--base-url, else ANTIPHON_CONFORMANCE_URL), and store what was found; --model and "
            "--backend choose some. The key is made and revoked.",
        )
        parser.add_argument("--backend", metavar="NAME", help="with --routes: those of this backend alone")

    def handle(self, *_: Any, **options: Any) -> None:
        """Run it; the exit code is the suite's."""
        given = Namespace(**options)
        code = self._check_routes(given) if given.routes else self._check_server(given)
        if code:
            sys.exit(code)

    def _check_server(self, options: Namespace) -> int:
        if options.backend:
            self.stderr.write("--backend is for --routes.")
            return UNUSABLE
        return main(options, self.stdout.write, self.stderr.write)

    def _check_routes(self, options: Namespace) -> int:
        if options.list_rules:
            return main(
                Namespace(**{**vars(options), "scenarios": True}), self.stdout.write, self.stderr.write
            )
        try:
            return self._report(self._found(options), as_json=options.as_json)
        except _Unusable as problem:
            self.stderr.write(str(problem))
            return UNUSABLE

    def _found(self, options: Namespace) -> list[Found]:
        """What is found at the routes that the options choose. Raises `_Unusable`."""
        check, wanted = _check_of(options), places(options.model, options.backend)
        if not wanted:
            raise _Unusable("There is no such route of an enabled backend.")
        try:
            return check_places(wanted, check, self._tell)
        except Taken:
            raise _Unusable("Another run is under way; wait for its end.") from None
        except (RedisError, OSError) as error:
            raise _Unusable(f"Valkey does not answer, which keeps runs apart: {error}") from error

    def _tell(self, found: Found) -> None:
        ended = found.problem or f"{len(found.judged)} scenarios played."
        self.stderr.write(f"{found.place}: {ended}")

    def _report(self, found: list[Found], *, as_json: bool) -> int:
        played = {str(one.place): one.judged for one in found if not one.problem}
        self.stdout.write(json.dumps(as_plain(played), indent=2) if as_json else as_matrix(played))
        if any_failed(played):
            return FAILED
        return UNUSABLE if any(one.problem for one in found) else OK


def _check_of(options: Namespace) -> Check:
    base_url = options.base_url or settings.CONFORMANCE_URL
    if not base_url:
        raise _Unusable("Say where this service is: --base-url, or ANTIPHON_CONFORMANCE_URL.")
    try:
        scenarios = select_scenarios(options.only)
    except ValueError as error:
        raise _Unusable(f"--only: {error}; --list shows them.") from None
    return Check(
        base_url=base_url,
        occasion="command",
        scenarios=scenarios,
        jobs=options.jobs or JOBS,
        timeout=options.timeout or TIMEOUT,
    )
