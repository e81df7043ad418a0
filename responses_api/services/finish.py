"""Finish: the end of a response, stored in one transaction before anybody is told of it."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Final

from django.db import connection

from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.protocol.response import extensions_of
from responses_api.protocol.sse import encode
from tenants.scoping import tenant_scope

# One statement for any number of responses and all their items: what is ended at the same time costs one round trip.
# A response that is there already was ended by another, and its items stay as they are.
_INSERT: Final = """
WITH given AS (
    SELECT * FROM jsonb_to_recordset(%s::jsonb) AS given(
        id text, tenant_id uuid, key_id uuid, previous_id text, status text, model text, backend text,
        request jsonb, usage jsonb, error jsonb, incomplete_details jsonb, extensions jsonb,
        created_at bigint, completed_at bigint, inputs integer, items jsonb
    )
), stored AS (
    INSERT INTO responses_api_response (
        id, tenant_id, key_id, previous_id, root_id, status, model, backend,
        request, usage, error, incomplete_details, extensions, created_at, completed_at
    )
    SELECT id, tenant_id, key_id, previous_id,
           CASE WHEN previous_id IS NULL THEN id ELSE (
               SELECT previous.root_id FROM responses_api_response previous
                WHERE previous.id = given.previous_id AND previous.tenant_id = given.tenant_id
           ) END,
           status, model, backend,
           request, usage, error, incomplete_details, extensions, created_at, completed_at
      FROM given
    ON CONFLICT (id) DO NOTHING
    RETURNING id
), written AS (
    INSERT INTO responses_api_item (id, tenant_id, response_id, position, is_output, data)
    SELECT item.data ->> 'id', given.tenant_id, given.id, item.place - 1, item.place > given.inputs, item.data
      FROM stored JOIN given USING (id),
           jsonb_array_elements(given.items) WITH ORDINALITY AS item(data, place)
)
SELECT id FROM stored
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a response ended: its job and its final snapshot."""

    job: Job
    snapshot: Json

    @property
    def tenant_id(self) -> str:
        """The tenant that owns the response."""
        return self.job.tenant_id


def finish(outcomes: Sequence[Outcome]) -> set[str]:
    """Store ended responses with their items; several of a tenant share a transaction.

    Returns the ids that were stored. One that is missing was ended by somebody else before (its worker had been given
    up as lost): its end has been told, and must not be told again.
    """
    stored: set[str] = set()
    by_tenant = attrgetter("tenant_id")
    for tenant_id, group in groupby(sorted(outcomes, key=by_tenant), key=by_tenant):
        rows = encode([_row(outcome) for outcome in group]).decode()
        with tenant_scope(uuid.UUID(tenant_id)), connection.cursor() as cursor:
            cursor.execute(_INSERT, [rows])
            stored.update(response_id for (response_id,) in cursor.fetchall())
    return stored


def _row(outcome: Outcome) -> Json:
    job, snapshot = outcome.job, outcome.snapshot
    return {
        "id": job.response_id,
        "tenant_id": job.tenant_id,
        "key_id": job.key_id,
        "previous_id": job.request["previous_response_id"],
        "status": snapshot["status"],
        "model": snapshot["model"],
        "backend": job.backend["name"],
        "request": job.request,
        "usage": snapshot["usage"],
        "error": snapshot["error"],
        "incomplete_details": snapshot["incomplete_details"],
        "extensions": extensions_of(snapshot),
        "created_at": job.created_at,
        "completed_at": snapshot["completed_at"],
        "inputs": len(job.input_items),
        "items": [*job.input_items, *snapshot["output"]],
    }
