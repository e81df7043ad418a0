"""The proof of the quotas: many processes, random ends, and in the end counters, ledger and upstream say the same.

ANTIPHON_PROOF=full runs it with 8 processes and 2,000 requests at the same time (the default: 4 and 120).
"""

import asyncio
import json
import os
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.e2e.quotas.evidence import (
    Row,
    Watch,
    changed,
    counters_are_the_ledger,
    is_as_delivered,
    is_paid,
    rows_in,
    sums,
)
from tests.e2e.quotas.storm import MODELS, Force, Seen, Storm
from tests.e2e.web import another_web, wait_until_it_answers
from tests.support.client import wait_until
from tests.support.metered import MeteredUpstream
from tests.support.processes import Process
from tests.support.service import Service

IS_FULL = os.environ.get("ANTIPHON_PROOF") == "full"
FORCE = (
    Force(2_000, webs=4, workers=4, kills=3, kill_every=3, tries=60, pause=(0.3, 1.5))
    if IS_FULL
    else Force(120, webs=2, workers=2, kills=1, kill_every=1, tries=12, pause=(0.1, 0.6))
)
PLACES = 60 if IS_FULL else 18
PRICES = (10**9, 2 * 10**9)
SETTINGS = {
    "ANTIPHON_LEASE_SECONDS": "2",
    "ANTIPHON_QUEUE_SECONDS": "20" if IS_FULL else "4",
    "ANTIPHON_DRAIN_SECONDS": "1",
    "LOG_LEVEL": "WARNING",
}
Record = Callable[[str, object], None]


@dataclass(frozen=True, slots=True)
class Field:
    """Where the storm is: a service of several processes, and a tenant with limits of every kind."""

    service: Service
    keys: list[str]
    webs: list[str]
    workers: list[Process]
    upstream: MeteredUpstream


@pytest.fixture
def field(tmp_path: Path) -> Iterator[Field]:
    """The service, begun; its processes are killed at the end, for nothing is left to be told by them."""
    with ExitStack() as stack:
        upstream = stack.enter_context(MeteredUpstream())
        service = Service("proof", tmp_path, SETTINGS)
        stack.enter_context(service)
        prices = ("--price", f"{PRICES[0] // 10**9},{PRICES[1] // 10**9}")
        stack.enter_context(service.backend("metered", upstream.base_url, *MODELS, options=prices))
        webs = [another_web(service, folder_of(tmp_path, number)) for number in range(1, FORCE.webs)]
        workers = [service.another_worker() for _ in range(1, FORCE.workers)]
        for process in (*webs, *workers):
            process.start()
            stack.callback(process.kill)
        for process in service.processes:
            stack.callback(process.kill)
        keys = set_up(service)
        for web in webs:
            wait_until_it_answers(web)
        urls = [service.base_url, *(web.name for web in webs)]
        yield Field(service, keys, urls, [service.worker, *workers], upstream)


def folder_of(tmp_path: Path, number: int) -> Path:
    """A folder for the logs of one more web process."""
    folder = tmp_path / f"web{number}"
    folder.mkdir()
    return folder


def set_up(service: Service) -> list[str]:
    """A second key, and limits; returns the texts of both keys."""
    key = json.loads(service.manage("create_key", "friend", "--json"))["key"]
    texts = [str(service.friend.key), str(key)]
    with connect(service) as database:
        set_limits(database, texts)
    return texts


