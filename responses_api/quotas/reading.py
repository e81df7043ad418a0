"""Where the limits of a tenant stand by their counters (`tenants.standing` asks)."""

import time
import uuid
from collections.abc import Sequence
from typing import Any, Final

import structlog
from redis.exceptions import RedisError

from responses_api.eventlog.connection import blocking_client
from responses_api.quotas import names
from responses_api.quotas.counters import HOMES, RUNNING, Check, Reservation, check_of, needed, scopes_of
from responses_api.quotas.rebuilding import LOCK_SECONDS, NotCounted, rebuild
from tenants import standing
from tenants.standing import AnyLimit, Standing
from tenants.windows import window

log = structlog.get_logger(__name__)

_LOOK_SECONDS: Final = 0.01


def stand(tenant_id: uuid.UUID, limits: Sequence[AnyLimit], now: int) -> dict[uuid.UUID, Standing]:
    """Where any limits of a tenant stand, as `tenants.standing.Reader`: by the counters, and while those cannot be had
    by the ledger, which knows nothing of what runs.
    """
    try:
        return by_counters(tenant_id, limits, now)
    except (RedisError, OSError, NotCounted) as error:
        log.warning("limits are told by the ledger alone", error=type(error).__name__)
        return standing.of_ledger(tenant_id, limits, now)


def by_counters(tenant_id: uuid.UUID, limits: Sequence[AnyLimit], at: int) -> dict[uuid.UUID, Standing]:
    """Where limits stand by their counters, which are made where they are missing. Blocks: for threads.

    Raises RedisError or OSError while Valkey is away, the database's errors, and `rebuilding.NotCounted`.
    """
    checks = [check_of(limit) for limit in limits]
    if not checks:
        return {}
    prefix, client = names.prefix(tenant_id), blocking_client()
    letters, ends_at = needed(checks), time.monotonic() + LOCK_SECONDS
    while time.monotonic() < ends_at:
        pipeline: Any = client.pipeline(transaction=True)
        pipeline.hmget(prefix + "counted", list(letters))
        pipeline.hgetall(prefix + "open")
        for check in checks:
            pipeline.hget(prefix + _place(check, at), check.scope + check.letter)
        counted, held, *values = pipeline.execute()
        missing = _missing(letters, counted)
        if not missing:
            open_now = [
                Reservation.from_text(raw_id.decode(), tenant_id, text.decode())
                for raw_id, text in held.items()
            ]
            return {
                check.limit.id: _standing(check, int(value or 0), open_now, at)
                for check, value in zip(checks, values, strict=True)
            }
        if not rebuild(tenant_id, missing, at):
            time.sleep(_LOOK_SECONDS)
    raise NotCounted


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
    return Standing(max(0, value - reserved), reserved, check.resets_at(at))
