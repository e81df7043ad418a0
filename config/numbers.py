"""Numbers from the environment: a mistake is kept for `manage.py check` instead of ending the import."""

import os
from collections.abc import Callable
from typing import Final, TypeVar

import environ

Number = TypeVar("Number", int, float)

mistakes: Final[list[str]] = []
"""One sentence for each variable whose value was no number above zero; its default is used."""


def positive(read: Callable[..., Number], name: str, default: Number) -> Number:
    """The variable `name` by `read` (`env.int` or `env.float`); `default` where it is not set or wrong."""
    try:
        value = read(name, default=default)
    except (ValueError, environ.ImproperlyConfigured):
        mistakes.append(f"{name} is not a number.")
        return default
    if not 0 < value < float("inf"):
        mistakes.append(f"{name} is {value}; it must be above zero.")
        return default
    return value


def positive_or_none(read: Callable[..., Number], name: str, default: Number) -> Number | None:
    """As `positive`, but 0 has a meaning, too: there is no such limit."""
    if os.environ.get(name, "").strip() in ("0", "0.0"):
        return None
    return positive(read, name, default)
