"""Finish: the end of a response, stored in one transaction before anybody is told of it."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Final

from django.db import connection

from responses_api.models.metadata import metadata_digest
from responses_api.models.response import UNFINISHED
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.protocol.response import extensions_of
from responses_api.protocol.sse import encode
from tenants.scoping import tenant_scope

# One statement for any number of responses and all their items: what is ended at the same time costs one round trip.
# A response that is there already was ended by another, and its items stay as they are. The JSON is PostgreSQL's `json`
# throughout, which keeps the text: `jsonb` would sort the keys.
_INSERT: Final = """
WITH given AS (
    SELECT * FROM json_to_recordset(%(rows)s::json) AS given(
        id text, tenant_id uuid, key_id uuid, previous_id text, status text, model text, backend text,
        request json, usage json, error json, incomplete_details json, extensions json, policy_decisions json,
        created_at bigint, completed_at bigint, score json, is_followed boolean, inputs integer, items json,
        metadata json
    )
), stored AS (
    INSERT INTO responses_api_response (
        id, tenant_id, key_id, previous_id, root_id, status, model, backend,
        request, usage, error, incomplete_details, extensions, policy_decisions,
        created_at, completed_at, score, is_followed
    )
    SELECT id, tenant_id, key_id, previous_id,
           CASE WHEN previous_id IS NULL THEN id ELSE (
               SELECT previous.root_id FROM responses_api_response previous
                WHERE previous.id = given.previous_id AND previous.tenant_id = given.tenant_id
           ) END,
           status, model, backend,
           request, usage, error, incomplete_details, extensions, policy_decisions,
           created_at, completed_at, score, is_followed
      FROM given
    ON CONFLICT (id) DO NOTHING
    RETURNING id
), written AS (
    INSERT INTO responses_api_item (id, tenant_id, response_id, position, is_output, data)
    SELECT item.data ->> 'id', given.tenant_id, given.id, item.place - 1, item.place > given.inputs, item.data
      FROM stored JOIN given USING (id),
           json_array_elements(given.items) WITH ORDINALITY AS item(data, place)
), noted AS (
    INSERT INTO responses_api_metadataentry (response_id, tenant_id, digest)
    SELECT given.id, given.tenant_id, entry.digest::uuid
      FROM stored JOIN given USING (id), json_array_elements_text(given.metadata) AS entry(digest)
)
SELECT id FROM stored
"""

# The end of those whose rows were there before. One that is not there any more was deleted and must not come back; one
# that is ended was ended by another; one of another attempt was given to another worker.
_END: Final = """
WITH given AS (
    SELECT * FROM json_to_recordset(%(rows)s::json) AS given(
        id text, attempt integer, status text, usage json, error json, incomplete_details json, extensions json,
        policy_decisions json,
        completed_at bigint, score json, output json
    )
), ended AS (
    UPDATE responses_api_response AS response
       SET status = given.status, usage = given.usage, error = given.error, score = given.score,
           incomplete_details = given.incomplete_details, extensions = given.extensions,
           policy_decisions = given.policy_decisions, completed_at = given.completed_at
      FROM given
     WHERE response.id = given.id AND response.status = ANY(%(unfinished)s)
       AND (given.attempt IS NULL OR response.attempt = given.attempt)
    RETURNING response.id, response.tenant_id
), held AS (
    SELECT ended.id, (SELECT count(*) FROM responses_api_item WHERE response_id = ended.id) AS items FROM ended
), written AS (
    INSERT INTO responses_api_item (id, tenant_id, response_id, position, is_output, data)
    SELECT item.data ->> 'id', ended.tenant_id, ended.id, held.items + item.place - 1, true, item.data
      FROM ended JOIN held USING (id) JOIN given USING (id),
           json_array_elements(given.output) WITH ORDINALITY AS item(data, place)
)
SELECT id FROM ended
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a response ended: its job, its final snapshot, the score of its stream (see `protocol.score`), and what the
    tool policies in force decided about its calls (see `Emitter.decisions`).
    """

    job: Job
    snapshot: Json
    score: Json | None = None
    decisions: list[Json] | None = None

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
        new: list[Json] = []
        held: list[Json] = []
        for outcome in group:
            if outcome.job.is_background:
                row = _end(outcome.snapshot, outcome.score, outcome.job.attempt)
                held.append({**row, "policy_decisions": outcome.decisions})
            else:
                row = _row(outcome.job, outcome.snapshot, outcome.score, outcome.snapshot["output"])
                new.append({**row, "policy_decisions": outcome.decisions})
        with tenant_scope(uuid.UUID(tenant_id)):
            stored |= _execute(_INSERT, new) | _execute(_END, held)
    return stored


def end(tenant_id: uuid.UUID, snapshot: Json, score: Json | None) -> bool:
    """End a background response whatever attempt runs. False where it has ended before, or was deleted."""
    with tenant_scope(tenant_id):
        return bool(_execute(_END, [_end(snapshot, score, attempt=None)]))


def open_row(job: Job, snapshot: Json) -> None:
    """Store a background response before its end, with its input: from here on it is not forgotten."""
    with tenant_scope(uuid.UUID(job.tenant_id)):
        _execute(_INSERT, [_row(job, snapshot, {"dialect": job.dialect}, [])])


def _execute(statement: str, rows: list[Json]) -> set[str]:
    if not rows:
        return set()
    with connection.cursor() as cursor:
        cursor.execute(statement, {"rows": encode(rows).decode(), "unfinished": list(UNFINISHED)})
        return {response_id for (response_id,) in cursor.fetchall()}


def _row(job: Job, snapshot: Json, score: Json | None, output: list[Json]) -> Json:
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
        "score": score,
        # Who asked for a stream is told of it from its first event on.
        "is_followed": job.is_background and job.request["stream"],
        "inputs": len(job.input_items),
        "items": [*job.input_items, *output],
        "metadata": [str(metadata_digest(*pair)) for pair in job.request["metadata"].items()],
    }


def _end(snapshot: Json, score: Json | None, attempt: int | None) -> Json:
    return {
        "id": snapshot["id"],
        "attempt": attempt,
        "status": snapshot["status"],
        "usage": snapshot["usage"],
        "error": snapshot["error"],
        "incomplete_details": snapshot["incomplete_details"],
        "extensions": extensions_of(snapshot),
        "completed_at": snapshot["completed_at"],
        "score": score,
        "output": snapshot["output"],
    }
