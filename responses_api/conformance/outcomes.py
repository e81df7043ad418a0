"""How the look at one rule can end."""

from collections.abc import Iterable
from typing import Final, Literal

from responses_api.conformance.violations import Violation

Verdict = Literal["pass", "fail", "not applicable", "not shown"]

PASS: Final = "pass"
FAIL: Final = "fail"
NOT_APPLICABLE: Final = "not applicable"
NOT_SHOWN: Final = "not shown"


class Outcome(Exception):
    """Ends a rule; the message is the reason, a sentence for the report."""

    verdict: Verdict


class Broken(Outcome):
    """The server breaks the rule."""

    verdict = FAIL


class NotApplicable(Outcome):
    """The server does not offer what the rule is about, or an option of the run is missing."""

    verdict = NOT_APPLICABLE


class NotShown(Outcome):
    """The model did not do what would have shown the rule: neither a pass nor a fault of the server."""

    verdict = NOT_SHOWN


def require(holds: bool, otherwise: str) -> None:
    """Go on if it holds. Raises `Broken` with the sentence `otherwise`."""
    if not holds:
        raise Broken(otherwise)


def require_unbroken(violations: Iterable[Violation]) -> None:
    """Go on if a stream was found without fault. Raises `Broken` with the first of the violations."""
    for violation in violations:
        raise Broken(violation.message)
