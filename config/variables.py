"""Numbers, switches and choices from the environment: a mistake is kept for `manage.py check`, the import goes on."""

import os
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import environ

Number = TypeVar("Number", int, float)

_ON: Final = frozenset({"true", "1", "yes", "on", "y", "ok"})
_OFF: Final = frozenset({"false", "0", "no", "off", "n"})

mistakes: Final[list[str]] = []
"""One sentence for each variable whose value is wrong; its default is used."""


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


def positive_or_off(read: Callable[..., Number], name: str) -> Number | None:
    """As `positive`; 0, or nothing, switches off what the variable is about."""
    if os.environ.get(name, "").strip() in ("", "0", "0.0"):
        return None
    try:
        value = read(name)
    except (ValueError, environ.ImproperlyConfigured):
        mistakes.append(f"{name} is not a number.")
        return None
    if not 0 < value < float("inf"):
        mistakes.append(f"{name} is {value}; it must be above zero, or 0 for never.")
        return None
    return value


def switch(name: str, *, default: bool) -> bool:
    """Whether the variable `name` is on; `default` where it is not set, or neither on nor off."""
    value = os.environ.get(name, "").strip().lower()
    if value in _ON:
        return True
    if value in _OFF:
        return False
    if value:
        mistakes.append(f"{name} is {value[:20]!r}; it must be true or false.")
    return default


def choice(name: str, options: Sequence[str]) -> str:
    """The variable `name`, which is one of `options`; the first of them where it is not set or none of them."""
    value = os.environ.get(name, "").strip().lower()
    if value and value not in options:
        mistakes.append(f"{name} is {value[:20]!r}; it must be one of {', '.join(sorted(options))}.")
    return value if value in options else options[0]
