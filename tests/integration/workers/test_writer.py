"""The writer while the database is away, and with one end among others that no table can hold."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager

import pytest
from django.db import DataError, OperationalError, connection, transaction
from pytest_django import Settings

from responses_api.models import Response
from responses_api.services.finish import Outcome
from tenants.models import Tenant
from tenants.scoping import operator_scope
from tests.integration.builders import ended, job_of, said
from workers import writer as writing
from workers.writer import Writer


class Submitter:
    """Hands ends to a writer whose loop runs in another thread, as a worker's does."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self.writer = Writer(self._loop)

    def write(self, outcome: Outcome) -> "Future[bool]":
        """Begin to store `outcome`."""
        return asyncio.run_coroutine_threadsafe(self.writer.write(outcome), self._loop)

    def close(self) -> None:
        """Store what waits and stop."""
        self.writer.close()
        self._loop.call_soon_threadsafe(self._loop.stop)


@pytest.fixture
def writer(database: None, settings: Settings) -> Iterator[Submitter]:
    """A writer whose database answers within a twentieth of a second, or not at all."""
    settings.STATEMENT_SECONDS = 0.05
    submitter = Submitter()
    yield submitter
    submitter.close()


@contextmanager
def database_is_busy() -> Iterator[None]:
    """Nobody else gets at the responses."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("LOCK TABLE responses_api_response")
        yield


def stored_ids() -> set[str]:
    with operator_scope():
        return set(Response.objects.values_list("id", flat=True))


def test_what_cannot_be_stored_now_is_stored_when_the_database_is_back(
    writer: Submitter, friend_tenant: Tenant, stranger_tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "_PAUSES_SECONDS", (0.0,) * 200)
    outcomes = [ended(job_of(tenant), said("Hello")) for tenant in (friend_tenant, stranger_tenant)]
    with database_is_busy():
        writes = [writer.write(outcome) for outcome in outcomes]
        assert not wait(writes, timeout=0.3).done
    assert [write.result(5) for write in writes] == [True, True]
    assert stored_ids() == {outcome.job.response_id for outcome in outcomes}


def test_a_database_that_stays_away_fails_all_that_wait_together(
    writer: Submitter, friend_tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "_PAUSES_SECONDS", (0.0,))
    with database_is_busy():
        # The first is on its way alone; the others gather behind it, and share one try and one more: thirty each with
        # its own would take three seconds.
        writes = [writer.write(ended(job_of(friend_tenant), said("Hello"))) for _ in range(30)]
        assert {type(write.exception(2)) for write in writes} == {OperationalError}
    assert stored_ids() == set()


def test_one_that_no_table_can_hold_does_not_take_the_others_with_it(
    writer: Submitter, friend_tenant: Tenant
) -> None:
    good = [ended(job_of(friend_tenant), said("Hello")) for _ in range(5)]
    bad = writer.write(ended(job_of(friend_tenant), said("a NUL: \x00")))
    writes = [writer.write(outcome) for outcome in good]
    assert isinstance(bad.exception(5), DataError)
    assert [write.result(5) for write in writes] == [True] * 5
    assert stored_ids() == {outcome.job.response_id for outcome in good}


def test_an_end_that_was_stored_by_another_is_told_so(writer: Submitter, friend_tenant: Tenant) -> None:
    outcome = ended(job_of(friend_tenant), said("Hello"))
    assert writer.write(outcome).result(5)
    assert not writer.write(outcome).result(5)


def test_a_closed_writer_refuses(writer: Submitter, friend_tenant: Tenant) -> None:
    writer.writer.close()
    with pytest.raises(RuntimeError):
        writer.write(ended(job_of(friend_tenant), said("Hello"))).result(5)
