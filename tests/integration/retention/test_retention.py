"""Retention: what is older than its tenant keeps it is deleted, and nothing else."""

import threading
from typing import Any

import pytest
from django.db import connection

from responses_api.models import Item, Response
from responses_api.services import retention
from responses_api.services.identity import now
from tenants.models import Tenant
from tenants.scoping import operator_scope, tenant_scope
from tests.integration.builders import stored
from tests.integration.retention.conftest import stored_days_ago
from tests.support.checks import assert_unknown_to
from tests.support.client import Client
from workers.tasks import purge_expired


def keep(tenant: Tenant, days: int | None) -> None:
    with operator_scope():
        Tenant.objects.filter(id=tenant.id).update(retention_days=days)


def kept(tenant: Tenant) -> set[str]:
    with tenant_scope(tenant.id):
        return set(Response.objects.values_list("id", flat=True))


def items_of(tenant: Tenant) -> int:
    with tenant_scope(tenant.id):
        return int(Item.objects.count())


def test_what_is_too_old_is_deleted_with_its_items(friend_tenant: Tenant, stranger_tenant: Tenant) -> None:
    keep(friend_tenant, 30)
    stored_days_ago(friend_tenant, 31)
    young = stored_days_ago(friend_tenant, 29)
    foreign = stored_days_ago(stranger_tenant, 400)
    purge_expired.run()
    assert kept(friend_tenant) == {young}
    assert items_of(friend_tenant) == 2
    assert kept(stranger_tenant) == {foreign}


def test_a_tenant_without_a_time_keeps_everything(friend_tenant: Tenant) -> None:
    old = stored_days_ago(friend_tenant, 3000)
    assert retention.purge_expired() == 0
    assert kept(friend_tenant) == {old}


def test_a_response_that_has_not_ended_stays_until_it_has(friend_tenant: Tenant) -> None:
    keep(friend_tenant, 1)
    running = stored_days_ago(friend_tenant, 2)
    with tenant_scope(friend_tenant.id):
        Response.objects.filter(id=running).update(status="in_progress")
    assert retention.purge_expired() == 0
    with tenant_scope(friend_tenant.id):
        Response.objects.filter(id=running).update(status="completed")
    assert retention.purge_expired() == 1


def test_it_takes_as_many_batches_as_it_needs_and_tells_how_far_it_is(
    friend_tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "_MOST_PER_BATCH", 2)
    for _ in range(5):
        stored(friend_tenant)
    told: list[int] = []
    assert retention.purge(friend_tenant.id, before=now() + 5, told=told.append) == 5
    assert told == [2, 4, 5]
    assert items_of(friend_tenant) == 0


def test_a_row_that_somebody_holds_is_left_to_the_next_run(friend_tenant: Tenant) -> None:
    keep(friend_tenant, 1)
    held, free = (stored_days_ago(friend_tenant, days) for days in (3, 2))
    is_held, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with tenant_scope(friend_tenant.id):
            Response.objects.select_for_update().get(id=held)
            is_held.set()
            may_end.wait(20)
        connection.close()

    holder = threading.Thread(target=hold)
    holder.start()
    assert is_held.wait(20)
    try:
        assert retention.purge_expired() == 1
        assert kept(friend_tenant) == {held}
        assert free not in kept(friend_tenant)
    finally:
        may_end.set()
        holder.join()
    assert retention.purge_expired() == 1


def test_a_batch_that_takes_too_long_becomes_a_smaller_one(
    friend_tenant: Tenant, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    """Each row takes a twentieth of a second to delete, a statement may take a tenth."""
    for _ in range(4):
        stored(friend_tenant)
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION test_slowly() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN PERFORM pg_sleep(0.05); RETURN OLD; END $$"
        )
        cursor.execute(
            "CREATE TRIGGER test_slowly BEFORE DELETE ON responses_api_response"
            " FOR EACH ROW EXECUTE FUNCTION test_slowly()"
        )
    settings.STATEMENT_SECONDS = 0.12
    monkeypatch.setattr(retention, "_MOST_PER_BATCH", 8)
    try:
        assert retention.purge(friend_tenant.id, before=now() + 5) == 4
    finally:
        settings.STATEMENT_SECONDS = 30.0
        with connection.cursor() as cursor:
            cursor.execute("DROP FUNCTION test_slowly CASCADE")


def test_what_was_purged_is_unknown_and_cannot_be_continued(
    friend: Client, stranger: Client, friend_tenant: Tenant
) -> None:
    first = friend.create(input="I am Alice.").json()
    second = friend.create(input="Go on", previous_response_id=first["id"]).json()
    # This process remembers the chain now.
    assert retention.purge(friend_tenant.id, before=now() + 5) == 2
    for client in (friend, stranger):
        assert_unknown_to(client, second["id"])
    refused = friend.create(input="Go on", previous_response_id=second["id"])
    assert (refused.status, refused.error["code"]) == (400, "previous_response_not_found")
