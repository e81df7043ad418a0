"""Cancel: a background response that nobody wants any more is ended, wherever it is."""

import uuid
from typing import Any, Final

import structlog
from redis.exceptions import RedisError

from responses_api.eventlog import bus, claims
from responses_api.models import Response
from responses_api.models.fields import is_id
from responses_api.models.response import UNFINISHED
from responses_api.protocol.errors import ProtocolError, invalid_request, overloaded
from responses_api.protocol.plain import Json
from responses_api.services.background import end_here, job_of_row, told_before
from responses_api.services.running import find_running
from responses_api.services.stored import missing, retrieve
from tenants.scoping import tenant_scope

log = structlog.get_logger(__name__)

_WORKER_SECONDS: Final = 5.0
"""How long a worker may take to end what it runs; what takes longer is ended here."""

_VALKEY_AWAY: Final = overloaded("The service cannot cancel at the moment; try again.")


def cancel(tenant_id: uuid.UUID, response_id: str) -> Json:
    """Cancel a background response and return it as it ended; one that has ended stays as it is. Blocks: for threads.

    Raises `ProtocolError` 404, 400 for a response that is not a background response, 503 while Valkey is away.
    """
    row = _row(tenant_id, response_id)
    if row is None:
        if is_id(response_id) and find_running(tenant_id, response_id) is not None:
            raise _not_background(response_id)
        raise missing(response_id)
    if not row.request["background"]:
        raise _not_background(response_id)
    if row.status in UNFINISHED:
        _withdraw(row)
    return retrieve(tenant_id, response_id)


def _withdraw(row: Any) -> None:
    """Take the job back from the queue, or from the worker that runs it."""
    try:
        worker = bus.withdraw(row.id)
        if worker is None or not claims.wait_until_ended(row.id, _WORKER_SECONDS):
            end_here(job_of_row(row), None, worker=worker or "", before=told_before(row))
    except (RedisError, OSError) as error:
        log.error("Valkey does not answer", error=type(error).__name__)
        raise _VALKEY_AWAY.anew() from error


def _row(tenant_id: uuid.UUID, response_id: str) -> Any:
    if not is_id(response_id):
        raise missing(response_id)
    with tenant_scope(tenant_id):
        return Response.objects.filter(id=response_id).first()


def _not_background(response_id: str) -> ProtocolError:
    return invalid_request(
        f"Only a background response can be cancelled; '{response_id}' was not created with `background: true`.",
        param="response_id",
        code="not_a_background_response",
    )
