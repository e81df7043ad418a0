"""The sweep: what a process left reserved that died is settled by its row of the ledger, or given back."""

import asyncio
from typing import Any

import pytest
from pytest_django import Settings

from responses_api.eventlog.connection import asyncio_client
from responses_api.quotas import names
from responses_api.quotas.counters import Reservation, checks
from responses_api.quotas.gate import reserve
from responses_api.services import sweep
from responses_api.services.identity import new_id, now
from tenants import ledger
from tenants.ledger import Entry
from tenants.models import Limit, Tenant
from tenants.scoping import operator_scope, tenant_scope
from tests.integration.quotas.conftest import (
    VALKEY,
    SetLimit,
    open_reservations,
    principal_of,
    rows,
    standings,
)
from tests.support.chat import chat_stream
from tests.support.client import Client
from tests.support.upstream import ScriptedUpstream

BEGUN = chat_stream("Hel", "lo there", finish=None, usage=None, done=False)
LATER = 60


@pytest.fixture(autouse=True)
def limits(set_limit: SetLimit, settings: Settings) -> None:
    """Limits of a day, which no test outlives but at midnight, and a short wait for a worker."""
    set_limit("tokens_per_day", 100_000)
    set_limit("concurrent_responses", 5)
    settings.QUEUE_SECONDS = 5


def sweep_at(moment: int) -> int:
    """Sweep as it would be done at this moment."""
    VALKEY.delete(names.sweep())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweep, "now", lambda: moment)
        return sweep.sweep()


def hold(tenant: Tenant, tokens: int) -> Reservation:
    """Reserve for a request of the tenant's whose process dies before anybody has its job."""
    principal = principal_of(tenant)
    mine = Reservation(
        new_id("resp"), tenant.id, principal.key_id, "test-model", now(), tokens=tokens, nanos=tokens * 2000
    )
    asked = checks(principal.limits, mine.key_id, mine.model, mine.created_at)

    async def ask() -> Any:
        async with asyncio_client() as client:
            return await reserve(client, mine, asked)

    standings(tenant)  # makes the counters
    assert asyncio.run(ask()).answer == "reserved"
    return mine


def test_a_row_that_nobody_settled_is_settled_by_what_it_says_and_once(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("responses_api.services.finish.settle", lambda entries: None)
    upstream.reply(body=chat_stream("Hi", usage=(1000, 50)))
    assert friend.create(input="Hello", max_output_tokens=100).status == 200
    held = standings(friend_tenant)
    assert (len(rows()), held["concurrent_responses"].reserved, held["tokens_per_day"].used) == (1, 1, 0)
    ended_at = rows()[0]["ended_at"]
    assert sweep_at(ended_at + 5) == 0, "who wrote the row has a moment to settle it"
    assert sweep_at(ended_at + 6) == 1
    assert open_reservations(friend_tenant.id) == 0
    assert sweep_at(ended_at + 7) == 0
    left = standings(friend_tenant)
    assert (left["tokens_per_day"].used, left["tokens_per_day"].reserved) == (1_050, 0)
    assert left["concurrent_responses"].reserved == 0
    assert len(rows()) == 1


@pytest.mark.usefixtures("friend")
def test_a_request_whose_job_is_nowhere_is_given_back_with_a_row_that_says_so(friend_tenant: Tenant) -> None:
    lost = hold(friend_tenant, 700)
    assert standings(friend_tenant)["tokens_per_day"].reserved == 700
    assert sweep_at(lost.created_at + 3 * 5) == 0, "it may still be on its way to a worker"
    assert sweep_at(lost.created_at + 3 * 5 + 1) == 1
    (row,) = rows()
    assert (row["response_id"], row["key_id"], row["model"]) == (lost.response_id, lost.key_id, lost.model)
    assert (row["status"], row["error_code"]) == ("failed", "worker_lost")
    assert (row["input_tokens"], row["output_tokens"], row["cost_nanos"]) == (0, 0, 0)
    assert (row["reserved_tokens"], row["reserved_nanos"]) == (700, 1_400_000)
    left = standings(friend_tenant)
    assert (left["tokens_per_day"].used, left["tokens_per_day"].reserved) == (0, 0)
    assert left["concurrent_responses"].reserved == 0


def test_what_runs_and_what_waits_is_left_alone_however_long_it_takes(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=BEGUN, end="hang", always=True)
    waiting = friend.create(input="Hello", background=True, service_tier="flex")
    assert (waiting.status, waiting.json()["status"]) == (200, "queued")
    with friend.stream(input="Hello", store=False) as running:
        running.read_event("response.output_text.delta")
        assert open_reservations(friend_tenant.id) == 2
        assert sweep_at(now() + 10_000) == 0
    assert open_reservations(friend_tenant.id) >= 1


@pytest.mark.usefixtures("friend")
def test_who_ends_after_the_sweep_finds_its_end_written(friend_tenant: Tenant) -> None:
    lost = hold(friend_tenant, 700)
    assert sweep_at(now() + LATER) == 1
    late = Entry(
        lost.response_id,
        lost.tenant_id,
        lost.key_id,
        lost.model,
        "completed",
        lost.created_at,
        now(),
        output_tokens=9,
    )
    with tenant_scope(friend_tenant.id):
        assert ledger.record([late]) == set()
    assert standings(friend_tenant)["tokens_per_day"].used == 0


@pytest.mark.usefixtures("friend")
def test_one_tenant_that_cannot_be_swept_does_not_keep_the_others_waiting(
    friend_tenant: Tenant, stranger_tenant: Tenant
) -> None:
    with operator_scope():
        Limit.objects.create(tenant=stranger_tenant, metric="tokens_per_day", amount=1)
    VALKEY.hset(names.prefix(stranger_tenant.id) + "open", "resp_1", "not a reservation")
    hold(friend_tenant, 700)
    try:
        assert sweep_at(now() + LATER) == 1
    finally:
        VALKEY.delete(names.prefix(stranger_tenant.id) + "open")
    assert open_reservations(friend_tenant.id) == 0


@pytest.mark.usefixtures("friend")
def test_only_one_process_sweeps_at_a_time(friend_tenant: Tenant) -> None:
    hold(friend_tenant, 700)
    VALKEY.set(names.sweep(), b"1", px=60_000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweep, "now", lambda: now() + LATER)
        assert sweep.sweep() == 0
    assert open_reservations(friend_tenant.id) == 1
    assert sweep_at(now() + LATER) == 1
