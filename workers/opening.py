"""Opening what is sealed in a job, before an adapter maps it: adapters know of no seals."""

from typing import Final

from responses_api.protocol.job import Job
from responses_api.services.offload import off_loop_if
from responses_api.services.sealed import opened, sealed_bytes

_MUCH_BYTES: Final = 1 << 20


async def opened_beside(job: Job) -> Job:
    """The job with every sealed item opened; where there is much to decrypt, beside the event loop.

    Raises `ProtocolError` 400 as `services.sealed.opened` does.
    """
    return await off_loop_if(sealed_bytes(job) > _MUCH_BYTES, opened, job)
