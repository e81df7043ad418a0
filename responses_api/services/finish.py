"""Finish: the end of a response, stored in one transaction before anybody is told of it."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from responses_api.models import Item, Response
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from tenants.scoping import tenant_scope


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
    """Store ended responses with their items; several of them share a transaction for each tenant.

    Returns the ids that were stored. One that is missing was ended by somebody else before (its worker had been given
    up as lost): its end has been told, and must not be told again.
    """
    stored: set[str] = set()
    for tenant_id, group in groupby(
        sorted(outcomes, key=attrgetter("tenant_id")), key=attrgetter("tenant_id")
    ):
        with tenant_scope(uuid.UUID(tenant_id)):
            stored |= _store(list(group))
    return stored


def _store(outcomes: list[Outcome]) -> set[str]:
    ids = [outcome.job.response_id for outcome in outcomes]
    taken = set(Response.objects.filter(id__in=ids).values_list("id", flat=True))
    fresh = [outcome for outcome in outcomes if outcome.job.response_id not in taken]
    Response.objects.bulk_create([_row(outcome) for outcome in fresh])
    Item.objects.bulk_create([item for outcome in fresh for item in _items(outcome)])
    return {outcome.job.response_id for outcome in fresh}


def _row(outcome: Outcome) -> Response:
    job, snapshot = outcome.job, outcome.snapshot
    return Response(
        id=job.response_id,
        tenant_id=uuid.UUID(job.tenant_id),
        key_id=uuid.UUID(job.key_id),
        previous_id=job.request["previous_response_id"],
        status=snapshot["status"],
        model=snapshot["model"],
        backend=job.backend["name"],
        request=job.request,
        usage=snapshot["usage"],
        error=snapshot["error"],
        incomplete_details=snapshot["incomplete_details"],
        created_at=job.created_at,
        completed_at=snapshot["completed_at"],
    )


def _items(outcome: Outcome) -> list[Item]:
    job = outcome.job
    tenant_id = uuid.UUID(job.tenant_id)
    inputs = len(job.input_items)
    return [
        Item(
            id=data["id"],
            tenant_id=tenant_id,
            response_id=job.response_id,
            position=position,
            is_output=position >= inputs,
            data=data,
        )
        for position, data in enumerate([*job.input_items, *outcome.snapshot["output"]])
    ]
