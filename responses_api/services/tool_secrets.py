"""What lets the service in at the servers that a request's tools name: sealed for its worker, and opened there.

The clear text is in the memory of the process that read the request and of the worker that connects, and nowhere else:
jobs, rows and journals carry the seal, which is bound to the tenant and to the response (`sealing`).
"""

from typing import Final
from uuid import UUID

import structlog

from responses_api.protocol.errors import server_error
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.protocol.request import CreateRequest
from responses_api.protocol.secrets import by_place
from responses_api.sealing import SealError, open_tool_secrets, seal_tool_secrets

log = structlog.get_logger(__name__)

UNREADABLE: Final = server_error(
    "The headers of the request's MCP servers cannot be opened any more: the key that sealed them is none of"
    " ANTIPHON_SEAL_KEYS. Send the request again.",
    code="tool_secrets_unreadable",
)


def seal_secrets(request: CreateRequest, *, tenant_id: UUID | str, response_id: str) -> str | None:
    """The secrets of a request's tools as its job carries them; None where it has none."""
    if not request.secrets:
        return None
    return seal_tool_secrets(dict(request.secrets), tenant_id=str(tenant_id), response_id=response_id)


def opened_secrets(job: Job) -> dict[int, Json]:
    """The secrets of a job's tools by their places in the request's `tools`: `headers` (an object of strings),
    `authorization` and `query` (text or None).

    Raises `ProtocolError` 500 `tool_secrets_unreadable` where they do not open: the key was rotated away.
    """
    if job.sealed_secrets is None:
        return {}
    try:
        secrets = open_tool_secrets(job.sealed_secrets, tenant_id=job.tenant_id, response_id=job.response_id)
    except SealError:
        log.error("the secrets of a response's tools do not open", response_id=job.response_id)
        raise UNREADABLE.anew() from None
    return by_place(secrets, job.request["tools"])
