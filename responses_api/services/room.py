"""Room for another attempt: what the first one used stays used, so its response needs more than was reserved for it."""

import time
import uuid
from typing import Final

from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.quotas.counters import Reservation, checks
from responses_api.quotas.gate import hold_more
from tenants.limits import limits_of
from tenants.scoping import tenant_scope

_WAIT_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 0.05


def has_room(job: Job, more: Json) -> bool:
    """Hold `more` (tokens, nanos) for a job that was admitted, if its limits, as they are now, have room. Blocks: for
    threads.

    Raises RedisError, OSError and the database's errors.
    """
    tenant_id, key_id, model = uuid.UUID(job.tenant_id), uuid.UUID(job.key_id), job.request["model"]
    with tenant_scope(tenant_id):
        limited = checks(limits_of(tenant_id, key_id), key_id, model, job.created_at)
    wanted = Reservation(
        job.response_id, tenant_id, key_id, model, job.created_at, more["tokens"], more["nanos"]
    )
    ends_at = time.monotonic() + _WAIT_SECONDS
    while (answer := hold_more(wanted, limited)) == "wait" and time.monotonic() < ends_at:
        time.sleep(_LOOK_SECONDS)
    # What is held by nobody (Valkey was lost) is found by the counters when they are made anew.
    return answer in ("raised", "gone")
