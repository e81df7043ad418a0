"""Which counters a request raises and which limits it must keep. Pure.

A scope is who is counted together, as text: `key|model`, each empty for all. A letter is what is counted.
"""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from tenants.limits import LimitSpec
from tenants.metrics import MOST
from tenants.standing import AnyLimit
from tenants.windows import DAY, MINUTE, MONTH, window

RUNNING: Final = "running"

LETTERS: Final = {
    "requests_per_minute": "r",
    "tokens_per_minute": "t",
    "concurrent_responses": "c",
    "tokens_per_day": "d",
    "tokens_per_month": "m",
    "cost_per_day": "D",
    "cost_per_month": "M",
}
HOMES: Final = {"r": MINUTE, "t": MINUTE, "c": RUNNING, "d": DAY, "m": MONTH, "D": DAY, "M": MONTH}
"""Where each letter is counted: in a window of this kind, or while it runs."""
COSTS: Final = frozenset("DM")
TOKENS: Final = frozenset("tdm")


@dataclass(frozen=True, slots=True)
class Check:
    """A limit, and the counter that it is about. `amount` is the limit's, as exactly as it is counted."""

    limit: AnyLimit
    scope: str
    letter: str
    amount: int

    def resets_at(self, at: int) -> int | None:
        """When its window ends; None for what has none."""
        home = HOMES[self.letter]
        return None if home == RUNNING else window(home, at)[1]


@dataclass(frozen=True, slots=True)
class Reservation:
    """What is held of the quotas for one response. `created_at` (unix seconds) says in which windows."""

    response_id: str
    tenant_id: uuid.UUID
    key_id: uuid.UUID
    model: str
    created_at: int
    tokens: int
    nanos: int

    def to_text(self) -> str:
        """As it is kept: numbers, then the key and the model."""
        month = window(MONTH, self.created_at)[0]
        return f"{self.created_at} {month} {self.tokens} {self.nanos} {self.key_id} {self.model}"

    @staticmethod
    def from_text(response_id: str, tenant_id: uuid.UUID, text: str) -> "Reservation":
        """The inverse of `to_text`."""
        created_at, _, tokens, nanos, key_id, model = text.split(" ", 5)
        return Reservation(
            response_id, tenant_id, uuid.UUID(key_id), model, int(created_at), int(tokens), int(nanos)
        )

    def amount(self, letter: str) -> int:
        """How much of it a counter with this letter counts."""
        return self.nanos if letter in COSTS else self.tokens if letter in TOKENS else 1


def check_of(limit: AnyLimit) -> Check:
    """The limit with its counter."""
    scope = f"{limit.key_id or ''}|{limit.model}"
    return Check(limit, scope, LETTERS[limit.metric], min(limit.amount, MOST))


def checks(limits: Iterable[LimitSpec], key_id: uuid.UUID, model: str, at: int) -> list[Check]:
    """The limits that hold for a request, those first whose refusal lasts longest."""
    mine = (
        check_of(limit) for limit in limits if limit.key_id in (None, key_id) and limit.model in ("", model)
    )
    return sorted(mine, key=lambda check: (-(check.resets_at(at) or 0), check.scope, check.letter))


def scopes_of(key_id: uuid.UUID | str, model: str) -> tuple[str, str, str, str]:
    """Every scope that a request is in."""
    return "|", f"{key_id}|", f"|{model}", f"{key_id}|{model}"


def needed(checked: Sequence[Check]) -> dict[str, str]:
    """The letters that must be counted, by scope."""
    letters: dict[str, str] = {}
    for check in checked:
        if check.letter not in letters.get(check.scope, ""):
            letters[check.scope] = letters.get(check.scope, "") + check.letter
    return letters
