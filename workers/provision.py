"""What the quotas of a tenant hold for a response of several rounds: before each of them more, where it needs that."""

from dataclasses import replace
from typing import Final
from uuid import UUID

import structlog
from django.conf import settings
from redis.exceptions import RedisError

from responses_api.protocol.errors import overloaded, too_many_requests
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.protocol.request import CreateRequest
from responses_api.quotas.bounds import bound
from responses_api.quotas.spending import FREE_PRICES, Used, cost
from responses_api.services.database import in_database
from responses_api.services.named_files import named_bytes
from responses_api.services.room import has_room

log = structlog.get_logger(__name__)

_NO_ROOM: Final = too_many_requests(
    "A limit of this tenant has no room for another round of the response's tool calls.",
    code="quota_exceeded",
)
_AWAY: Final = overloaded("The tenant's quotas cannot be asked at the moment.")


class Provision:
    """`reserved` is what is held for the response now, as its job tells it; None where there is no limit."""

    def __init__(self, job: Job) -> None:
        self.reserved = job.reserved
        self._job = job

    async def hold(self, job: Job, used: Used) -> Job:
        """Hold what the round of this `job` may need beside what was `used` before it; the job with what is held then.

        Raises `ProtocolError` 429 where a limit has no room for it.
        """
        if self.reserved is None:
            return job
        try:
            self.reserved = await in_database(self._raised, job, used)
        except (RedisError, OSError) as error:
            log.error("Valkey does not answer", error=type(error).__name__)
            raise _AWAY.anew() from error
        return replace(job, reserved=self.reserved)

    def _raised(self, job: Job, used: Used) -> Json:
        """What is held once there is room for another round. Blocks: for threads."""
        assert self.reserved is not None
        held, needed = self.reserved, _needed(job, used)
        more = {name: max(0, needed[name] - held[name]) for name in ("tokens", "nanos")}
        if any(more.values()) and not has_room(self._job, more):
            raise _NO_ROOM.anew()
        return {name: held[name] + more[name] for name in more}


def _needed(job: Job, used: Used) -> Json:
    """The most that a response uses which has `used` something, with a round more. Blocks: for threads."""
    request = CreateRequest.from_plain(job.request)
    if request.max_output_tokens is None:
        request = replace(request, max_output_tokens=job.output_cap)
    prices = [target.prices or FREE_PRICES for target in job.choices()]
    dearest = {name: max(price[name] for price in prices) for name in FREE_PRICES}
    most = bound(
        request,
        (job.context,),
        checks=(),
        prices=dearest,
        context_window=job.context_window,
        most_output=settings.RESERVED_OUTPUT_TOKENS,
        purpose=job.purpose,
        named_bytes=named_bytes(job.context, UUID(job.tenant_id)),
    )
    return {"tokens": used.tokens + most.tokens, "nanos": cost(used, dearest) + most.nanos}
