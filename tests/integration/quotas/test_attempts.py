"""Another attempt at a background response: what the lost one used stays used, and no limit is passed by the two."""

import asyncio
import time
from dataclasses import replace

import pytest

from responses_api.dispatch import BACKGROUND_QUEUE
from responses_api.eventlog import turns
from responses_api.eventlog.connection import asyncio_client
from responses_api.models import Backend
from responses_api.protocol.job import Job
from responses_api.quotas.counters import checks
from responses_api.quotas.gate import reserve
from responses_api.quotas.reading import by_counters
from responses_api.services.admission import reservation_of
from responses_api.services.background import prelude
from responses_api.services.finish import open_row
from responses_api.services.running import running_snapshot
from tenants.models import Tenant
from tests.integration.builders import job_of
from tests.integration.quotas.conftest import SetLimit, open_reservations, principal_of, rows, standings
from tests.integration.services.attempts import begin, ended, lose
from tests.support.chat import chat_stream
from tests.support.client import wait_until
from tests.support.upstream import ScriptedUpstream

RESERVED = 60
WIDE = 1_000
pytestmark = pytest.mark.usefixtures("friend")  # who has a key


def admitted(tenant: Tenant, backend: Backend) -> Job:
    """A background job that waits, with its reservation."""
    caller = principal_of(tenant)
    made = job_of(tenant, "Hello", background=True, backend=backend.spec())
    job = replace(made, key_id=str(caller.key_id), reserved={"tokens": RESERVED, "nanos": 0})
    by_counters(tenant.id, caller.limits, int(time.time()))  # makes the counters

    async def hold() -> str:
        limited = checks(caller.limits, caller.key_id, job.request["model"], job.created_at)
        async with asyncio_client() as client:
            return (await reserve(client, reservation_of(job), limited)).answer

    assert asyncio.run(hold()) == "reserved"
    open_row(job, running_snapshot(job, "queued"))
    waits = (job.tenant_id, job.response_id, job.to_bytes())
    turns.offer_background(BACKGROUND_QUEUE, waits, prelude(job).to_bytes())
    return job


def lost_after_a_word(job: Job) -> None:
    worker, _ = begin(job)
    lose(worker)


def test_without_room_for_what_the_first_one_used_there_is_no_second(
    friend_tenant: Tenant, backend: Backend, set_limit: SetLimit
) -> None:
    set_limit("tokens_per_day", RESERVED + 1)
    job = admitted(friend_tenant, backend)
    lost_after_a_word(job)
    failed = ended(friend_tenant, job)
    assert (failed["status"], failed["error"]["code"]) == ("failed", "worker_lost")
    standing = standings(friend_tenant)["tokens_per_day"]
    assert 0 < standing.used <= RESERVED
    assert (standing.reserved, open_reservations(friend_tenant.id)) == (0, 0)


def test_with_room_what_the_first_one_used_is_held_beside_what_the_second_may_use(
    friend_tenant: Tenant, backend: Backend, set_limit: SetLimit, upstream: ScriptedUpstream
) -> None:
    for metric in ("tokens_per_day", "requests_per_minute", "concurrent_responses"):
        set_limit(metric, WIDE)
    upstream.reply(body=chat_stream("Hello", " there"))
    job = admitted(friend_tenant, backend)
    lost_after_a_word(job)
    whole = ended(friend_tenant, job)
    assert whole["status"] == "completed"
    (row,) = rows()
    lost = row["input_tokens"] + row["output_tokens"] - whole["usage"]["total_tokens"]
    assert lost > 0
    assert (row["reserved_tokens"], row["attempts"]) == (RESERVED + lost, 2)

    def settled() -> bool:
        return open_reservations(friend_tenant.id) == 0

    wait_until(settled, timeout=10, what="the settlement")
    found = standings(friend_tenant)
    assert found["tokens_per_day"].used == row["input_tokens"] + row["output_tokens"]
    assert found["requests_per_minute"].used == 1
    assert found["concurrent_responses"].used == 0
