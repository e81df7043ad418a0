"""Responses that have not ended: they live in the event log until their end is stored."""

import uuid
from typing import Any

from responses_api.eventlog import names
from responses_api.eventlog.connection import blocking_client
from responses_api.protocol import events
from responses_api.protocol.job import HEAD_BYTES, Job
from responses_api.protocol.plain import Json
from responses_api.protocol.request import CreateRequest
from responses_api.protocol.response import snapshot


def find_running(tenant_id: uuid.UUID, response_id: str) -> Job | None:
    """The job of a response of this tenant that is still running, else None. Blocks: for threads."""
    client: Any = blocking_client()
    # How long the answer takes must not tell a stranger that there is something, and how large.
    if not Job.may_be_of(str(tenant_id), client.getrange(names.job(response_id), 0, HEAD_BYTES - 1)):
        return None
    envelope: bytes | None = client.get(names.job(response_id))
    if envelope is None:
        return None
    job = Job.from_bytes(envelope)
    return job if job.tenant_id == str(tenant_id) and job.request["store"] else None


def opening(job: Job) -> list[Json]:
    """The events, not numbered, that the stream of a response begins with: until it is in progress."""
    first = (
        events.waiting(running_snapshot(job, "queued"))
        if job.is_background
        else [events.created(running_snapshot(job))]
    )
    return [*first, events.in_progress(running_snapshot(job))]


def running_snapshot(job: Job, status: str = "in_progress") -> Json:
    """The response as it stands while it runs, or waits."""
    return snapshot(
        response_id=job.response_id,
        created_at=job.created_at,
        request=CreateRequest.from_plain(job.request),
        status=status,
    )
