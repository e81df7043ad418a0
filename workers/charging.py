"""What an answer used whose backend did not come to tell it: counted here, of what it was given and what came of it."""

from collections.abc import Sequence

from responses_api.protocol.backend import BackendSpec
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.quotas.spending import Used, said_in
from workers.backends.counting import Reading
from workers.backends.registry import adapter_of


def counted(job: Job, output: Sequence[Json]) -> Used:
    """The tokens of a job, with nothing sealed in it, and of its answer as far as it came. Computes: for threads.

    Never more than was reserved for it.
    """
    adapter = adapter_of(BackendSpec.from_plain(job.backend))
    said = Reading(said_in(output)).count()
    read = adapter.read(adapter.build(job)).count()
    if job.reserved is not None:
        said = min(said, job.reserved["tokens"])
        read = min(read, job.reserved["tokens"] - said)
    return Used(read, 0, said, is_estimated=True)
