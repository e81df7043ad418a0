"""What tool policies decided of a response's calls, in sentences. Pure: stored JSON in, sentences out.

What has another shape than is known here is shown as JSON: nothing is hidden.
"""

from dataclasses import dataclass
from typing import Any

from responses_api.admin.shown import cut, pretty
from responses_api.protocol.plain import Json


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision: what was decided in a sentence, whether it let the call pass, and all that was stored of it."""

    sentence: str
    is_allowed: bool
    stored: str


def decisions_of(stored: Any) -> list[Decision]:
    """The decisions, in the order in which they were taken."""
    return [_decision(entry) for entry in stored] if isinstance(stored, list) else []


def _decision(entry: Any) -> Decision:
    if not isinstance(entry, dict):
        return Decision("A decision of an unknown form.", False, pretty(entry))
    effect = str(entry.get("effect") or "")
    return Decision(_sentence(entry, effect), effect == "allow", pretty(entry))


def _sentence(entry: Json, effect: str) -> str:
    what = cut(str(entry.get("tool") or entry.get("name") or entry.get("type") or "A call"))
    verb = {"allow": "was allowed", "deny": "was refused"}.get(effect, effect or "was decided about")
    rule, version = entry.get("rule"), entry.get("version")
    by = f"by the rule {cut(str(rule))}" if rule is not None else "by the default, as no rule matched"
    policy = entry.get("policy") or entry.get("owner")
    of = f" of the policy of the {policy}" if policy else ""
    which = f", version {version}" if version is not None else ""
    return f"{what} {verb} {by}{of}{which}."
