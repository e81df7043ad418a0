"""How many tokens the input of a job has for its model: the one place that decides who counts them."""

import asyncio

import structlog

from responses_api.protocol.backend import BackendSpec
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from workers.backends.client import UpstreamClient
from workers.backends.counting import UPSTREAM_COUNTERS
from workers.backends.registry import adapter_of
from workers.opening import opened_beside

log = structlog.get_logger(__name__)


async def count_tokens(job: Job, upstream: UpstreamClient) -> int:
    """The tokens of everything that the model would read.

    A backend that counts itself is asked; where it fails to answer, the count is made here: an estimate in time is
    worth more than none. Raises `ProtocolError` for what the backend's format cannot carry.
    """
    if BackendSpec.from_plain(job.backend).token_counting in UPSTREAM_COUNTERS:
        try:
            return await upstream.count(job)
        except ProtocolError as error:
            if error.type == "invalid_request":
                raise
            log.warning(
                "the backend did not count tokens; counted here instead",
                backend=job.backend["name"],
                error=error.code or error.type,
                reason=error.reason,
            )
    return await asyncio.to_thread(_count_here, job)


def _count_here(job: Job) -> int:
    adapter = adapter_of(BackendSpec.from_plain(job.backend))
    return adapter.read(adapter.build(job)).count()


async def answer_count(job: Job, note: object = None, *, upstream: UpstreamClient) -> Json:
    """The answer to `POST /v1/responses/input_tokens`; it uses nothing that would have to be noted."""
    return {
        "object": "response.input_tokens",
        "input_tokens": await count_tokens(await opened_beside(job), upstream),
    }
