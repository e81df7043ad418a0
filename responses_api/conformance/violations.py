"""What a checker reports: the rule that was broken, and how."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule. `rule` is `S1` to `S9`; `message` says what was seen and where.

    `aspect` tells apart what one rule holds together: of S1 `done`, `name`, `id` and `json`, of S2 `beginning` and
    `numbers`.
    """

    rule: str
    message: str
    aspect: str = ""

    def __str__(self) -> str:
        return f"{self.rule}: {self.message}"


class Findings:
    """Collects violations, each with the place it was found at."""

    def __init__(self) -> None:
        self.found: list[Violation] = []

    def add(self, rule: str, message: str, aspect: str = "") -> None:
        """Note one violation."""
        self.found.append(Violation(rule, message, aspect))

    def require(self, holds: bool, rule: str, message: str, aspect: str = "") -> bool:
        """Note a violation unless `holds`; returns `holds`."""
        if not holds:
            self.add(rule, message, aspect)
        return holds
