"""Where a key stands with its limits, for whoever wants to know."""

import time
from dataclasses import dataclass
from typing import Any

from responses_api.eventlog.connection import blocking_client
from responses_api.quotas import names
from responses_api.quotas.counters import HOMES, RUNNING, Check, Reservation, check_of, needed, scopes_of
from responses_api.quotas.rebuilding import rebuild
from responses_api.quotas.windows import window
from tenants.keys import Principal
from tenants.limits import LimitSpec


@dataclass(frozen=True, slots=True)
class Standing:
    """One limit and how much of it is gone: `used` for good, `reserved` for what runs; `remaining` is never below zero.

    Amounts as the limit's own. `resets_at` is in unix seconds; None for what has no window.
    """

    spec: LimitSpec
    used: int
    reserved: int
    remaining: int
    resets_at: int | None


def usage_now(principal: Principal) -> list[Standing]:
    """How each limit that holds for the key stands at this moment, in the order of `principal.limits`. Blocks: for
    threads.

    Raises RedisError or OSError while Valkey is away, the database's errors, and `rebuilding.NotCounted`.
    """
    at = int(time.time())
    checks = [check_of(limit) for limit in principal.limits]
    return [_standing(check, value, held, at) for check, value, held in _read(principal, checks, at)]


def _read(principal: Principal, checks: list[Check], at: int) -> list[tuple[Check, int, list[Reservation]]]:
    if not checks:
        return []
    prefix, client = names.prefix(principal.tenant_id), blocking_client()
    letters, missing = needed(checks), {}
    for _ in range(2):
        pipeline: Any = client.pipeline(transaction=True)
        pipeline.hmget(prefix + "counted", list(letters))
        pipeline.hgetall(prefix + "open")
        for check in checks:
            pipeline.hget(prefix + _place(check, at), check.scope + check.letter)
        counted, held, *values = pipeline.execute()
        missing = _missing(letters, counted)
        if not missing:
            break
        rebuild(principal.tenant_id, missing, at)
    open_now = [
        Reservation.from_text(raw_id.decode(), principal.tenant_id, text.decode())
        for raw_id, text in held.items()
    ]
    return [(check, int(value or 0), open_now) for check, value in zip(checks, values, strict=True)]


def _place(check: Check, at: int) -> str:
    home = HOMES[check.letter]
    return RUNNING if home == RUNNING else f"{home}:{window(home, at)[0]}"


def _missing(letters: dict[str, str], counted: list[bytes | None]) -> dict[str, str]:
    found = {scope: (raw or b"").decode() for scope, raw in zip(letters, counted, strict=True)}
    lacking = {
        scope: "".join(letter for letter in wanted if letter not in found[scope])
        for scope, wanted in letters.items()
    }
    return {scope: wanted for scope, wanted in lacking.items() if wanted}


def _standing(check: Check, value: int, open_now: list[Reservation], at: int) -> Standing:
    home = HOMES[check.letter]
    reserved = sum(
        reservation.amount(check.letter)
        for reservation in open_now
        if check.scope in scopes_of(reservation.key_id, reservation.model)
        and (home == RUNNING or window(home, reservation.created_at) == window(home, at))
    )
    return Standing(
        spec=check.limit,
        used=max(0, value - reserved),
        reserved=reserved,
        remaining=max(0, check.amount - value),
        resets_at=check.resets_at(at),
    )
