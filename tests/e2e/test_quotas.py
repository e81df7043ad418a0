"""The proof of the quotas: many processes, random ends, and in the end counters, ledger and upstream say the same.

ANTIPHON_PROOF=full runs it with 8 processes and 2,000 requests at the same time (the default: 4 and 200).
"""

import asyncio
import json
import os
import random
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import psycopg
import pytest
import redis

from responses_api.quotas.counters import HOMES, LETTERS, RUNNING
from tenants.windows import window
from tests.e2e.web import another_web, wait_until_it_answers
from tests.support.client import wait_until
from tests.support.metered import MeteredUpstream, read_of
from tests.support.processes import Process
from tests.support.service import Service

IS_FULL = os.environ.get("ANTIPHON_PROOF") == "full"
REQUESTS = 2_000 if IS_FULL else 200
WEBS = WORKERS = 4 if IS_FULL else 2
KILLS = 3 if IS_FULL else 1
MODELS = ("alpha", "beta")
NUMBER = 40
MODES = ("ok", "ok", "ok", "ok", "refuse", "cut", "slow", "leave", "leave at once", "background", "cancel")
SETTINGS = {
    "ANTIPHON_LEASE_SECONDS": "2",
    "ANTIPHON_QUEUE_SECONDS": "20" if IS_FULL else "6",
    "ANTIPHON_DRAIN_SECONDS": "1",
    "LOG_LEVEL": "WARNING",
}
Record = Callable[[str, object], None]


@dataclass
class Proof:
    """What the clients saw."""

    service: Service
    keys: dict[str, str]
    """Ids of the keys, by their texts."""
    webs: list[str]
    ids: dict[int, str] = field(default_factory=dict)
    """Responses whose ids were told, by the number of their request."""
    completed: set[int] = field(default_factory=set)
    outcomes: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)


@pytest.fixture
def proof(tmp_path: Path) -> Iterator[tuple[Proof, MeteredUpstream]]:
    """A service of several processes, a tenant with two keys and limits of every kind."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    with ExitStack() as stack:
        upstream = stack.enter_context(MeteredUpstream())
        service = Service(f"antiphon_proof_{worker}", NUMBER + int(worker), tmp_path, SETTINGS)
        stack.enter_context(service)
        service.add_backend("metered", upstream.base_url, *MODELS)
        another = service.manage("create_key", "friend", "--json")
        texts = [str(service.friend.key), str(json.loads(another)["key"])]
        keys = set_up(service, texts)
        webs = [service.base_url]
        for number in range(1, WEBS):
            folder = tmp_path / f"web{number}"
            folder.mkdir()
            web = another_web(service, folder)
            web.start()
            stack.callback(web.stop)
            webs.append(web.name)
            wait_until_it_answers(web)
        workers = [service.worker]
        for _ in range(1, WORKERS):
            other = service.another_worker()
            other.start()
            stack.callback(other.stop)
            workers.append(other)
        service.workers = workers  # type: ignore[attr-defined]
        yield Proof(service, keys, webs), upstream


def set_up(service: Service, texts: list[str]) -> dict[str, str]:
    """Set prices and limits, straight in the database; the keys' ids by their texts."""
    total = REQUESTS * 200
    with connect(service) as database:
        database.execute("UPDATE responses_api_route SET input_price = 1, output_price = 2")
        rows = database.execute(
            "SELECT k.id, k.last_four, k.tenant_id FROM tenants_apikey k JOIN tenants_tenant t ON t.id = k.tenant_id"
            " WHERE t.name = 'friend'"
        ).fetchall()
        keys = {text: str(key) for text in texts for key, last_four, _ in rows if text.endswith(last_four)}
        tenant, (first, second) = rows[0][2], (keys[text] for text in texts)
        limits: list[tuple[str | None, str, str, int, bool]] = [
            (None, "", "concurrent_responses", 60, True),
            (None, "", "tokens_per_day", total * 8 // 10, True),
            (None, "", "tokens_per_month", total * 9 // 10, True),
            (None, "", "requests_per_minute", REQUESTS * 3, True),
            (None, "", "requests_per_minute", REQUESTS // 4, False),
            (None, "beta", "cost_per_month", total * 300, True),
            (first, "", "tokens_per_day", total * 2 // 5, True),
            (second, "alpha", "cost_per_day", total * 200, True),
            (second, "", "concurrent_responses", 35, True),
        ]
        for key, model, metric, amount, is_hard in limits:
            database.execute(
                "INSERT INTO tenants_limit (id, tenant_id, key_id, model, metric, amount, is_hard, set_by)"
                " VALUES (%s, %s, %s, %s, %s, %s, %s, 'tenant')",
                (uuid.uuid4(), tenant, key, model, metric, amount, is_hard),
            )
    return keys


def connect(service: Service) -> "psycopg.Connection[Any]":
    """A connection to the service's database that sees every tenant."""
    connection = psycopg.connect(service.env["DATABASE_URL"], autocommit=True)
    connection.execute("SELECT set_config('antiphon.tenant_id', '*', false)")
    return connection


async def one(proof: Proof, session: aiohttp.ClientSession, number: int, chance: random.Random) -> None:
    """One request of a client that asks again while there is no room, and does with its answer what chance tells."""
    mode, words = chance.choice(MODES), chance.randrange(2, 16)
    how = mode if mode in ("refuse", "cut") else "ok" if mode == "ok" else "slow"
    body = {
        "model": chance.choice(MODELS),
        "input": f"{number} {how} {words}",
        "metadata": {"number": str(number)},
        "store": mode == "background" or mode == "cancel" or chance.random() < 0.7,
        "background": mode in ("background", "cancel"),
        "stream": mode.startswith("leave") or (mode in ("ok", "slow") and chance.random() < 0.5),
    }
    if chance.random() < 0.8:
        body["max_output_tokens"] = 16
    headers = {"authorization": f"Bearer {chance.choice(list(proof.keys))}"}
    for _ in range(60 if IS_FULL else 40):
        url = chance.choice(proof.webs)
        try:
            async with session.post(f"{url}/responses", json=body, headers=headers) as answer:
                if answer.status != 429:
                    await take(proof, session, number, mode, body, answer, headers)
                    return
                refused = (await answer.json())["error"]
                proof.refusals[refused["code"]] += 1
                assert int(answer.headers["retry-after"]) >= 1
        except (aiohttp.ClientError, OSError) as error:
            proof.outcomes[f"lost: {type(error).__name__}"] += 1
            return
        await asyncio.sleep(chance.uniform(0.3, 1.5))
    proof.outcomes["gave up"] += 1


async def take(
    proof: Proof,
    session: aiohttp.ClientSession,
    number: int,
    mode: str,
    body: dict[str, Any],
    answer: aiohttp.ClientResponse,
    headers: dict[str, str],
) -> None:
    """Read the answer, as far as the mode goes."""
    if mode == "leave at once":
        answer.close()
        proof.outcomes[mode] += 1
        return
    if body["stream"] and answer.status == 200:
        status = await read_stream(proof, number, answer, stop_at=3 if mode == "leave" else None)
    else:
        told = await answer.json()
        status = told.get("status") or f"error {told['error']['code']}"
        if "id" in told:
            proof.ids[number] = told["id"]
    if mode == "cancel" and status == "queued":
        url = f"{proof.webs[0]}/responses/{proof.ids[number]}/cancel"
        async with session.post(url, headers=headers) as cancelled:
            status = f"cancel {cancelled.status}"
    if status in ("completed", "incomplete"):
        proof.completed.add(number)
    proof.outcomes[status] += 1


async def read_stream(
    proof: Proof, number: int, answer: aiohttp.ClientResponse, *, stop_at: int | None
) -> str:
    words, status = 0, "cut off"
    async for line in answer.content:
        if b'"response.created"' in line and line.startswith(b"data:"):
            proof.ids[number] = line.split(b'"id":"', 1)[1].split(b'"', 1)[0].decode()
        words += b"output_text.delta" in line and line.startswith(b"data:")
        if stop_at is not None and words >= stop_at:
            answer.close()
            return "left"
        if line.startswith(b"event: response."):
            ending = line.split(b".", 1)[1].strip().decode()
            status = ending if ending in ("completed", "incomplete", "failed", "cancelled") else status
    return status


async def storm(proof: Proof, watch: "Watch") -> None:
    """All requests at the same time, while workers are killed and started again."""
    chance = random.Random(4)
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=240)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        clients = [
            asyncio.create_task(one(proof, session, number, random.Random(chance.random())))
            for number in range(REQUESTS)
        ]
        killing = asyncio.create_task(kill_workers(proof.service.workers))  # type: ignore[attr-defined]
        watching = asyncio.create_task(watch.run())
        await asyncio.gather(*clients)
        await killing
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching


async def kill_workers(workers: list[Process]) -> None:
    for number in range(KILLS):
        await asyncio.sleep(3)
        worker = workers[number % len(workers)]
        worker.kill()
        worker.start()


class Watch:
    """Looks at the counters all the time: none may be over its limit for a moment."""

    def __init__(self, service: Service) -> None:
        self.client: Any = redis.Redis.from_url(service.env["VALKEY_URL"])
        with connect(service) as database:
            rows = database.execute(
                "SELECT tenant_id, coalesce(key_id::text, ''), model, metric, amount FROM tenants_limit WHERE is_hard"
            ).fetchall()
        self.limits = [(str(row[0]), f"{row[1]}|{row[2]}", LETTERS[row[3]], row[4]) for row in rows]
        self.prefix = f"antiphon:quota:{{{self.limits[0][0]}}}:"
        self.looks = 0
        self.highest: dict[tuple[str, str], int] = {}

    async def run(self) -> None:
        while True:
            await asyncio.to_thread(self.look)
            await asyncio.sleep(0.005)

    def look(self) -> None:
        self.looks += 1
        for _, scope, letter, amount in self.limits:
            value = self.value(scope, letter)
            self.highest[scope, letter] = max(value, self.highest.get((scope, letter), 0))
            assert 0 <= value <= amount, (scope, letter, value, amount)

    def value(self, scope: str, letter: str, at: float | None = None) -> int:
        home = HOMES[letter]
        place = home if home == RUNNING else f"{home}:{window(home, int(at or time.time()))[0]}"
        return int(self.client.hget(self.prefix + place, scope + letter) or 0)

    def is_settled(self) -> bool:
        return not self.client.hlen(self.prefix + "open")


def test_many_processes_never_pass_a_limit_and_add_up_in_the_end(
    proof: tuple[Proof, MeteredUpstream], record_property: Record
) -> None:
    run, upstream = proof
    watch = Watch(run.service)
    began = time.monotonic()
    asyncio.run(storm(run, watch))
    took = time.monotonic() - began
    wait_until(watch.is_settled, timeout=120, what="the dust")
    with connect(run.service) as database:
        rows = database.execute(
            "SELECT response_id, key_id::text, model, status, input_tokens, output_tokens, cost_nanos, is_estimated,"
            " created_at, reserved_tokens, attempts, error_code FROM tenants_usagerecord"
        ).fetchall()
        stored = database.execute("SELECT id, request -> 'metadata' ->> 'number' FROM responses_api_response")
        numbers = {response_id: int(number) for response_id, number in stored.fetchall()}
    numbers.update({response_id: number for number, response_id in run.ids.items()})
    record_property("requests", f"{REQUESTS} with {WEBS} web and {WORKERS} worker processes, {took:.0f} s")
    record_property("outcomes", dict(run.outcomes))
    record_property("refused on the way", dict(run.refusals))
    record_property("rows", dict(Counter(row[3] for row in rows)))
    record_property("looks at the counters", f"{watch.looks}, highest {watch.highest}")

    counters_are_the_ledger(watch, rows)
    for _, scope, letter, amount in watch.limits:
        if HOMES[letter] in ("day", "month"):
            assert added_up(rows, scope, letter, time.time()) <= amount
    for row in rows:
        assert row[9] >= row[4] + row[5], "a response used more than was reserved for it"
        number = numbers.get(row[0])
        if number is not None:
            is_as_delivered(row, upstream, number)
    whole = [row for row in rows if row[3] in ("completed", "incomplete")]
    assert {numbers[row[0]] for row in whole if row[0] in numbers} >= run.completed
    assert len(rows) <= REQUESTS
    assert len({row[0] for row in rows}) == len(rows) > REQUESTS // 4


def counters_are_the_ledger(watch: Watch, rows: list[Any]) -> None:
    """Each counter of a day and a month, and what runs: nothing."""
    for _, scope, letter, _ in watch.limits:
        if HOMES[letter] == RUNNING:
            assert watch.value(scope, letter) == 0
        elif HOMES[letter] != "minute":
            assert watch.value(scope, letter) == added_up(rows, scope, letter, time.time())


def added_up(rows: list[Any], scope: str, letter: str, at: float) -> int:
    key, _, model = scope.partition("|")
    start, stop = window(HOMES[letter], int(at))
    mine = [row for row in rows if key in ("", row[1]) and model in ("", row[2]) and start <= row[8] < stop]
    return sum(row[6] if letter in "DM" else row[4] + row[5] for row in mine)


def is_as_delivered(row: Any, upstream: MeteredUpstream, number: int) -> None:
    """A row of the ledger is what the upstream sent for the request: all of it where it came to its end, and never
    more.
    """
    sent = upstream.deliveries.get(number, [])
    written = sum(delivery.written for delivery in sent)
    if row[7]:
        return
    if row[3] in ("completed", "incomplete"):
        assert row[10] > 1 or (row[4], row[5]) == (read_of(number), written), (row, sent)
    elif row[4] + row[5]:
        assert row[4] == read_of(number) * row[10] or row[10] > 1
        assert row[5] <= written
