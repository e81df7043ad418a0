"""What tool policies decided of the calls of a response (see `protocol.policy`), in sentences. Pure: JSON in, text out.

What has another shape than is known here is shown as JSON: nothing is hidden.
"""

from dataclasses import dataclass
from typing import Any, Final

from responses_api.admin.shown import cut, pretty

_LONGEST: Final = 500
_BECAME: Final = {"allow": "allowed", "approve": "left to the caller's approval"}


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
    if not isinstance(entry, dict) or "effect" not in entry:
        return Decision("A decision of a form that is not known here.", False, pretty(entry))
    is_allowed = entry["effect"] == "allow"
    became = _BECAME.get(entry["effect"], "refused")
    what = f"{cut(str(entry.get('tool') or 'A call'), _LONGEST)} was {became}"
    why = entry.get("why") or f"Rule {entry.get('rule')!r}, version {entry.get('version')}."
    return Decision(f"{what}. {cut(str(why), _LONGEST)}", is_allowed, pretty(entry))
