"""Whose turn it is: a worker takes the next job of the next tenant, once, and passes over what nobody wants."""

import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from responses_api.eventlog import bus, names, turns
from responses_api.eventlog.connection import blocking_client

VALKEY: Any = blocking_client()
WORKER = "test:turns"


@pytest.fixture
def queue() -> Iterator[str]:
    """A queue of the test's own; what was made of it is removed."""
    name = f"test.{uuid.uuid4().hex}"
    yield name
    left = VALKEY.keys(f"*{name}*")
    if left:
        VALKEY.delete(*left)
    VALKEY.delete(names.running(WORKER))


def offer(queue: str, *waiting: str) -> None:
    """Let these wait, of the tenant that the first letter names, each offered alone."""
    for name in waiting:
        turns.offer(queue, [(name[0], f"{queue}.{name}", name.encode())])


def take(queue: str, count: int, worker: str = WORKER) -> list[str]:
    """What a ticket for so many takes."""
    return [job.decode() for _, job in turns.take(queue, count, worker)]


def test_each_tenant_has_its_turn_and_its_order(queue: str) -> None:
    offer(queue, "a1", "a2", "a3", "a4", "b1", "c1", "c2")
    assert [take(queue, 1) for _ in range(8)] == [["a1"], ["b1"], ["c1"], ["a2"], ["c2"], ["a3"], ["a4"], []]


def test_who_comes_after_hundreds_waits_for_one_of_each_other_tenant(queue: str) -> None:
    offer(queue, *(f"a{number}" for number in range(300)), *(f"b{number}" for number in range(300)))
    assert take(queue, 5) == ["a0", "b0", "a1", "b1", "a2"]
    offer(queue, "c1", "c2")
    assert take(queue, 8) == ["b2", "a3", "c1", "b3", "a4", "c2", "b4", "a5"]


def test_one_ticket_takes_of_all_tenants_in_turn(queue: str) -> None:
    turns.offer(
        queue, [(name[0], f"{queue}.{name}", name.encode()) for name in ("a1", "a2", "b1", "a3", "b2")]
    )
    assert take(queue, 8) == ["a1", "b1", "a2", "b2", "a3"]


def test_queues_have_turns_of_their_own(queue: str) -> None:
    offer(queue, "a1")
    offer(f"{queue}.other", "a2")
    assert take(f"{queue}.other", 8) == ["a2"]
    assert take(queue, 8) == ["a1"]


def test_what_is_taken_is_claimed(queue: str) -> None:
    offer(queue, "a1")
    assert take(queue, 1) == ["a1"]
    response_id = f"{queue}.a1"
    assert VALKEY.get(names.claim(response_id)) == WORKER.encode()
    assert VALKEY.sismember(names.running(WORKER), response_id)
    offer(queue, "a1")  # a job that is sent again although a worker has it
    assert take(queue, 1, "another") == []
    assert VALKEY.get(names.claim(response_id)) == WORKER.encode()


def test_what_nobody_wants_costs_neither_a_ticket_nor_a_turn(queue: str) -> None:
    offer(queue, "a1", "a2", "a3", "b1")
    bus.withdraw(f"{queue}.a1")
    VALKEY.delete(names.job(f"{queue}.a2"))
    assert take(queue, 2) == ["a3", "b1"]
    assert not VALKEY.exists(names.turns(queue), names.waiting(queue, "a"), names.waiting(queue, "b"))


def test_a_tenant_who_has_nothing_wanted_holds_nobody_up(queue: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "_MOST_LOOKED_AT", 3)
    offer(queue, *(f"a{number}" for number in range(20)), "b1")
    for number in range(20):
        bus.withdraw(f"{queue}.a{number}")
    assert take(queue, 1) == ["b1"]


def test_one_that_waits_already_keeps_its_place(queue: str) -> None:
    offer(queue, "a1", "a2", "b1", "a1")
    assert take(queue, 8) == ["a1", "b1", "a2"]


def test_of_racing_workers_each_job_has_one(queue: str) -> None:
    expected = [f"{tenant}{number}" for tenant in "abcd" for number in range(50)]
    offer(queue, *expected)
    start = threading.Barrier(4)

    def work(number: int) -> list[str]:
        start.wait()
        return [job for _ in range(40) for job in take(queue, 2, f"{WORKER}:{number}")]

    with ThreadPoolExecutor(4) as threads:
        taken = list(threads.map(work, range(4)))
    assert sorted(job for jobs in taken for job in jobs) == sorted(expected)
    for number in range(4):
        VALKEY.delete(names.running(f"{WORKER}:{number}"))


def test_everything_that_waits_expires(queue: str) -> None:
    offer(queue, "a1", "b1")
    turns.offer_background(queue, ("c", f"{queue}.c1", b"c1"), b"prelude")
    take(queue, 1)
    left = VALKEY.keys(f"*{queue}*")
    assert len(left) > 6
    assert [key for key in left if VALKEY.ttl(key) <= 0] == []
    # As long as one waits, its tenant has turns.
    assert VALKEY.ttl(names.turns(queue)) >= VALKEY.ttl(names.waiting(queue, "c"))


def test_what_no_worker_takes_does_not_pile_up(queue: str) -> None:
    offer(queue, "a1", "a2")
    waiting = names.waiting(queue, "a")
    VALKEY.zincrby(waiting, -10_000_000_000, f"{queue}.a1")
    offer(queue, "a3")
    assert VALKEY.zrange(waiting, 0, -1) == [f"{queue}.a2".encode(), f"{queue}.a3".encode()]


def test_only_what_has_waited_for_a_while_is_overdue(queue: str) -> None:
    offer(queue, "a1", "a2", "b1")
    assert turns.overdue(queue, 60) == 0
    for name in ("a1", "b1"):
        VALKEY.zincrby(names.waiting(queue, name[0]), -61_000_000, f"{queue}.{name}")
    assert turns.overdue(queue, 60) == 2


def test_what_is_taken_back_is_taken_by_nobody(queue: str) -> None:
    offer(queue, "a1", "a2")
    turns.take_back([f"{queue}.a1"])
    assert not VALKEY.exists(names.job(f"{queue}.a1"))
    assert take(queue, 8) == ["a2"]


def test_what_waits_is_told_with_whose_it_is_and_for_how_long(queue: str) -> None:
    assert turns.waiting(queue) == turns.Waiting(jobs=0, tenants=0, oldest_seconds=None)
    offer(queue, "a1", "a2", "b1")
    # As if the first of them had come a minute ago.
    VALKEY.zincrby(names.waiting(queue, "a"), -60_000_000, f"{queue}.a1")
    found = turns.waiting(queue)
    assert (found.jobs, found.tenants) == (3, 2)
    assert found.oldest_seconds is not None
    assert 60 <= found.oldest_seconds < 90
