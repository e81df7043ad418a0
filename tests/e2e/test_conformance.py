"""The conformance suite against the running service: every rule holds, and the command says so."""

import asyncio
import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from config.local.places import ROOT
from responses_api.conformance import rules as _rules  # noqa: F401  (registers them)
from responses_api.conformance.outcomes import PASS
from responses_api.conformance.registry import select
from responses_api.conformance.runner import Result, run
from responses_api.conformance.server import Target
from tests.support.service import MODEL, Service

# Rules and topics that this service or its scripted model cannot show, and why.
NOT_PASSED = {
    "run.retry-after": "the run meets no limit",
    "truncation": "has a test of its own, with a model that takes little",
    "websocket.limit": "has a test of its own, with a limit that comes soon",
}


WINDOW = 100  # tokens


def target(service: Service) -> Target:
    """The service, with the stranger as the other tenant."""
    assert service.friend.key is not None
    return Target(service.base_url, service.friend.key, MODEL, other_key=service.stranger.key)


def not_passed(results: list[Result]) -> dict[str, str]:
    """What did not pass and should have."""
    return {
        result.rule.id: f"{result.verdict}: {result.reason}"
        for result in results
        if result.verdict != PASS and not {result.rule.id, result.rule.topic} & NOT_PASSED.keys()
    }


def test_every_rule_holds(service: Service) -> None:
    results = asyncio.run(run(target(service), select()))
    assert not_passed(results) == {}


def test_an_input_that_is_too_long_is_refused_or_cut(service: Service) -> None:
    narrow = replace(target(service), model="narrow", context_window=WINDOW)
    options = ("--context-window", f"narrow={WINDOW}")
    with service.backend("narrow", service.upstream.base_url, "narrow", options=options):
        results = asyncio.run(run(narrow, select(["truncation"])))
    assert {result.rule.id: result.verdict for result in results} == {
        "truncation.disabled": PASS,
        "truncation.auto": PASS,
    }


def test_a_connection_meets_its_limit(service: Service) -> None:
    with service.another_web(ANTIPHON_WEBSOCKET_SECONDS="0.5") as base_url:
        hasty = replace(target(service), base_url=base_url, websocket_limit=0.5)
        (result,) = asyncio.run(run(hasty, select(["websocket.limit"])))
    assert result.verdict == PASS, result.reason


def suite(service: Service, *program: str, **options: str) -> subprocess.CompletedProcess[str]:
    """Run a command line of the suite, the key in the environment."""
    given = {"base-url": service.base_url, "model": MODEL, **options}
    arguments = [argument for name, value in given.items() for argument in (f"--{name}", value)]
    return subprocess.run(
        [sys.executable, *program, *arguments],
        cwd=ROOT,
        env={**os.environ, "OPENAI_API_KEY": service.friend.key or ""},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("program", [("manage.py", "conformance"), ("-m", "responses_api.conformance")])
def test_the_commands_tell_a_table(service: Service, program: tuple[str, ...]) -> None:
    done = suite(service, *program, only="framing")
    assert done.returncode == 0, done.stderr
    assert "framing.done" in done.stdout
    assert "What the specification demands: 4 pass" in done.stdout


def test_a_failure_has_its_own_exit_code_and_tells_the_exchange(service: Service) -> None:
    done = suite(service, "-m", "responses_api.conformance", only="resource.text", model="no-such-model")
    assert done.returncode == 1
    assert "> POST /responses" in done.stdout
    assert "model_not_found" in done.stdout
    assert (service.friend.key or "") not in done.stdout


def test_json_is_for_machines(service: Service) -> None:
    done = suite(service, "-m", "responses_api.conformance", "--json", only="framing.done")
    told = json.loads(done.stdout)
    assert told["summary"]["must"]["pass"] == 1
    assert [rule["verdict"] for rule in told["rules"]] == ["pass"]


@pytest.mark.parametrize("options", [{"only": "no.such.rule"}, {"base-url": "http://127.0.0.1:9/v1"}])
def test_what_cannot_be_run_is_told_apart_from_a_failure(service: Service, options: dict[str, str]) -> None:
    done = suite(service, "-m", "responses_api.conformance", **options)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr
