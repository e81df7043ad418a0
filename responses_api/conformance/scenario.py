"""The scenarios: what a model's adapter has to carry both ways, each a small conversation.

A rule (`registry.py`) looks at the server; a scenario at what stands behind one model: whether anything is lost, bent
or let through on the way to its provider and back. Each returns what it saw, a sentence, and raises an `Outcome`
otherwise: `Broken` where the protocol does not hold, `NotShown` where the model did not do what would have shown it,
`NotApplicable` where the feature is refused as the protocol demands.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from responses_api.conformance.server import Server

Scene = Callable[[Server], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario. `sentence` says what holds where it passes."""

    id: str
    sentence: str
    play: Scene


_SCENARIOS: dict[str, Scenario] = {}


def scenario(scenario_id: str, sentence: str) -> Callable[[Scene], Scene]:
    """Register the decorated coroutine. Raises ValueError for an id that is taken."""

    def register(play: Scene) -> Scene:
        if scenario_id in _SCENARIOS:
            raise ValueError(f"there are two scenarios '{scenario_id}'")
        _SCENARIOS[scenario_id] = Scenario(scenario_id, sentence, play)
        return play

    return register


def select_scenarios(only: Iterable[str] = ()) -> list[Scenario]:
    """The scenarios in their order; of those only the ones named. Raises ValueError for a name that none has."""
    wanted = set(only)
    if not wanted <= _SCENARIOS.keys():
        raise ValueError(f"there is no scenario {', '.join(sorted(wanted - _SCENARIOS.keys()))}")
    return [one for one in _SCENARIOS.values() if not wanted or one.id in wanted]
