"""Responses that have not ended: they live in the event log until their end is stored."""

import uuid
from typing import Any

from responses_api.eventlog import names
from responses_api.eventlog.connection import blocking_client
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.protocol.request import CreateRequest
from responses_api.protocol.response import snapshot


def find_running(tenant_id: uuid.UUID, response_id: str) -> Job | None:
    """The job of a response of this tenant that is still running, else None. Blocks: for threads."""
    client: Any = blocking_client()
    envelope: bytes | None = client.get(names.job(response_id))
    if envelope is None:
        return None
    job = Job.from_bytes(envelope)
    return job if job.tenant_id == str(tenant_id) and job.request["store"] else None


def running_snapshot(job: Job) -> Json:
    """The response as it stands while it runs."""
    return snapshot(
        response_id=job.response_id,
        created_at=job.created_at,
        request=CreateRequest.from_plain(job.request),
        status="in_progress",
    )
