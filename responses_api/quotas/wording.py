"""Limits in words: what a refused client reads, what people are told of a soft limit, and the headers of an answer."""

import time
from collections.abc import Sequence
from typing import Final

from django.conf import settings

from responses_api.protocol.errors import ProtocolError, too_many_requests
from responses_api.quotas.counters import COSTS, HOMES, RUNNING, TOKENS, Check, Reservation
from tenants.metrics import money_text
from tenants.windows import MINUTE

_UNITS: Final = {
    "r": "requests per minute",
    "t": "tokens per minute",
    "c": "responses at the same time",
    "d": "tokens per day",
    "m": "tokens per month",
    "D": "per day",
    "M": "per month",
}
_HEADERS: Final = {"r": "requests", "t": "tokens"}


def described(check: Check) -> str:
    """The limit, with its amount and whom it is for: `100 requests per minute of the key, for the model 'small'`."""
    whose = "the key" if check.limit.key_id else "the tenant"
    model = f", for the model '{check.limit.model}'" if check.limit.model else ""
    return f"{amount(check, check.amount)} {_UNITS[check.letter]} of {whose}{model}"


def amount(check: Check, value: int) -> str:
    """So much of what the limit counts: a number, or money with its currency."""
    if check.letter not in COSTS:
        return str(value)
    return f"{money_text(value)} {settings.CURRENCY}"


def refusal(check: Check, used: int, reservation: Reservation, headers: dict[str, str]) -> ProtocolError:
    """The 429 of a request that a limit has no room for. It says which, and when there will be some."""
    now, resets_at = int(time.time()), check.resets_at(reservation.created_at)
    wanted = reservation.amount(check.letter)
    words = [
        f"The limit of {described(check)} has no room for this request: {amount(check, used)} used or reserved."
    ]
    if check.letter in COSTS | TOKENS:
        unit = "" if check.letter in COSTS else " tokens"
        words.append(f"It may take {amount(check, wanted)}{unit}, by its input and 'max_output_tokens'.")
    if wanted > check.amount:
        words.append("That is more than the whole limit: shorten the input or ask for fewer tokens.")
    elif resets_at is None:
        words.append("Wait until a response has ended.")
    else:
        words.append(f"It resets at {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(resets_at))}.")
    wait = 1 if resets_at is None else max(1, resets_at - now)
    error = too_many_requests(" ".join(words), _code(check), retry_after=wait)
    # To the second, also where that is further off than an upstream's word would be believed.
    return error.with_headers({"Retry-After": str(wait), **headers})


def rate_headers(checks: Sequence[Check], used: Sequence[int], at: int) -> dict[str, str]:
    """`x-ratelimit-…` of the tightest hard limits of a minute, by what they have had used."""
    headers: dict[str, str] = {}
    for letter, name in _HEADERS.items():
        left = [
            (max(0, check.amount - value), check)
            for check, value in zip(checks, used, strict=True)
            if check.letter == letter and check.limit.is_hard
        ]
        if not left:
            continue
        remaining, check = min(left, key=lambda pair: pair[0])
        wait = max(0, (check.resets_at(at) or at) - int(time.time()))
        headers[f"x-ratelimit-limit-{name}"] = str(check.amount)
        headers[f"x-ratelimit-remaining-{name}"] = str(remaining)
        headers[f"x-ratelimit-reset-{name}"] = f"{wait}s"
    return headers


def _code(check: Check) -> str:
    if HOMES[check.letter] == RUNNING:
        return "concurrency_exceeded"
    return "rate_limit_exceeded" if HOMES[check.letter] == MINUTE else "quota_exceeded"
