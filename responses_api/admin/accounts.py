"""A response's line of the ledger as arithmetic: what was reserved, what was used at which price, what was given back.

Pure: a line in, sentences out.
"""

from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings

from tenants.metrics import money_text

_MILLION: Final = 10**6


@dataclass(frozen=True, slots=True)
class Term:
    """One factor of the cost: so many tokens at a price of a million make an amount."""

    name: str
    tokens: str
    price: str
    amount: str


@dataclass(frozen=True, slots=True)
class Account:
    """The arithmetic of one response, in words and figures."""

    reserved: str
    terms: list[Term]
    total_tokens: str
    cost: str
    settled: str
    note: str


def account_of(line: Any) -> Account:
    """The arithmetic of a line of the ledger."""
    uncached = line.input_tokens - line.cached_tokens
    reasoning = f", {line.reasoning_tokens:,} of them reasoning" if line.reasoning_tokens else ""
    used = line.input_tokens + line.output_tokens
    return Account(
        reserved=_reserved(line),
        terms=[
            _term("input", uncached, line.input_price),
            _term("input that the backend had cached", line.cached_tokens, line.cached_input_price),
            _term(f"output{reasoning}", line.output_tokens, line.output_price),
        ],
        total_tokens=f"{used:,}",
        cost=money(line.cost_nanos),
        settled=_settled(line, used),
        note="The backend told no usage: the tokens are an estimate." if line.is_estimated else "",
    )


def money(nanos: int) -> str:
    """An amount of the ledger in the currency, exact."""
    return f"{money_text(nanos, grouped=True)} {settings.CURRENCY}"


def _term(name: str, tokens: int, price: int) -> Term:
    return Term(name, f"{tokens:,}", f"{money(price)} a million", money(tokens * price // _MILLION))


def _reserved(line: Any) -> str:
    if not (line.reserved_tokens or line.reserved_nanos):
        return "Nothing was reserved: no limit of tokens or money applied when it came."
    parts = [f"{line.reserved_tokens:,} tokens"] if line.reserved_tokens else []
    parts += [money(line.reserved_nanos)] if line.reserved_nanos else []
    return f"Reserved before it began: {' and '.join(parts)}."


def _settled(line: Any, used: int) -> str:
    parts = []
    for kind, reserved, taken, show in (
        ("tokens", line.reserved_tokens, used, lambda amount: f"{amount:,} tokens"),
        ("money", line.reserved_nanos, line.cost_nanos, money),
    ):
        if reserved and reserved != taken:
            verb = "given back" if reserved > taken else "taken beyond what was reserved"
            parts.append(f"{show(abs(reserved - taken))} {verb}")
        elif reserved:
            parts.append(f"exactly the reserved {kind}")
    return f"Settled at its end: {', '.join(parts)}." if parts else ""
