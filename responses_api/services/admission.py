"""Admission: what a request may use is reserved before anybody works on it, or it is refused."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final
from uuid import UUID

import structlog
from redis.exceptions import RedisError

from responses_api.protocol.errors import ProtocolError, overloaded
from responses_api.protocol.job import Job
from responses_api.quotas.counters import Check, Reservation, needed
from responses_api.quotas.gate import Decision, reserve
from responses_api.quotas.rebuilding import LOCK_SECONDS, NotCounted, rebuild
from responses_api.quotas.settling import release_soon
from responses_api.quotas.wording import rate_headers, refusal
from responses_api.services.database import in_database
from responses_api.services.soft_limits import tell_reached

log = structlog.get_logger(__name__)

_LOOK_SECONDS: Final = 0.01
_AWAY: Final = overloaded("The service cannot take requests at the moment; try again.")
_BUSY: Final = overloaded("The tenant's quotas are being counted anew; try again.")
_telling: Final[set["asyncio.Task[None]"]] = set()


def reservation_of(job: Job) -> Reservation:
    """What a job has to reserve, or has reserved."""
    reserved = job.reserved or {"tokens": 0, "nanos": 0}
    return Reservation(
        response_id=job.response_id,
        tenant_id=UUID(job.tenant_id),
        key_id=UUID(job.key_id),
        model=job.request["model"],
        created_at=job.created_at,
        tokens=reserved["tokens"],
        nanos=reserved["nanos"],
    )


@asynccontextmanager
async def admitted(client: Any, job: Job, checks: Sequence[Check]) -> AsyncIterator[dict[str, str]]:
    """Reserve what the job may use while it is handed over; gives the headers that tell where its limits stand.

    What fails inside of the block gives everything back. Without limits nothing is asked. Raises `ProtocolError` 429
    for a limit without room, 503 where nobody can tell.
    """
    if not checks:
        yield {}
        return
    reservation, is_refused = reservation_of(job), False
    try:
        headers, refused = await _admit(client, reservation, checks)
        if refused is not None:
            is_refused = True
            raise refused
        yield headers
    except BaseException:
        if not is_refused:
            await asyncio.shield(_give_back(client, reservation))
        raise


async def _admit(
    client: Any, reservation: Reservation, checks: Sequence[Check]
) -> tuple[dict[str, str], ProtocolError | None]:
    """The headers of the answer, and the refusal where a limit has no room: then nothing was reserved."""
    try:
        decision = await _decided(client, reservation, checks)
    except (RedisError, OSError) as error:
        log.error("Valkey does not answer", error=type(error).__name__)
        raise _AWAY.anew() from error
    except NotCounted:
        raise _BUSY.anew() from None
    at = reservation.created_at
    if decision.refused_by is not None:
        used = decision.used[checks.index(decision.refused_by)]
        headers = rate_headers(checks, decision.used, at)
        return headers, refusal(decision.refused_by, used, reservation, headers)
    if decision.reached:
        telling = asyncio.create_task(_tell(reservation.tenant_id, decision.reached))
        _telling.add(telling)
        telling.add_done_callback(_telling.discard)
    after = [
        value + reservation.amount(check.letter) for check, value in zip(checks, decision.used, strict=False)
    ]
    return rate_headers(checks, after, at) if after else {}, None


async def _decided(client: Any, reservation: Reservation, checks: Sequence[Check]) -> Decision:
    ends_at = time.monotonic() + LOCK_SECONDS
    while time.monotonic() < ends_at:
        decision = await reserve(client, reservation, checks)
        if decision.answer == "count":
            await in_database(rebuild, reservation.tenant_id, needed(checks), reservation.created_at)
        elif decision.answer == "wait":
            await asyncio.sleep(_LOOK_SECONDS)
        else:
            return decision
    raise NotCounted


async def _give_back(client: Any, reservation: Reservation) -> None:
    try:
        await release_soon(client, reservation)
    except (RedisError, OSError) as error:
        log.warning("a reservation could not be given back now", error=type(error).__name__)


async def _tell(tenant_id: UUID, reached: Sequence[Check]) -> None:
    try:
        await in_database(tell_reached, tenant_id, reached)
    except Exception:  # the request goes on
        log.exception("nobody could be told of a soft limit")
