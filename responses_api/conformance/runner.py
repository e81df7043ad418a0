"""Runs rules against a server, several at a time, and collects how each ended."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from responses_api.conformance.outcomes import FAIL, PASS, Outcome, Verdict
from responses_api.conformance.registry import Rule
from responses_api.conformance.server import Evidence, Server, Target
from responses_api.conformance.wire import Answer, Wire


@dataclass(frozen=True, slots=True)
class Result:
    """How one rule ended: the reason is empty for a pass, the answer is the latest that the rule saw."""

    rule: Rule
    verdict: Verdict
    reason: str
    answer: Answer | None
    seconds: float


async def run(target: Target, rules: Sequence[Rule], *, jobs: int = 4) -> list[Result]:
    """Look at every rule, at most `jobs` at a time; the results are in the order of the rules."""
    places = asyncio.Semaphore(jobs)
    evidence = Evidence()

    async with Wire(target.base_url, target.timeout) as wire:

        async def look(rule: Rule) -> Result:
            async with places:
                return await _look(rule, Server(target, wire, evidence))

        # What the whole run has seen is judged at its end.
        first = await asyncio.gather(*(look(rule) for rule in rules if rule.topic != "run"))
        last = await asyncio.gather(*(look(rule) for rule in rules if rule.topic == "run"))
    by_id = {result.rule.id: result for result in (*first, *last)}
    return [by_id[rule.id] for rule in rules]


async def _look(rule: Rule, server: Server) -> Result:
    begun = time.monotonic()
    verdict: Verdict = PASS
    reason = ""
    try:
        await rule.check(server)
    except Outcome as outcome:
        verdict, reason = outcome.verdict, str(outcome)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        # Rules read answers as their schemas have them; one that has other kinds of values ends here.
        verdict, reason = FAIL, f"the answer is not of the shape that the rule reads: {error!r}"
    latest = server.answers[-1] if server.answers else None
    return Result(rule, verdict, reason, latest, time.monotonic() - begun)
