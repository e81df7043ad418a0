"""The command line: what is tested, which rules, how it is told, and the exit code.

0: nothing that counts failed. 1: something did. 2: there was nothing to test, or the options are wrong.
"""

import asyncio
import json
import os
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from typing import Final

from responses_api.conformance import rules as _rules  # noqa: F401  (registers them)
from responses_api.conformance import scenarios as _scenarios  # noqa: F401  (registers them)
from responses_api.conformance.judging import play
from responses_api.conformance.outcomes import Broken
from responses_api.conformance.registry import Rule, select
from responses_api.conformance.report import as_json, as_table, failures
from responses_api.conformance.runner import run
from responses_api.conformance.scenario import Scenario, select_scenarios
from responses_api.conformance.scenario_report import any_failed, as_matrix, as_plain
from responses_api.conformance.server import Target
from responses_api.conformance.wire import Wire

DESCRIPTION: Final = "Check a server of the Open Responses API from outside, rule by rule."
OK: Final = 0
FAILED: Final = 1
UNUSABLE: Final = 2

_JOBS: Final = 4
_TIMEOUT: Final = 60.0  # seconds

_VARIABLES: Final = (("base_url", "OPENAI_BASE_URL"), ("api_key", "OPENAI_API_KEY"), ("model", "MODEL"))
"""What is not given by an option is taken from the variables that clients use."""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--base-url", help="up to and including /v1")
    parser.add_argument("--api-key", help="a key of the server")
    parser.add_argument("--model", help="a model that can call tools")
    parser.add_argument("--other-key", help="a key of another tenant, for the rules about strangers")
    parser.add_argument(
        "--websocket-limit",
        type=_seconds,
        metavar="SECONDS",
        help="the server was started with this limit for a WebSocket connection",
    )
    parser.add_argument(
        "--context-window",
        type=_count,
        metavar="TOKENS",
        help="how many tokens the model takes, for truncation",
    )
    parser.add_argument(
        "--only", action="append", default=[], metavar="RULE", help="a rule or a topic; repeatable"
    )
    parser.add_argument(
        "--scenarios",
        action="store_true",
        help="play the scenarios against the model instead (--only names one): what an adapter has to carry both ways",
    )
    parser.add_argument("--strict", action="store_true", help="let every failure count, extensions too")
    parser.add_argument(
        "--jobs",
        type=_count,
        help="how many rules, or scenarios, are looked at side by side (4; with --routes 2)",
    )
    parser.add_argument("--timeout", type=_seconds, help="seconds for one call (60; with --routes 120)")
    parser.add_argument("--json", action="store_true", dest="as_json", help="print JSON")
    parser.add_argument(
        "--list", action="store_true", dest="list_rules", help="list the rules and do nothing"
    )


def main(options: Namespace, write: Callable[[str], object], complain: Callable[[str], object]) -> int:
    """Do what the options say and return the exit code."""
    try:
        scenarios = select_scenarios(options.only) if options.scenarios else []
        chosen = [] if options.scenarios else select(options.only)
    except ValueError as error:
        complain(f"--only: {error}; --list shows them.")
        return UNUSABLE
    if options.list_rules:
        write("\n".join([*map(_listed, chosen), *(f"{one.id}: {one.sentence}" for one in scenarios)]))
        return OK
    target = _target(options)
    if isinstance(target, str):
        complain(target)
        return UNUSABLE
    unreachable = asyncio.run(_unreachable(target))
    if unreachable:
        complain(f"There is nobody at {target.base_url}: {unreachable}")
        return UNUSABLE
    return _look(target, chosen, scenarios, options, write)


def _target(options: Namespace) -> Target | str:
    """The server that the options and the environment name; else what they do not tell."""
    given: dict[str, str] = {
        name: getattr(options, name) or os.environ.get(variable, "") for name, variable in _VARIABLES
    }
    missing = [name for name, value in given.items() if not value]
    if missing:
        return "Missing: " + ", ".join("--" + name.replace("_", "-") for name in missing)
    return Target(
        base_url=given["base_url"],
        api_key=given["api_key"],
        model=given["model"],
        other_key=options.other_key,
        websocket_limit=options.websocket_limit,
        context_window=options.context_window,
        timeout=options.timeout or _TIMEOUT,
    )


def _look(
    target: Target,
    rules: Sequence[Rule],
    scenarios: Sequence[Scenario],
    options: Namespace,
    write: Callable[[str], object],
) -> int:
    """Look at the rules, or where there are some play the scenarios, and report; the exit code."""
    jobs = options.jobs or _JOBS
    if scenarios:
        places = {target.model: asyncio.run(play(target, scenarios, jobs=jobs))}
        write(json.dumps(as_plain(places), indent=2) if options.as_json else as_matrix(places))
        return FAILED if any_failed(places) else OK
    results = asyncio.run(run(target, rules, jobs=jobs))
    write(json.dumps(as_json(target, results), indent=2) if options.as_json else as_table(results))
    return FAILED if failures(results, strict=options.strict) else OK


async def _unreachable(target: Target) -> str | None:
    """Why nothing answers at all; None where something does, whatever it says."""
    async with Wire(target.base_url, target.timeout) as wire:
        try:
            await wire.send("GET", "/models", headers={"Authorization": f"Bearer {target.api_key}"})
        except Broken as broken:
            return str(broken)
    return None


def _listed(rule: Rule) -> str:
    return f"{rule.id} [{rule.demand}; {rule.section}]: {rule.sentence}"


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 86400:
        raise ArgumentTypeError("must be a number of seconds, above 0")
    return seconds


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError("must be a whole number, at least 1")
    return int(text)
