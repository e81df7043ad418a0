"""Plays scenarios against a model, several at a time, and says how each ended."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from responses_api.conformance import outcomes
from responses_api.conformance.exchange import Exchange, exchange_of, shown
from responses_api.conformance.outcomes import Outcome
from responses_api.conformance.scenario import Scenario
from responses_api.conformance.server import Evidence, Server, Target
from responses_api.conformance.wire import Wire

End = Literal["passed", "failed", "inconclusive", "not supported"]

PASSED: Final[End] = "passed"
FAILED: Final[End] = "failed"
INCONCLUSIVE: Final[End] = "inconclusive"
NOT_SUPPORTED: Final[End] = "not supported"
ENDS: Final[tuple[End, ...]] = (PASSED, FAILED, INCONCLUSIVE, NOT_SUPPORTED)

_LONGEST_SENTENCE: Final = 1_000
_ENDS: Final[dict[str, End]] = {
    outcomes.FAIL: FAILED,
    outcomes.NOT_SHOWN: INCONCLUSIVE,
    outcomes.NOT_APPLICABLE: NOT_SUPPORTED,
}


@dataclass(frozen=True, slots=True)
class Judged:
    """How a scenario ended: a sentence that says what was seen, and the call that showed it where it did not pass."""

    scenario: Scenario
    end: End
    sentence: str
    exchange: Exchange | None
    seconds: float


async def play(target: Target, scenarios: Sequence[Scenario], *, jobs: int = 4) -> list[Judged]:
    """Play every scenario, at most `jobs` at a time; in their order."""
    places = asyncio.Semaphore(jobs)
    async with Wire(target.base_url, target.timeout) as wire:

        async def look(one: Scenario) -> Judged:
            async with places:
                return await _play(one, Server(target, wire, Evidence()))

        return [*await asyncio.gather(*(look(one) for one in scenarios))]


async def _play(one: Scenario, server: Server) -> Judged:
    begun = time.monotonic()
    end = PASSED
    try:
        sentence = await one.play(server)
    except Outcome as outcome:
        end, sentence = _ENDS[outcome.verdict], _as_sentence(str(outcome))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        # Scenarios read answers as their schemas have them; one that has other kinds of values ends here.
        end, sentence = FAILED, f"The answer is not of the shape that a client reads: {error!r}"
    secrets = (server.target.api_key, server.target.other_key or "")
    exchange = None
    if end != PASSED and server.answers:
        exchange = exchange_of(server.answers[-1], secrets)
    return Judged(one, end, shown(sentence, secrets)[:_LONGEST_SENTENCE], exchange, time.monotonic() - begun)


def _as_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '?', '!')) else '.'}"
