"""Finish: the end of a response and what it is charged, stored in one transaction before anybody is told of it."""

import uuid
from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Final

from django.db import connection

from responses_api.models import Response
from responses_api.models.metadata import metadata_digest
from responses_api.models.response import UNFINISHED
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.protocol.response import extensions_of
from responses_api.protocol.sse import encode
from responses_api.quotas.settling import settle
from responses_api.quotas.spending import Used
from responses_api.services.charges import entry_of
from tenants import ledger
from tenants.ledger import Entry
from tenants.scoping import tenant_scope

# One statement for any number of responses and all their items: what is ended at the same time costs one round trip.
# A response that is there already was ended by another, and its items stay as they are. The JSON is PostgreSQL's `json`
# throughout, which keeps the text: `jsonb` would sort the keys.
_INSERT: Final = """
WITH given AS (
    SELECT * FROM json_to_recordset(%(rows)s::json) AS given(
        id text, tenant_id uuid, key_id uuid, previous_id text, status text, model text, backend text,
        request json, usage json, error json, incomplete_details json, extensions json, policy_decisions json,
        tried json, created_at bigint, completed_at bigint, score json, is_followed boolean, inputs integer, items json,
        metadata json
    )
), stored AS (
    INSERT INTO responses_api_response (
        id, tenant_id, key_id, previous_id, root_id, status, model, backend,
        request, usage, error, incomplete_details, extensions, policy_decisions, tried,
        created_at, completed_at, score, is_followed
    )
    SELECT id, tenant_id, key_id, previous_id,
           CASE WHEN previous_id IS NULL THEN id ELSE (
               SELECT previous.root_id FROM responses_api_response previous
                WHERE previous.id = given.previous_id AND previous.tenant_id = given.tenant_id
           ) END,
           status, model, backend,
           request, usage, error, incomplete_details, extensions, policy_decisions, tried,
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
        id text, tenant_id uuid, attempt integer, status text, backend text, usage json, error json,
        incomplete_details json, extensions json, policy_decisions json, tried json, completed_at bigint, score json,
        output json
    )
), ended AS (
    UPDATE responses_api_response AS response
       SET status = given.status, backend = given.backend, usage = given.usage, error = given.error,
           score = given.score, incomplete_details = given.incomplete_details, extensions = given.extensions,
           policy_decisions = given.policy_decisions, tried = given.tried, completed_at = given.completed_at
      FROM given
     WHERE response.id = given.id AND response.tenant_id = given.tenant_id AND response.status = ANY(%(unfinished)s)
       AND (given.attempt IS NULL OR response.attempt = given.attempt)
    RETURNING response.id, response.tenant_id
), held AS (
    SELECT ended.id, (
        SELECT count(*) FROM responses_api_item WHERE response_id = ended.id AND tenant_id = ended.tenant_id
    ) AS items FROM ended
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

    `used` is what it is charged; None: what the snapshot's usage tells. One that is not `is_stored` leaves a row of the
    ledger and no other. `first_event_ms` is how long its model's first word took. `tried` are the targets that could
    not answer before the job's (see `workers.failover`).
    """

    job: Job
    snapshot: Json
    score: Json | None = None
    decisions: list[Json] | None = None
    used: Used | None = None
    is_stored: bool = True
    first_event_ms: int | None = None
    tried: list[Json] | None = None

    @property
    def tenant_id(self) -> str:
        """The tenant that owns the response."""
        return self.job.tenant_id

    def is_charged(self, going_on: Container[str]) -> bool:
        """Whether it is charged; what is `going_on` elsewhere is charged there, and counting tokens is free."""
        return self.job.purpose != "count_tokens" and self.job.response_id not in going_on

    def entry(self) -> Entry:
        """Its row of the ledger."""
        told = self.snapshot["usage"]
        return entry_of(
            self.job,
            status=self.snapshot["status"],
            error_code=(self.snapshot["error"] or {}).get("code", ""),
            used=self.used or (Used.from_usage(told) if told else None),
            first_event_ms=self.first_event_ms,
        )


