"""A job made ready for an adapter to map: what is sealed in it opened, images and files as its model takes them."""

from dataclasses import replace
from typing import Final

from responses_api.protocol.job import Job
from responses_api.services.offload import off_loop_if
from responses_api.services.sealed import opened, sealed_bytes
from workers.attachments import as_taken

_MUCH_BYTES: Final = 1 << 20


async def opened_beside(job: Job) -> Job:
    """The job with every sealed item opened (beside the event loop where there is much of it), its images and files
    seen to, and its answer no longer than its tenant's quotas provide for.

    Raises `ProtocolError` 400 as `services.sealed.opened` and `attachments.as_taken` do.
    """
    return as_taken(_capped(await off_loop_if(sealed_bytes(job) > _MUCH_BYTES, opened, job)))


def _capped(job: Job) -> Job:
    """What the upstream is asked for where the client named no limit; the response still says that it named none."""
    if job.output_cap is None or job.request["max_output_tokens"] is not None:
        return job
    return replace(job, request={**job.request, "max_output_tokens": job.output_cap})
