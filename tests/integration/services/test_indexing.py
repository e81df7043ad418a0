"""Who reads which file, in which order, and what becomes of a file whose reader is lost."""

import sys
import threading
from typing import Any

import pytest
from celery import current_app

from responses_api.models import File, FileChunk
from responses_api.services import indexing, stored_files
from responses_api.services.indexing import NewChunk, Waiting
from tenants.models import Tenant
from tenants.scoping import operator_scope, tenant_scope
from tests.integration.builders import stored_file
from tests.support.client import wait_until
from workers import readers
from workers.indexing import extraction


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tickets that were sent to the broker, instead of sending them."""
    tickets: list[str] = []
    monkeypatch.setattr(current_app, "send_task", lambda name, **_: tickets.append(name), raising=False)
    return tickets


def state(file_id: str) -> tuple[str, str | None, int]:
    with operator_scope():
        row = File.everything.get(id=file_id)
    return row.status, row.status_details, row.chunk_count


def later(seconds: int) -> None:
    """Let every file be so much older."""
    with operator_scope():
        for row in File.everything.all():
            begun = None if row.begun_at is None else row.begun_at - seconds
            File.everything.filter(id=row.id).update(created_at=row.created_at - seconds, begun_at=begun)


def take(after: Any = None) -> Waiting:
    found = indexing.take_next(after)
    assert found is not None
    return found


def test_tenants_take_turns(sent: list[str], friend_tenant: Tenant, stranger_tenant: Tenant) -> None:
    friends = [stored_file(friend_tenant)["id"] for _ in range(3)]
    strangers = stored_file(stranger_tenant)["id"]
    taken, after = [], None
    while (waiting := indexing.take_next(after)) is not None:
        taken.append(waiting.file_id)
        after = waiting.tenant_id
    assert sorted(taken) == sorted([*friends, strangers])
    assert taken.index(strangers) <= 1
    assert [file_id for file_id in taken if file_id in friends] == friends
    assert sent == [indexing.INDEX_FILES] * 4


def test_a_file_has_one_reader_at_a_time(sent: list[str], friend_tenant: Tenant) -> None:
    stored_file(friend_tenant)
    take()
    assert indexing.take_next() is None
    later(60)
    assert indexing.take_next() is None


def test_one_whose_reader_was_lost_is_found_again(sent: list[str], friend_tenant: Tenant) -> None:
    made = stored_file(friend_tenant)
    sent.clear()
    indexing.rescue()
    assert sent == []  # its own ticket is on its way
    take()
    later(600)
    indexing.rescue()
    assert sent == [indexing.INDEX_FILES]
    assert take() == Waiting(friend_tenant.id, made["id"], 2)


def test_one_that_goes_on_is_not_lost(sent: list[str], friend_tenant: Tenant) -> None:
    made = stored_file(friend_tenant)
    take()
    later(600)
    assert indexing.goes_on(friend_tenant.id, made["id"])
    assert indexing.take_next() is None


def test_one_that_no_reader_survives_is_given_up(sent: list[str], friend_tenant: Tenant) -> None:
    made = stored_file(friend_tenant)
    for attempt in (1, 2, 3):
        assert take().attempt == attempt
        later(600)
    assert indexing.take_next() is None
    assert state(made["id"]) == ("error", "The service failed to read it, several times.", 0)


def test_chunks_take_the_place_of_those_before(sent: list[str], friend_tenant: Tenant) -> None:
    made = stored_file(friend_tenant)
    indexing.store_chunks(friend_tenant.id, made["id"], [NewChunk("one"), NewChunk("two")])
    ids = indexing.store_chunks(friend_tenant.id, made["id"], [NewChunk("only", 3, ("A", "B"))])
    indexing.succeed(friend_tenant.id, made["id"])
    with tenant_scope(friend_tenant.id):
        (chunk,) = FileChunk.objects.all()
    assert [chunk.id] == ids
    assert (chunk.text, chunk.page, chunk.headings, chunk.position) == ("only", 3, ["A", "B"], 0)
    assert state(made["id"]) == ("processed", None, 1)


def test_a_file_that_cannot_be_read_says_why_and_has_no_chunks(
    sent: list[str], friend_tenant: Tenant
) -> None:
    made = stored_file(friend_tenant)
    indexing.store_chunks(friend_tenant.id, made["id"], [NewChunk("one")])
    indexing.fail(friend_tenant.id, made["id"], "The PDF is broken.")
    assert state(made["id"]) == ("error", "The PDF is broken.", 0)
    assert stored_files.retrieve(friend_tenant.id, made["id"])["status_details"] == "The PDF is broken."
    indexing.succeed(friend_tenant.id, made["id"])
    assert state(made["id"])[0] == "error"


def test_a_file_that_is_deleted_while_it_is_read_stays_deleted(
    sent: list[str], friend_tenant: Tenant
) -> None:
    made = stored_file(friend_tenant)
    take()
    stored_files.delete(friend_tenant.id, made["id"])
    assert not indexing.goes_on(friend_tenant.id, made["id"])
    assert indexing.store_chunks(friend_tenant.id, made["id"], [NewChunk("late")]) == []
    indexing.succeed(friend_tenant.id, made["id"])
    indexing.fail(friend_tenant.id, made["id"], "late")
    with operator_scope():
        assert (File.everything.count(), FileChunk.objects.count()) == (0, 0)


def test_a_stranger_ends_nothing(sent: list[str], friend_tenant: Tenant, stranger_tenant: Tenant) -> None:
    made = stored_file(friend_tenant)
    assert not indexing.goes_on(stranger_tenant.id, made["id"])
    assert indexing.store_chunks(stranger_tenant.id, made["id"], [NewChunk("foreign")]) == []
    indexing.fail(stranger_tenant.id, made["id"], "foreign")
    assert state(made["id"]) == ("uploaded", None, 0)


def test_a_broker_that_is_away_loses_no_file(monkeypatch: pytest.MonkeyPatch, friend_tenant: Tenant) -> None:
    def away(*_: Any, **__: Any) -> None:
        raise ConnectionError

    monkeypatch.setattr(current_app, "send_task", away, raising=False)
    assert stored_file(friend_tenant)["status"] == "uploaded"
    assert take().attempt == 1


def test_a_process_reads_few_at_once_and_goes_on_until_nothing_waits(
    sent: list[str], monkeypatch: pytest.MonkeyPatch, friend_tenant: Tenant
) -> None:
    made = {stored_file(friend_tenant)["id"] for _ in range(6)}
    most, reading, read = [0], set[str](), list[str]()
    both, lock = threading.Barrier(2), threading.Lock()

    def index(tenant_id: Any, file_id: str, is_ending: Any) -> None:
        with lock:
            reading.add(file_id)
            most[0] = max(most[0], len(reading))
        both.wait(10)
        with lock:
            reading.discard(file_id)
            read.append(file_id)
        indexing.succeed(tenant_id, file_id)

    monkeypatch.setattr(readers, "index", index)
    tickets = [threading.Thread(target=readers.read_files, args=(lambda: False,)) for _ in range(5)]
    for ticket in tickets:
        ticket.start()
    for ticket in tickets:
        ticket.join(30)
    assert sorted(read) == sorted(made)
    assert most == [2]


def test_the_long_files_of_a_tenant_stop_no_other_tenant(
    sent: list[str], monkeypatch: pytest.MonkeyPatch, friend_tenant: Tenant, stranger_tenant: Tenant
) -> None:
    long = {stored_file(friend_tenant)["id"] for _ in range(6)}
    begun, may_end = threading.Semaphore(0), threading.Event()

    def index(tenant_id: Any, file_id: str, is_ending: Any) -> None:
        if file_id in long:
            begun.release()
            assert may_end.wait(30)
        indexing.succeed(tenant_id, file_id)

    monkeypatch.setattr(readers, "index", index)
    tickets = [threading.Thread(target=readers.read_files, args=(lambda: False,)) for _ in range(6)]
    for ticket in tickets:
        ticket.start()
    assert begun.acquire(timeout=10)
    assert begun.acquire(timeout=10)
    short = stored_file(stranger_tenant)["id"]
    readers.read_files(lambda: False)
    wait_until(
        lambda: state(short)[0] == "processed", timeout=10, what="the short file"
    )  # by any of the readers
    assert not begun.acquire(blocking=False)
    may_end.set()
    for ticket in tickets:
        ticket.join(30)
    assert {state(file_id)[0] for file_id in long} == {"processed"}


def test_a_ticket_that_comes_while_the_last_reader_looks_for_the_last_time_is_not_lost(
    sent: list[str], monkeypatch: pytest.MonkeyPatch, friend_tenant: Tenant
) -> None:
    take_next, made = indexing.take_next, list[str]()

    def take_and_be_late(*given: Any) -> Waiting | None:
        found = take_next(*given)
        if not made:
            made.append(stored_file(friend_tenant)["id"])
            readers.read_files(lambda: False)  # its ticket, which finds no reader free
        return found

    monkeypatch.setattr(readers, "_readers", threading.BoundedSemaphore(1))
    monkeypatch.setattr(readers, "index", lambda tenant_id, file_id, _: indexing.succeed(tenant_id, file_id))
    monkeypatch.setattr(indexing, "take_next", take_and_be_late)
    readers.read_files(lambda: False)
    assert state(made[0])[0] == "processed"


def test_a_reader_that_fails_leaves_the_file_for_another_try(
    sent: list[str], monkeypatch: pytest.MonkeyPatch, friend_tenant: Tenant
) -> None:
    made = stored_file(friend_tenant)

    def index(*_: Any) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(readers, "index", index)
    readers.read_files(lambda: False)
    assert state(made["id"]) == ("uploaded", None, 0)
    later(600)
    assert take().attempt == 2


def test_a_worker_that_is_to_end_begins_no_other_file(sent: list[str], friend_tenant: Tenant) -> None:
    made = stored_file(friend_tenant)
    readers.read_files(lambda: True)
    assert state(made["id"])[0] == "uploaded"
    assert take().attempt == 1


@pytest.mark.parametrize("stopped", ["worker", "process"])
def test_a_file_whose_worker_is_stopped_is_read_by_another_one_at_once(
    stopped: str, sent: list[str], monkeypatch: pytest.MonkeyPatch, friend_tenant: Tenant
) -> None:
    made = stored_file(friend_tenant)
    if stopped == "process":
        script = "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"
        monkeypatch.setattr(extraction, "_command", lambda *_: [sys.executable, "-c", script])
    looks = iter([False] + [stopped == "worker"] * 3 + [True] * 9)
    readers.read_files(lambda: next(looks))
    assert state(made["id"]) == ("uploaded", None, 0)
    assert take() == Waiting(friend_tenant.id, made["id"], 1)