def finish(outcomes: Sequence[Outcome]) -> set[str]:
    """Store ended responses with their items, and charge them; several of a tenant share a transaction.

    Returns the ids that were stored, and those that were not to be. One that is missing was ended by somebody else
    before (its worker had been given up as lost): its end has been told, and must not be told again.
    """
    stored: set[str] = set()
    settled: list[Entry] = []
    by_tenant = attrgetter("tenant_id")
    for tenant_id, group in groupby(sorted(outcomes, key=by_tenant), key=by_tenant):
        mine = list(group)
        new: list[Json] = []
        held: list[Json] = []
        for outcome in mine:
            if not outcome.is_stored:
                continue
            if outcome.job.is_background:
                row = _end(outcome.job, outcome.snapshot, outcome.score, outcome.job.attempt)
                held.append({**row, "policy_decisions": outcome.decisions, "tried": outcome.tried})
            else:
                row = _row(outcome.job, outcome.snapshot, outcome.score, outcome.snapshot["output"])
                new.append({**row, "policy_decisions": outcome.decisions, "tried": outcome.tried})
        with tenant_scope(uuid.UUID(tenant_id)):
            ended = _execute(_INSERT, new) | _execute(_END, held)
            going_on = _held_by_others([row["id"] for row in held if row["id"] not in ended])
            charged = [outcome.entry() for outcome in mine if outcome.is_charged(going_on)]
            written = ledger.record(charged)
        settled += [entry for entry in charged if entry.response_id in written]
        stored |= ended | {outcome.job.response_id for outcome in mine if not outcome.is_stored}
    settle(settled)
    return stored


def end(job: Job, snapshot: Json, score: Json | None, used: Used) -> bool:
    """End a background response whatever attempt runs. False where it has ended before, or was deleted."""
    with tenant_scope(uuid.UUID(job.tenant_id)):
        if not _execute(_END, [_end(job, snapshot, score, attempt=None)]):
            return False
        entry = Outcome(job, snapshot, used=used).entry()
        written = ledger.record([entry])
    if written:
        settle([entry])
    return True


def charge_unrun(job: Job, error: ProtocolError | None) -> None:
    """Charge nothing but itself to a request that no worker will run: refused with `error`, or unwanted before any had
    it.
    """
    status, code = ("failed", error.code or error.type) if error else ("cancelled", "")
    if job.purpose != "count_tokens":
        entry = entry_of(job, status=status, error_code=code)
        with tenant_scope(uuid.UUID(job.tenant_id)):
            written = ledger.record([entry])
        if written:
            settle([entry])


def _held_by_others(response_ids: list[str]) -> set[str]:
    """Those whose rows are there still: who ended them, or runs them, charges them."""
    if not response_ids:
        return set()
    return set(Response.objects.filter(id__in=response_ids).values_list("id", flat=True))


def open_row(job: Job, snapshot: Json) -> None:
    """Store a background response before its end, with its input: from here on it is not forgotten."""
    with tenant_scope(uuid.UUID(job.tenant_id)):
        _execute(_INSERT, [_row(job, snapshot, kept_of(job), [])])


def kept_of(job: Job) -> Json:
    """What a row keeps of the job of a response that has not ended, beside its request, in place of the score."""
    return {
        "dialect": job.dialect,
        "prices": job.prices,
        "reserved": job.reserved,
        "output_cap": job.output_cap,
        "spent": job.spent,
        "sealed_secrets": job.sealed_secrets,
        "backends": [target.name for target in job.choices()],
    }


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


def _end(job: Job, snapshot: Json, score: Json | None, attempt: int | None) -> Json:
    return {
        "id": snapshot["id"],
        "tenant_id": job.tenant_id,
        "attempt": attempt,
        "status": snapshot["status"],
        "backend": job.backend["name"],
        "usage": snapshot["usage"],
        "error": snapshot["error"],
        "incomplete_details": snapshot["incomplete_details"],
        "extensions": extensions_of(snapshot),
        "completed_at": snapshot["completed_at"],
        "score": score,
        "output": snapshot["output"],
    }