def set_limits(database: "psycopg.Connection[Any]", texts: list[str]) -> None:
    """Limits of every metric, of the tenant, a key, a model and both, straight in the database."""
    total = FORCE.requests * 200
    rows = database.execute(
        "SELECT k.id, k.last_four, k.tenant_id FROM tenants_apikey k JOIN tenants_tenant t ON t.id = k.tenant_id"
        " WHERE t.name = 'friend'"
    ).fetchall()
    first, second = [key for text in texts for key, last_four, _ in rows if text.endswith(last_four)]
    limits: list[tuple[uuid.UUID | None, str, str, int, bool]] = [
        (None, "", "concurrent_responses", PLACES, True),
        (None, "", "tokens_per_day", total * 8 // 10, True),
        (None, "", "tokens_per_month", total * 9 // 10, True),
        (None, "", "requests_per_minute", FORCE.requests * 3, True),
        (None, "", "requests_per_minute", FORCE.requests // 4, False),
        (None, "alpha", "tokens_per_minute", total * 4 // 10, True),
        (None, "beta", "cost_per_month", total * 300, True),
        (first, "", "tokens_per_day", total * 2 // 5, True),
        (second, "alpha", "cost_per_day", total * 200, True),
        (second, "", "concurrent_responses", PLACES * 7 // 12, True),
    ]
    for key, model, metric, amount, is_hard in limits:
        database.execute(
            "INSERT INTO tenants_limit (id, tenant_id, key_id, model, metric, amount, is_hard, set_by)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, 'tenant')",
            (uuid.uuid4(), rows[0][2], key, model, metric, amount, is_hard),
        )


def connect(service: Service) -> "psycopg.Connection[Any]":
    """A connection to the service's database that sees every tenant."""
    connection = psycopg.connect(service.env["DATABASE_URL"], autocommit=True)
    connection.execute("SELECT set_config('antiphon.tenant_id', '*', false)")
    return connection


def test_many_processes_never_pass_a_limit_and_add_up_in_the_end(
    field: Field, record_property: Record
) -> None:
    storm = Storm(FORCE, field.webs, field.keys)
    with connect(field.service) as database:
        watch = Watch(field.service.env["VALKEY_URL"], database)
        began = time.monotonic()
        asyncio.run(storm.run(field.workers, watch.look))
        took = time.monotonic() - began
        wait_until(watch.is_settled, timeout=120, what="the dust")
        settled = time.monotonic() - began - took
        rows, numbers = rows_in(database), numbers_in(database, storm.seen)
    tell(record_property, field, storm.seen, watch, rows, f"{took:.1f} s, dust {settled:.1f} s")

    counters_are_the_ledger(watch, rows)
    for row in rows:
        is_paid(row, PRICES)
    mine = {numbers[row.response_id]: row for row in rows if row.response_id in numbers}
    for number, row in mine.items():
        claim(row, number, field, storm.seen)
    assert {number for number, row in mine.items() if row.is_whole} >= storm.seen.completed
    assert mine.keys() >= storm.seen.ids.keys(), "whose id was told has a row"
    assert len(field.upstream.deliveries) <= len(rows) <= FORCE.requests
    assert len({row.response_id for row in rows}) == len(rows) > FORCE.requests // 4
    assert {"concurrency_exceeded", "quota_exceeded"} <= storm.seen.refusals.keys(), (
        "no limit was ever reached"
    )

    each_claim_can_fail(watch, mine, field, storm.seen)


def claim(row: Row, number: int, field: Field, seen: Seen) -> None:
    """The row is what was delivered for the request of this number."""
    sent = field.upstream.deliveries.get(number, [])
    # What is not stored has no journal: what it said is lost with its worker, and nobody is charged for it.
    is_lost = row.error_code == "worker_lost" and number in seen.unstored
    is_as_delivered(row, sent, number, seen.modes[number], 0 if is_lost else seen.words[number])


def each_claim_can_fail(watch: Watch, mine: dict[int, Row], field: Field, seen: Seen) -> None:
    """What was just found right is found wrong where a fault is planted."""
    number, row = next((number, row) for number, row in mine.items() if row.is_whole and not row.is_estimated)
    rows = list(mine.values())
    for wrong in (rows[1:], [*rows, row], [changed(row, output_tokens=row.output_tokens + 1), *rows[1:]]):
        with pytest.raises(AssertionError):
            counters_are_the_ledger(watch, wrong)
    for by in (-1, 1):
        with pytest.raises(AssertionError):
            claim(changed(row, output_tokens=row.output_tokens + by), number, field, seen)
        with pytest.raises(AssertionError):
            is_paid(changed(row, cost_nanos=row.cost_nanos + by), PRICES)
    scope, letter, amount = watch.limits[0]
    watch.client.hset(watch.place(letter, int(time.time())), scope + letter, amount + 1)
    with pytest.raises(AssertionError):
        watch.look()


def numbers_in(database: "psycopg.Connection[Any]", seen: Seen) -> dict[str, int]:
    """The numbers of the requests, by the ids of their responses, as far as they were told or stored."""
    stored = database.execute("SELECT id, request -> 'metadata' ->> 'number' FROM responses_api_response")
    told = {response_id: number for number, response_id in seen.ids.items()}
    return {response_id: int(number) for response_id, number in stored.fetchall()} | told


def tell(record: Record, field: Field, seen: Seen, watch: Watch, rows: list[Row], times: str) -> None:
    """The figures, for the report."""
    record(
        "requests", f"{FORCE.requests} with {FORCE.webs} web and {FORCE.workers} worker processes, {times}"
    )
    record("outcomes", dict(seen.outcomes))
    record("refused on the way", dict(seen.refusals))
    record("rows", dict(Counter(row.status + f" {row.error_code}" * bool(row.error_code) for row in rows)))
    limits = {(scope, letter): amount for scope, letter, amount in watch.limits}
    record(
        "highest of its limit",
        {f"{at[0]}{at[1]}": f"{high}/{limits[at]}" for at, high in watch.highest.items()},
    )
    record("looks at the counters", watch.looks)
    deliveries = [delivery for several in field.upstream.deliveries.values() for delivery in several]
    record("tokens", sums(rows, deliveries))
