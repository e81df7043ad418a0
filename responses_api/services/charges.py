"""What an ended request is charged: its one row of the ledger, and what it used where its backend did not tell."""

import time
import uuid
from collections.abc import Sequence
from typing import Any, Final

from responses_api.protocol.fold import fold
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.protocol.rounds import rounds_in, said_by_model
from responses_api.quotas.spending import FREE_PRICES, Used, cost, guessed, said_in, strings
from responses_api.services.hosted import is_ours
from tenants.ledger import Entry

_LONGEST_MS: Final = 2**31 - 1
_CODE_LENGTH: Final = 64


def entry_of(
    job: Job,
    *,
    status: str,
    error_code: str = "",
    used: Used | None = None,
    first_event_ms: int | None = None,
) -> Entry:
    """The ledger's row of a job that ends now. `used` is what this attempt used; None is nothing."""
    whole = Used.from_plain(job.spent).plus(used or Used())
    prices, reserved = job.prices or FREE_PRICES, job.reserved or {}
    return Entry(
        response_id=job.response_id,
        tenant_id=uuid.UUID(job.tenant_id),
        key_id=uuid.UUID(job.key_id),
        model=job.request["model"],
        backend=job.backend["name"],
        purpose=job.purpose,
        status=status,
        error_code=error_code[:_CODE_LENGTH],
        **whole.to_plain(),
        input_price=prices["input"],
        cached_input_price=prices["cached_input"],
        output_price=prices["output"],
        cost_nanos=cost(whole, prices),
        reserved_tokens=reserved.get("tokens", 0),
        reserved_nanos=reserved.get("nanos", 0),
        attempts=job.attempt + 1,
        created_at=job.created_at,
        ended_at=int(time.time()),
        first_event_ms=first_event_ms,
        duration_ms=since_asked(job),
    )


def since_asked(job: Job) -> int:
    """How many milliseconds ago the request came, which its response's id tells; never less than none."""
    asked = job.response_id.rpartition("_")[2][:12]
    return min(_LONGEST_MS, max(0, time.time_ns() // 1_000_000 - int(asked, 16)))


def told_usage(job: Job, told: Sequence[Json]) -> Used:
    """About what a response used that was told so far, and whose backend's word on it nobody has heard: nothing, where
    nothing was said.
    """
    so_far = fold([*told]) if told else None
    output = so_far["output"] if so_far else []
    said = guessed(said_in(said_by_model(output, is_ours)))
    if not said:
        return Used()
    reserved = (job.reserved or {}).get("tokens")
    # The whole conversation was read anew for each round of tool calls, and for what was said after the last.
    times = rounds_in(output, is_ours) + (not is_ours(output[-1]["type"]))
    read = guessed(read_by_model(job)) * max(1, times)
    # No more than was reserved, which was more than it could use.
    return Used(read if reserved is None else min(read, max(0, reserved - said)), 0, said, is_estimated=True)


def read_by_model(job: Job) -> list[str]:
    """The texts that a model reads of a job."""
    request: Any = job.request
    read = [request["instructions"], *job.context, request["tools"], request.get("backend_options")]
    return [*strings(read)]
