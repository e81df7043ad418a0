"""Sockets, and rows that were made long ago."""

import secrets
from dataclasses import replace

from responses_api.protocol.ids import RESPONSE, build_id
from responses_api.services.finish import finish
from responses_api.services.identity import now
from tenants.models import Tenant
from tests.integration.builders import ended, job_of, said
from tests.integration.websocket.conftest import connect, socket

__all__ = ["connect", "socket", "stored_days_ago"]


def stored_days_ago(tenant: Tenant, days: float, previous: str | None = None) -> str:
    """A response that was stored so long ago; returns its id."""
    moment = now() - int(days * 86_400)
    job = job_of(tenant, "Old news", previous_response_id=previous)
    job = replace(
        job, response_id=build_id(RESPONSE, moment * 1000, secrets.token_bytes(16)), created_at=moment
    )
    outcome = ended(job, said("Yes"))
    outcome.snapshot["completed_at"] = moment
    finish([outcome])
    return job.response_id
