"""`ANTIPHON_SIGNUP_LIMITS`: `metric=amount` pairs, separated by commas; amounts of cost in the currency."""

from typing import Final

from tenants.metrics import read_limits

starting_limit_mistakes: Final[list[str]] = []
"""One sentence for each entry that is no limit."""


def read_starting_limits(text: str) -> tuple[tuple[str, int], ...]:
    """The limits, cost in nano-units; an entry that is none is left out, and told by `manage.py check`."""
    limits = []
    for entry in read_limits(text):
        if isinstance(entry, str):
            starting_limit_mistakes.append(f"ANTIPHON_SIGNUP_LIMITS: {entry}")
        else:
            limits.append(entry)
    return tuple(limits)
