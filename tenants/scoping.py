"""The tenant scope: no scope, no rows.

Two walls. The first is `ScopedManager`: a query outside of a scope raises `ScopeMissing`, inside `tenant_scope` it is
filtered by the tenant. The second is PostgreSQL's row-level security with FORCE on every tenant table
(`row_level_security`), which reads the setting that a scope writes for its transaction: a query that got round the
manager still sees no foreign row.

The same write bounds the time of the transaction's statements (`ANTIPHON_STATEMENT_SECONDS`). It costs no round trip
more and, unlike an option of the connection, passes through any connection pooler.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from django.conf import settings
from django.db import connection, migrations, models, transaction

EVERYONE: Final = "*"
"""The setting's value inside `operator_scope`: all tenants."""

_SETTING: Final = "antiphon.tenant_id"
_scope: ContextVar[str | None] = ContextVar("antiphon_scope", default=None)


class ScopeMissing(RuntimeError):
    """A tenant table was queried outside of `tenant_scope` and `operator_scope`."""


@contextmanager
def tenant_scope(tenant_id: uuid.UUID) -> Iterator[None]:
    """Open a transaction that sees and writes rows of this tenant only."""
    with _scoped(str(tenant_id)):
        yield


@contextmanager
def operator_scope() -> Iterator[None]:
    """Open a transaction that sees every tenant's rows: for the operator's admin, commands and housekeeping."""
    with _scoped(EVERYONE):
        yield


def current_scope() -> str | None:
    """The tenant's id as text, `EVERYONE`, or None outside of any scope."""
    return _scope.get()


@contextmanager
def _scoped(value: str) -> Iterator[None]:
    token = _scope.set(value)
    outer = token.old_value if isinstance(token.old_value, str) else ""
    nested = connection.in_atomic_block
    try:
        with transaction.atomic():
            _write_setting(value)
            yield
            if nested:
                # The setting is local to the transaction, which goes on after this scope.
                _write_setting(outer)
    finally:
        _scope.reset(token)


def _write_setting(value: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config(%s, %s, true), set_config('statement_timeout', %s, true)",
            [_SETTING, value, f"{settings.STATEMENT_SECONDS * 1000:.0f}ms"],
        )


class ScopedManager(models.Manager[Any]):
    """The manager of every tenant table: raises outside of a scope, filters by the tenant inside.

    `column` is the one that says whose a row is.
    """

    column = "tenant_id"

    def get_queryset(self) -> models.QuerySet[Any]:
        """The rows of the scope's tenant, or all of them for the operator.

        Raises `ScopeMissing` outside of a scope.
        """
        scope = _scope.get()
        if scope is None:
            raise ScopeMissing(
                f"{self.model.__name__} was queried outside of a tenant scope; wrap it in tenant_scope(tenant_id)."
            )
        rows = super().get_queryset()
        return rows if scope == EVERYONE else rows.filter(**{self.column: uuid.UUID(scope)})


class TenantManager(ScopedManager):
    """The manager of the tenants themselves."""

    column = "id"


def row_level_security(table: str, column: str = "tenant_id") -> migrations.RunSQL:
    """A migration step: bind `table`, whose `column` says whose a row is, to the scope's setting; its owner, too."""
    # Compared as UUIDs: of a text made from the column the planner knows no statistics, takes one row in a hundred for
    # visible, and reads whole tables where an index would do.
    setting = f"current_setting('{_SETTING}', true)"
    policy = f"{setting} = '{EVERYONE}' OR {column} = NULLIF(NULLIF({setting}, ''), '{EVERYONE}')::uuid"
    return migrations.RunSQL(
        sql=[
            f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
            f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY",
            f"CREATE POLICY tenant_rows ON {table} USING ({policy}) WITH CHECK ({policy})",
        ],
        reverse_sql=[
            f"DROP POLICY tenant_rows ON {table}",
            f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY",
            f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY",
        ],
    )
