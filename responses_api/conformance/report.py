"""What a run found: a table for people, JSON for machines."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from responses_api.conformance.outcomes import FAIL, NOT_APPLICABLE, NOT_SHOWN, PASS
from responses_api.conformance.registry import Demand
from responses_api.conformance.runner import Result
from responses_api.conformance.server import Target
from responses_api.conformance.wire import Answer
from responses_api.protocol.plain import Json

_HEADINGS: Final[dict[Demand, str]] = {
    "must": "What the specification demands",
    "should": "What it recommends or its examples imply",
    "extension": "Beyond the specification",
}
_SHOWN: Final = 600
_VERDICTS: Final = (PASS, FAIL, NOT_APPLICABLE, NOT_SHOWN)


def failures(results: Sequence[Result], *, strict: bool) -> list[Result]:
    """The failed rules that count: those that the specification demands, with `strict` all."""
    return [one for one in results if one.verdict == FAIL and (strict or one.rule.demand == "must")]


def as_table(results: Sequence[Result]) -> str:
    """The table, the exchanges of the failures, and the sums."""
    width = max((len(result.rule.id) for result in results), default=0)
    lines: list[str] = []
    for demand, heading in _HEADINGS.items():
        chosen = [result for result in results if result.rule.demand == demand]
        if chosen:
            lines += ["", heading]
            lines += [_line(result, width) for result in chosen]
    for result in results:
        if result.verdict == FAIL:
            lines += ["", *_failure(result)]
    lines.append("")
    for demand, heading in _HEADINGS.items():
        counts = Counter(result.verdict for result in results if result.rule.demand == demand)
        if counts:
            lines.append(
                f"{heading}: " + ", ".join(f"{counts[name]} {name}" for name in _VERDICTS if counts[name])
            )
    return "\n".join(lines)


def as_json(target: Target, results: Sequence[Result]) -> Json:
    """Everything as JSON; the keys of the run are not in it."""
    return {
        "base_url": target.base_url,
        "model": target.model,
        "summary": {
            demand: {
                name: sum(one.verdict == name for one in results if one.rule.demand == demand)
                for name in _VERDICTS
            }
            for demand in _HEADINGS
        },
        "rules": [_plain(result) for result in results],
    }


def _line(result: Result, width: int) -> str:
    text = result.reason or result.rule.sentence
    return f"  {result.verdict:<14}  {result.rule.id:<{width}}  {text}"


def _failure(result: Result) -> list[str]:
    rule = result.rule
    lines = [f"{rule.id}: {rule.sentence}", f"  specification: {rule.section}", f"  seen: {result.reason}"]
    if result.answer is not None:
        lines += [f"  > {line}" for line in _sent(result.answer)]
        lines += [f"  < {line}" for line in _received(result.answer)]
    return lines


def _sent(answer: Answer) -> list[str]:
    return [answer.request, *([_short(answer.sent)] if answer.sent else [])]


def _received(answer: Answer) -> list[str]:
    if not answer.status:
        return ["no whole answer"]
    return [f"{answer.status} {answer.headers.get('content-type', '')}", *_short(answer.body).splitlines()]


def _short(data: bytes) -> str:
    """Its beginning and its end: a stream's faults are often there."""
    text = data.decode(errors="replace")
    if len(text) <= _SHOWN:
        return text
    half = _SHOWN // 2
    return f"{text[:half]} …({len(text) - _SHOWN} characters)… {text[-half:]}"


def _plain(result: Result) -> Json:
    rule, answer = result.rule, result.answer
    exchange = None
    if result.verdict == FAIL and answer is not None:
        exchange = {
            "request": answer.request,
            "sent": _short(answer.sent),
            "status": answer.status,
            "received": _short(answer.body),
        }
    return {
        "id": rule.id,
        "sentence": rule.sentence,
        "section": rule.section,
        "demand": rule.demand,
        "verdict": result.verdict,
        "reason": result.reason or None,
        "seconds": round(result.seconds, 3),
        "exchange": exchange,
    }
