"""Settling: what was reserved becomes what was used, once, after the ledger has it."""

import uuid
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

import structlog
from redis.exceptions import RedisError

from responses_api.eventlog.connection import blocking_client
from responses_api.quotas import names
from responses_api.quotas.counters import Reservation
from responses_api.quotas.scripts import SETTLE
from tenants.ledger import Entry

log = structlog.get_logger(__name__)

_MOST_AT_ONCE: Final = 500


def settle(entries: Sequence[Entry]) -> None:
    """Count these rows of the ledger, which must be committed, in place of what was reserved for them.

    Of a row without a reservation (Valkey was lost meanwhile, say) the counters are made anew when they are asked next.
    Where Valkey is away the sweep makes up for it.
    """
    by_tenant = attrgetter("tenant_id")
    try:
        for tenant_id, group in groupby(sorted(entries, key=by_tenant), key=by_tenant):
            _run(tenant_id, list(group))
    except (RedisError, OSError) as error:
        log.warning(
            "what was used could not be settled now", error=type(error).__name__, responses=len(entries)
        )


def release(reservation: Reservation) -> None:
    """Give back what was reserved for a request that was not made after all. Raises RedisError or OSError."""
    given = _arguments(reservation.response_id, 0, 0, 0, reservation.key_id, reservation.model)
    SETTLE.run(blocking_client(), _keys(reservation.tenant_id), [names.prefix(reservation.tenant_id), *given])


async def release_soon(client: Any, reservation: Reservation) -> None:
    """As `release`, on the event loop."""
    given = _arguments(reservation.response_id, 0, 0, 0, reservation.key_id, reservation.model)
    keys = _keys(reservation.tenant_id)
    await SETTLE.run_soon(client, keys, [names.prefix(reservation.tenant_id), *given])


def _run(tenant_id: uuid.UUID, entries: list[Entry]) -> None:
    for first in range(0, len(entries), _MOST_AT_ONCE):
        arguments: list[Any] = [names.prefix(tenant_id)]
        for entry in entries[first : first + _MOST_AT_ONCE]:
            tokens = entry.input_tokens + entry.output_tokens
            arguments += _arguments(entry.response_id, 1, tokens, entry.cost_nanos, entry.key_id, entry.model)
        missing = SETTLE.run(blocking_client(), _keys(tenant_id), arguments)
        if missing:
            log.debug("settled without a reservation", tenant_id=str(tenant_id), responses=missing)


def _arguments(
    response_id: str, is_used: int, tokens: int, nanos: int, key_id: uuid.UUID, model: str
) -> Iterable[Any]:
    return response_id, is_used, tokens, nanos, str(key_id), model


def _keys(tenant_id: uuid.UUID) -> list[str]:
    prefix = names.prefix(tenant_id)
    return [prefix + name for name in ("counted", "open", "lock", "during")]
