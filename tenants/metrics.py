"""What limits count, and how amounts of it are read and written. Pure: no Django, no database.

Requests, tokens and responses are whole numbers. Money is whole nano-units (1e-9) of the currency; people read and
write it as a decimal of the currency itself.
"""

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Final

METRICS: Final = (
    ("requests_per_minute", "requests per minute"),
    ("tokens_per_minute", "tokens per minute"),
    ("concurrent_responses", "responses at the same time"),
    ("tokens_per_day", "tokens per day (UTC)"),
    ("tokens_per_month", "tokens per month (UTC)"),
    ("cost_per_day", "cost per day (UTC)"),
    ("cost_per_month", "cost per month (UTC)"),
)
NAMES: Final = tuple(name for name, _ in METRICS)

NANOS: Final = 1_000_000_000
"""Nano-units in one unit of the currency."""
MOST: Final = 2**53 - 1
"""The largest amount that every part counts exactly: Lua, and JSON in most clients, have doubles for numbers."""

_PLACES: Final = 9


def is_money(metric: str) -> bool:
    """Whether amounts of this metric are nano-units of the currency."""
    return metric.startswith("cost_")


def read_amount(metric: str, text: str | Decimal) -> int:
    """The amount that somebody wrote. Raises `ValueError`, whose sentence says what would be right."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or number < 0:
        raise ValueError("The amount must be a number, zero or above.")
    if number > MOST:
        raise ValueError(f"The amount must be at most {_most(metric)}.")
    scaled = number.scaleb(_PLACES) if is_money(metric) else number
    if scaled != scaled.to_integral_value():
        raise ValueError(
            f"The amount may have {_PLACES} places after the point."
            if is_money(metric)
            else "The amount must be a whole number: only cost has parts."
        )
    if scaled > MOST:
        raise ValueError(f"The amount must be at most {_most(metric)}.")
    return int(scaled)


def _most(metric: str) -> str:
    return money_text(MOST) if is_money(metric) else str(MOST)


def amount_text(metric: str, amount: int, currency: str) -> str:
    """An amount as pages write it: `12.50 USD` or `1,000,000`."""
    return f"{money_text(amount, grouped=True)} {currency}" if is_money(metric) else f"{amount:,}"


def money_text(nanos: int, *, grouped: bool = False) -> str:
    """Nano-units as a decimal of the currency, exact, with two places or as many as it takes."""
    sign = "-" if nanos < 0 else ""
    units, rest = divmod(abs(nanos), NANOS)
    places = f"{rest:09d}".rstrip("0").ljust(2, "0")
    return f"{sign}{units:,}.{places}" if grouped else f"{sign}{units}.{places}"


def short_money(nanos: int, currency: str) -> str:
    """An amount for a glance: to the cent, or as exact as it takes where it is less than that."""
    cent = NANOS // 100
    if 0 < nanos < cent:
        return f"{money_text(nanos)} {currency}"
    cents = (nanos + cent // 2) // cent
    return f"{cents // 100:,}.{cents % 100:02d} {currency}"


def read_limits(text: str) -> Iterator[tuple[str, int] | str]:
    """The entries of `metric=amount,metric=amount`: as a pair each, or a sentence that says what is wrong."""
    seen: set[str] = set()
    for entry in filter(None, (part.strip() for part in text.split(","))):
        metric, _, written = (part.strip() for part in entry.partition("="))
        if metric not in NAMES:
            yield f"{metric[:40]!r} is no metric of limits; there are: {', '.join(NAMES)}."
        elif metric in seen:
            yield f"{metric} is given twice."
        else:
            seen.add(metric)
            try:
                yield metric, read_amount(metric, written)
            except ValueError as error:
                yield f"{metric}: {error}"
