"""Usage is right at any moment: before, while and after the ledger is added up, for late rows too."""

import threading
import uuid
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection

from tenants.models import Tenant, UsageRecord, UsageTotal
from tenants.rollup import roll_up
from tenants.scoping import ScopeMissing, operator_scope, tenant_scope
from tenants.usage import Question, Usage, read_usage
from tests.integration.tenants.ledger import NOON, spend
from tests.support.tenants import make_tenant

DAY = 86_400
MIDNIGHT = NOON - NOON % DAY
TODAY = Question(span="day", start=MIDNIGHT, end=MIDNIGHT + DAY)
BY_HOUR = Question(span="hour", start=MIDNIGHT, end=MIDNIGHT + DAY, by=("starts_at",))


@pytest.fixture
def friend(db: None) -> Tenant:
    """The tenant that used something."""
    return make_tenant("friend")


@pytest.fixture
def stranger(db: None) -> Tenant:
    """The tenant who must see nothing of it."""
    return make_tenant("stranger")


def usage_of(tenant: Tenant, question: Question = TODAY) -> list[Usage]:
    with tenant_scope(tenant.id):
        return read_usage(question)


def test_rows_count_before_they_are_rolled_up_and_once_afterwards(friend: Tenant) -> None:
    spend(friend, cached_tokens=40, reasoning_tokens=7)
    spend(friend, status="failed", output_tokens=0, cost_nanos=0)
    before = usage_of(friend, replace(TODAY, with_durations=True))
    assert roll_up() == 2
    assert roll_up() == 0
    assert usage_of(friend, replace(TODAY, with_durations=True)) == before
    (usage,) = before
    assert (usage.requests, usage.completed, usage.failed) == (2, 1, 1)
    assert (usage.input_tokens, usage.cached_tokens, usage.output_tokens) == (200, 40, 20)
    assert (usage.reasoning_tokens, usage.cost_nanos) == (7, 5_000)


def test_rows_that_come_late_find_the_hour_in_which_they_were_admitted(friend: Tenant) -> None:
    spend(friend, at=MIDNIGHT + 10)
    roll_up()
    spend(friend, at=MIDNIGHT + 20)
    spend(friend, at=MIDNIGHT + 3600)
    expected = [(MIDNIGHT, 2), (MIDNIGHT + 3600, 1)]
    assert [(usage.starts_at, usage.requests) for usage in usage_of(friend, BY_HOUR)] == expected
    roll_up()
    assert [(usage.starts_at, usage.requests) for usage in usage_of(friend, BY_HOUR)] == expected
    with operator_scope():
        assert UsageTotal.objects.filter(span="hour").count() == 2


def test_the_edges_of_a_period_belong_to_one_period_each(friend: Tenant) -> None:
    for at in (MIDNIGHT - 1, MIDNIGHT, MIDNIGHT + DAY - 1, MIDNIGHT + DAY):
        spend(friend, at=at)
    for _ in range(2):
        assert usage_of(friend)[0].requests == 2
        roll_up()


def test_a_roll_up_that_fails_leaves_everything_as_it_was(friend: Tenant) -> None:
    def fail_afterwards() -> None:
        with operator_scope():
            assert roll_up() == 1
            raise RuntimeError

    spend(friend)
    with pytest.raises(RuntimeError):
        fail_afterwards()
    with operator_scope():
        assert not UsageTotal.objects.exists()
    assert usage_of(friend)[0].requests == 1


def test_a_stranger_sees_nothing_of_it(friend: Tenant, stranger: Tenant) -> None:
    for _ in range(2):
        spend(friend)
        assert usage_of(stranger)[0].requests == 0
        assert usage_of(stranger, replace(TODAY, tenant_id=friend.id))[0].requests == 0
        assert usage_of(stranger, BY_HOUR) == []
        roll_up()


def test_the_operator_sees_all_tenants_or_one(friend: Tenant, stranger: Tenant) -> None:
    spend(friend)
    roll_up()
    spend(stranger)
    with operator_scope():
        assert read_usage(TODAY)[0].requests == 2
        assert read_usage(replace(TODAY, tenant_id=friend.id))[0].requests == 1
        by_tenant = read_usage(replace(TODAY, by=("tenant_id",)))
    assert {usage.tenant_id for usage in by_tenant} == {friend.id, stranger.id}


def test_usage_outside_of_a_scope_is_refused(db: None) -> None:
    with pytest.raises(ScopeMissing):
        read_usage(TODAY)


def test_groups_and_filters_are_those_that_are_asked_for(friend: Tenant) -> None:
    keys = [uuid.UUID(int=at) for at in (1, 2)]
    for key, model in ((keys[0], "a"), (keys[0], "b"), (keys[1], "a"), (keys[1], "a")):
        spend(friend, key_id=key, model=model)
    roll_up()
    spend(friend, key_id=keys[1], model="b")
    found = usage_of(friend, replace(TODAY, by=("key_id", "model")))
    assert [(usage.key_id, usage.model, usage.requests) for usage in found] == [
        (keys[0], "a", 1),
        (keys[0], "b", 1),
        (keys[1], "a", 2),
        (keys[1], "b", 1),
    ]
    assert usage_of(friend, replace(TODAY, key_id=keys[1], model="a"))[0].requests == 2


def test_pages_of_groups_meet_without_a_gap(friend: Tenant) -> None:
    for model in "dbcae":
        spend(friend, model=model)
    names: list[Any] = []
    question = replace(TODAY, by=("starts_at", "model"), limit=2)
    while page := usage_of(friend, question):
        names += [usage.model for usage in page]
        question = replace(question, after=(page[-1].starts_at, page[-1].model))
    assert names == list("abcde")


def test_percentiles_can_be_told_of_the_counts(friend: Tenant) -> None:
    for milliseconds in range(100, 1100, 10):
        spend(friend, duration_ms=milliseconds, first_event_ms=None)
    roll_up()
    (usage,) = usage_of(friend, replace(TODAY, with_durations=True))
    assert usage.duration_ms(0.5) == pytest.approx(600, rel=0.2)
    assert usage.duration_ms(0.95) == pytest.approx(1050, rel=0.2)
    assert usage.first_event_ms(0.5) is None


def test_totals_go_with_their_tenant(friend: Tenant, stranger: Tenant) -> None:
    for tenant in (friend, stranger):
        spend(tenant)
    roll_up()
    with operator_scope():
        friend.delete()
        assert {total.tenant_id for total in UsageTotal.objects.all()} == {stranger.id}
        assert UsageRecord.objects.count() == 1


def test_no_reader_sees_a_row_twice_or_not_at_all_while_it_is_rolled_up(database: None) -> None:
    tenant = make_tenant("busy")
    seen: set[int] = set()
    done = threading.Event()

    def watch() -> None:
        try:
            while not done.is_set():
                seen.add(usage_of(tenant)[0].requests)
        finally:
            connection.close()

    for _ in range(200):
        spend(tenant)
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        for _ in range(10):
            with operator_scope():
                UsageTotal.objects.all().delete()
                UsageRecord.objects.update(is_rolled_up=False)
            roll_up()
    finally:
        done.set()
        watcher.join()
    assert seen == {200}
