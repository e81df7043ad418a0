"""The second wall stands on every table of a tenant, and before the very owner of the tables."""

from django.db import connection

from tenants.scoping import operator_scope, tenant_scope
from tests.isolation.conftest import World
from tests.isolation.world import tenant_tables


def test_every_table_of_a_tenant_has_row_level_security_that_binds_its_owner(database: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname FROM pg_class WHERE relrowsecurity AND relforcerowsecurity")
        walled = {name for (name,) in cursor.fetchall()}
    assert {table for table, _ in tenant_tables()} - walled == set()


def test_the_services_role_passes_no_wall(database: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user")
        assert cursor.fetchone() == (False, False)


def test_without_a_scope_there_are_no_rows_at_all(world: World) -> None:
    with connection.cursor() as cursor:
        for table, _ in tenant_tables():
            cursor.execute(f'SELECT count(*) FROM "{table}"')
            assert cursor.fetchone() == (0,), table


def test_each_scope_has_the_rows_of_its_tenant_alone(world: World) -> None:
    for table, column in tenant_tables():
        for estate in (world.friend, world.stranger):
            with tenant_scope(estate.tenant.id), connection.cursor() as cursor:
                cursor.execute(f'SELECT DISTINCT {column} FROM "{table}"')
                assert cursor.fetchall() in ([(estate.tenant.id,)], []), table
        with operator_scope(), connection.cursor() as cursor:
            cursor.execute(f'SELECT count(DISTINCT {column}) FROM "{table}"')
            assert cursor.fetchone() in [(2,), (0,)], table
