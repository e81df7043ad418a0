"""The two walls between tenants: the manager that asks for a scope, and the database that hides foreign rows."""

import uuid
from collections.abc import Callable

import pytest
from django.db import DatabaseError, connection, models, transaction

from responses_api.models import IdempotentRequest, Item, Response
from tenants.keys import issue_key
from tenants.models import ApiKey, Tenant
from tenants.scoping import ScopeMissing, current_scope, operator_scope, tenant_scope
from tests.integration.builders import stored

pytestmark = pytest.mark.usefixtures("database")

TABLES: list[type[models.Model]] = [Response, Item, ApiKey, IdempotentRequest]


@pytest.fixture
def both(friend_tenant: Tenant, stranger_tenant: Tenant) -> tuple[str, str]:
    """Of each tenant a stored response, a key and a request's key: (the friend's response id, the stranger's)."""
    for tenant in (friend_tenant, stranger_tenant):
        issue_key(tenant, name="a key")
        with tenant_scope(tenant.id):
            IdempotentRequest(tenant_id=tenant.id, key="once", digest=b"x", response_id="resp_x").save()
    return stored(friend_tenant)["id"], stored(stranger_tenant)["id"]


def seen_by_the_database(model: type[models.Model]) -> set[uuid.UUID]:
    """The tenants of the rows that raw SQL sees."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT DISTINCT tenant_id FROM {model._meta.db_table}")
        return {tenant_id for (tenant_id,) in cursor.fetchall()}


def test_the_database_role_of_the_tests_cannot_bypass_the_wall() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user")
        assert cursor.fetchone() == (False, False)


@pytest.mark.parametrize("model", TABLES)
def test_every_tenant_table_is_behind_the_wall_its_owner_included(model: type[models.Model]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relrowsecurity, relforcerowsecurity FROM pg_class WHERE relname = %s",
            [model._meta.db_table],
        )
        assert cursor.fetchone() == (True, True)


def test_every_table_with_a_tenant_is_behind_the_wall() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
            " WHERE c.relkind = 'r' AND a.attname = 'tenant_id' AND NOT c.relforcerowsecurity"
        )
        assert cursor.fetchall() == []


@pytest.mark.parametrize("model", TABLES)
def test_no_scope_no_rows_loudly(model: type[models.Model], both: tuple[str, str]) -> None:
    manager: models.Manager[models.Model] = model._default_manager
    with pytest.raises(ScopeMissing, match=model.__name__):
        manager.count()


@pytest.mark.parametrize("model", TABLES)
def test_a_tenant_sees_its_own_rows_only(
    model: type[models.Model], both: tuple[str, str], friend_tenant: Tenant, stranger_tenant: Tenant
) -> None:
    for tenant in (friend_tenant, stranger_tenant):
        with tenant_scope(tenant.id):
            rows = list(model._default_manager.all())
            assert rows
            assert {row.tenant_id for row in rows} == {tenant.id}  # type: ignore[attr-defined]


@pytest.mark.parametrize("model", TABLES)
def test_the_database_alone_hides_foreign_rows(
    model: type[models.Model], both: tuple[str, str], friend_tenant: Tenant
) -> None:
    with tenant_scope(friend_tenant.id):
        assert seen_by_the_database(model) == {friend_tenant.id}
        assert {row.tenant_id for row in model._base_manager.all()} == {friend_tenant.id}  # type: ignore[attr-defined]


@pytest.mark.parametrize("model", TABLES)
def test_the_database_alone_hides_everything_outside_of_a_scope(
    model: type[models.Model], both: tuple[str, str]
) -> None:
    assert seen_by_the_database(model) == set()
    assert not model._base_manager.exists()
    with transaction.atomic():
        assert seen_by_the_database(model) == set()


def test_a_scope_leaves_nothing_behind_on_its_connection(
    both: tuple[str, str], friend_tenant: Tenant
) -> None:
    with tenant_scope(friend_tenant.id):
        pass
    assert current_scope() is None
    assert seen_by_the_database(Response) == set()


def test_a_foreign_row_can_be_neither_changed_nor_deleted(
    both: tuple[str, str], friend_tenant: Tenant, stranger_tenant: Tenant
) -> None:
    _, strangers = both
    with tenant_scope(friend_tenant.id):
        rows = Response._base_manager.filter(id=strangers)
        assert rows.update(model="mine now") == 0
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM responses_api_item WHERE response_id = %s", [strangers])
            assert cursor.rowcount == 0
    with tenant_scope(stranger_tenant.id):
        assert Response.objects.get().model == "test-model"
        assert Item.objects.count() == 2


WRITES: list[Callable[[uuid.UUID], object]] = [
    lambda tenant: Response(
        id="resp_x", tenant_id=tenant, key_id=tenant, status="completed", request={}
    ).save(),
    lambda tenant: ApiKey(tenant_id=tenant, name="x", digest=b"x").save(),
    lambda tenant: IdempotentRequest(tenant_id=tenant, key="x", digest=b"x", response_id="resp_x").save(),
    lambda tenant: Response._base_manager.update(tenant_id=tenant),
]


@pytest.mark.parametrize("write", WRITES)
def test_a_row_cannot_be_written_for_another_tenant(
    write: Callable[[uuid.UUID], object],
    both: tuple[str, str],
    friend_tenant: Tenant,
    stranger_tenant: Tenant,
) -> None:
    with pytest.raises(DatabaseError, match="row-level security"), tenant_scope(friend_tenant.id):
        write(stranger_tenant.id)
    with tenant_scope(stranger_tenant.id):
        assert (Response.objects.count(), ApiKey.objects.count()) == (1, 1)


def test_nothing_can_be_written_outside_of_a_scope(friend_tenant: Tenant) -> None:
    with pytest.raises(DatabaseError, match="row-level security"):
        WRITES[0](friend_tenant.id)


def test_nested_scopes_restore_the_outer_one_in_both_walls(
    both: tuple[str, str], friend_tenant: Tenant, stranger_tenant: Tenant
) -> None:
    with tenant_scope(friend_tenant.id):
        with tenant_scope(stranger_tenant.id):
            assert seen_by_the_database(Response) == {stranger_tenant.id}
        assert current_scope() == str(friend_tenant.id)
        assert seen_by_the_database(Response) == {friend_tenant.id}
        with operator_scope():
            assert seen_by_the_database(Response) == {friend_tenant.id, stranger_tenant.id}
        assert seen_by_the_database(Response) == {friend_tenant.id}
        assert {row.tenant_id for row in Response.objects.all()} == {friend_tenant.id}


def test_a_nested_scope_that_fails_restores_the_outer_one(
    both: tuple[str, str], friend_tenant: Tenant, stranger_tenant: Tenant
) -> None:
    with tenant_scope(friend_tenant.id):
        with pytest.raises(LookupError), tenant_scope(stranger_tenant.id):
            raise LookupError
        assert current_scope() == str(friend_tenant.id)
        assert seen_by_the_database(Response) == {friend_tenant.id}


def test_a_scope_inside_a_plain_transaction_ends_before_it(
    both: tuple[str, str], friend_tenant: Tenant
) -> None:
    with transaction.atomic():
        with tenant_scope(friend_tenant.id):
            assert seen_by_the_database(Response) == {friend_tenant.id}
        assert seen_by_the_database(Response) == set()


def test_what_a_failed_scope_wrote_is_undone(friend_tenant: Tenant, stranger_tenant: Tenant) -> None:
    stored(stranger_tenant)

    def store_and_fail() -> None:
        stored(friend_tenant)
        raise LookupError

    with pytest.raises(LookupError), tenant_scope(friend_tenant.id):
        store_and_fail()
    with operator_scope():
        assert {row.tenant_id for row in Response.objects.all()} == {stranger_tenant.id}


def test_an_unknown_tenant_sees_nothing(both: tuple[str, str]) -> None:
    with tenant_scope(uuid.uuid4()):
        assert not Response.objects.exists()
        assert seen_by_the_database(Item) == set()
