"""A job made ready for an adapter to map: what is sealed in it opened, images and files as its model takes them."""

from dataclasses import replace
from typing import Final

from responses_api.protocol.admission import offered
from responses_api.protocol.job import Job
from responses_api.protocol.policy_reading import policies_of
from responses_api.protocol.request import CreateRequest
from responses_api.services.offload import off_loop_if
from responses_api.services.sealed import opened, sealed_bytes
from workers.attachments import as_taken
from workers.media import with_content

_MUCH_BYTES: Final = 1 << 20


async def opened_beside(job: Job) -> Job:
    """The job with every sealed item opened (beside the event loop where there is much of it), its images and files
    seen to, those by address fetched where its backend wants that, its answer no longer than its tenant's quotas
    provide for, and no tool that its policies keep from it.

    Raises `ProtocolError` 400 as `services.sealed.opened`, `attachments.as_taken` and `media.with_content` do.
    """
    job = await off_loop_if(sealed_bytes(job) > _MUCH_BYTES, opened, job)
    return await with_content(as_taken(_with_offered_tools(_capped(job))))


def _with_offered_tools(job: Job) -> Job:
    """What its backend runs by itself it is offered only where it may run it; the response tells of all tools."""
    if all(tool["type"] == "function" for tool in job.request["tools"]):
        return job
    tools = offered(CreateRequest.from_plain(job.request), policies_of(job.policies))
    return replace(job, request={**job.request, "tools": tools})


def _capped(job: Job) -> Job:
    """What the upstream is asked for where the client named no limit; the response still says that it named none."""
    if job.output_cap is None or job.request["max_output_tokens"] is not None:
        return job
    return replace(job, request={**job.request, "max_output_tokens": job.output_cap})
