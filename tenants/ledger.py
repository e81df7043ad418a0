"""The ledger's pen and its sums: one row for each admitted request, written once, however many try to."""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import orjson
from django.db import connection

from tenants.models import UsageRecord

_TYPES: Final = {
    "response_id": "text",
    "tenant_id": "uuid",
    "key_id": "uuid",
    "model": "text",
    "backend": "text",
    "purpose": "text",
    "status": "text",
    "error_code": "text",
    "input_tokens": "bigint",
    "cached_tokens": "bigint",
    "output_tokens": "bigint",
    "reasoning_tokens": "bigint",
    "is_estimated": "boolean",
    "input_price": "bigint",
    "cached_input_price": "bigint",
    "output_price": "bigint",
    "cost_nanos": "bigint",
    "reserved_tokens": "bigint",
    "reserved_nanos": "bigint",
    "attempts": "integer",
    "created_at": "bigint",
    "ended_at": "bigint",
    "first_event_ms": "integer",
    "duration_ms": "integer",
}
_COLUMNS: Final = ", ".join(_TYPES)
_RECORD: Final = f"""
INSERT INTO tenants_usagerecord ({_COLUMNS})
SELECT {_COLUMNS}
  FROM json_to_recordset(%(rows)s::json) AS given({", ".join(f"{name} {kind}" for name, kind in _TYPES.items())})
 ORDER BY response_id
ON CONFLICT (response_id) DO NOTHING
RETURNING response_id
"""
_SUMS: Final = """
SELECT span.start, span.stop, used.key_id, used.model, count(*),
       sum(used.input_tokens + used.output_tokens)::bigint, sum(used.cost_nanos)::bigint
  FROM unnest(%(starts)s::bigint[], %(ends)s::bigint[]) AS span(start, stop)
  JOIN tenants_usagerecord AS used
    ON used.tenant_id = %(tenant)s AND used.created_at >= span.start AND used.created_at < span.stop
 WHERE used.response_id <> ALL(%(without)s)
 GROUP BY span.start, span.stop, used.key_id, used.model
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the ledger: see `tenants.models.UsageRecord`."""

    response_id: str
    tenant_id: uuid.UUID
    key_id: uuid.UUID
    model: str
    status: str
    created_at: int
    ended_at: int
    backend: str = ""
    purpose: str = "respond"
    error_code: str = ""
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    is_estimated: bool = False
    input_price: int = 0
    cached_input_price: int = 0
    output_price: int = 0
    cost_nanos: int = 0
    reserved_tokens: int = 0
    reserved_nanos: int = 0
    attempts: int = 1
    first_event_ms: int | None = None
    duration_ms: int | None = None


assert set(_TYPES) == {field.name for field in fields(Entry)}


@dataclass(frozen=True, slots=True)
class Sum:
    """What the requests of a span, a key and a model add up to."""

    start: int
    stop: int
    key_id: uuid.UUID
    model: str
    requests: int
    tokens: int
    nanos: int


def record(entries: Sequence[Entry]) -> set[str]:
    """Write these entries, inside their tenant's scope; returns the ids of those that were not there before."""
    if not entries:
        return set()
    with connection.cursor() as cursor:
        cursor.execute(_RECORD, {"rows": orjson.dumps(list(entries)).decode()})
        return {response_id for (response_id,) in cursor.fetchall()}


def entries(response_ids: Sequence[str]) -> list[Entry]:
    """The rows of these responses, where they have one. Needs the tenant's scope."""
    rows = UsageRecord.objects.filter(response_id__in=response_ids) if response_ids else ()
    return [Entry(**{name: getattr(row, name) for name in _TYPES}) for row in rows]


def sums(tenant_id: uuid.UUID, spans: Iterable[tuple[int, int]], *, without: Sequence[str] = ()) -> list[Sum]:
    """What was used in each of these spans (first second, first second after it), in one look at the ledger.

    `without` are responses that are left out. Needs the tenant's scope.
    """
    starts, stops = zip(*spans, strict=True)
    given: dict[str, Any] = {
        "tenant": tenant_id,
        "starts": list(starts),
        "ends": list(stops),
        "without": list(without),
    }
    with connection.cursor() as cursor:
        cursor.execute(_SUMS, given)
        return [Sum(*row) for row in cursor.fetchall()]
