"""How scenarios ended: a matrix of scenarios and places for people, JSON for machines."""

from collections import Counter
from collections.abc import Mapping, Sequence
from textwrap import indent
from typing import Final

from responses_api.conformance.judging import ENDS, FAILED, PASSED, Judged
from responses_api.protocol.plain import Json

_SHOWN: Final = 1_200
"""Characters of a request and of an answer that the terminal shows; the stored results have more."""

Places = Mapping[str, Sequence[Judged]]
"""What was found, by the name of the place that was asked: a model, or a model at a backend."""


def any_failed(places: Places) -> bool:
    """Whether a scenario failed anywhere."""
    return any(one.end == FAILED for judged in places.values() for one in judged)


def as_matrix(places: Places) -> str:
    """The matrix scenario × place, what was seen where one did not pass, and the sums."""
    names = list(places)
    lines = [f"{number}: {name}" for number, name in enumerate(names, start=1)]
    ids = list(dict.fromkeys(one.scenario.id for judged in places.values() for one in judged))
    found = {(one.scenario.id, name): one.end for name, judged in places.items() for one in judged}
    width = max((len(scenario_id) for scenario_id in ids), default=0)
    lines += [
        "",
        f"{'':{width}}" + "".join(f"  {number:<13}" for number in range(1, len(names) + 1)).rstrip(),
    ]
    for scenario_id in ids:
        cells = "".join(f"  {found.get((scenario_id, name), '-'):<13}" for name in names)
        lines.append(f"{scenario_id:{width}}{cells}".rstrip())
    for name, judged in places.items():
        lines += ["", f"{name}: {_sums(judged)}"]
        for one in judged:
            if one.end != PASSED:
                lines += _told(one)
    return "\n".join(lines)


def as_plain(places: Places) -> Json:
    """Everything as JSON."""
    return {"places": {name: [_plain(one) for one in judged] for name, judged in places.items()}}


def _sums(judged: Sequence[Judged]) -> str:
    counts = Counter(one.end for one in judged)
    return ", ".join(f"{counts[end]} {end}" for end in ENDS if counts[end])


def _told(one: Judged) -> list[str]:
    lines = [f"  {one.end}: {one.scenario.id}: {one.sentence}"]
    if one.end == FAILED and one.exchange is not None:
        exchange = one.exchange
        status = f"{exchange.status} {exchange.media_type}" if exchange.status else "no whole answer"
        lines.append(indent(f"{exchange.request}\n{_short(exchange.sent)}", "    > "))
        lines.append(indent(f"{status}\n{_short(exchange.received)}", "    < "))
    return lines


def _short(text: str) -> str:
    if len(text) <= _SHOWN:
        return text
    half = _SHOWN // 2
    return f"{text[:half]} …({len(text) - 2 * half} characters)… {text[-half:]}"


def _plain(one: Judged) -> Json:
    return {
        "scenario": one.scenario.id,
        "end": one.end,
        "sentence": one.sentence,
        "seconds": round(one.seconds, 3),
        "exchange": one.exchange.to_plain() if one.exchange else None,
    }
