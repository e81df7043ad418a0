"""A job made ready for an adapter to map: what is sealed in it opened, images as its model takes them."""

from typing import Final

from responses_api.protocol.job import Job
from responses_api.services.offload import off_loop_if
from responses_api.services.sealed import opened, sealed_bytes
from workers.images import seen_or_told

_MUCH_BYTES: Final = 1 << 20


async def opened_beside(job: Job) -> Job:
    """The job with every sealed item opened (beside the event loop where there is much of it) and its images seen to.

    Raises `ProtocolError` 400 as `services.sealed.opened` and `images.seen_or_told` do.
    """
    return seen_or_told(await off_loop_if(sealed_bytes(job) > _MUCH_BYTES, opened, job))
