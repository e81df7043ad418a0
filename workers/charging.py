"""What an answer used whose backend did not come to tell it: counted here, of what it was given and what came of it.

Some backends tell a first figure with the first byte and the true one with the last. Of an answer that ended before
that, the figure is no more than the least that it used; nor is one that says that nothing was read, or said.
"""

from collections.abc import Sequence

from responses_api.protocol.backend import BackendSpec
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.quotas.spending import Used, said_in
from workers.backends.counting import Reading
from workers.backends.registry import adapter_of


def is_told(usage: Json | None, output: Sequence[Json], *, is_last: bool) -> bool:
    """Whether a backend told what its answer used. `is_last`: nothing was said after it had told."""
    if usage is None or not is_last:
        return False
    return bool(usage["input_tokens"]) and bool(usage["output_tokens"] or not output)


def counted(job: Job, output: Sequence[Json], usage: Json | None) -> Used:
    """The tokens of a job, with nothing sealed in it, and of its answer as far as it came, but no less than its backend
    told. Computes: for threads.

    What is counted here is never more than was reserved for it.
    """
    adapter = adapter_of(BackendSpec.from_plain(job.backend))
    said = Reading(said_in(output)).count()
    read = adapter.read(adapter.build(job)).count()
    if job.reserved is not None:
        said = min(said, job.reserved["tokens"])
        read = min(read, job.reserved["tokens"] - said)
    used = Used(read, 0, said, is_estimated=True)
    return used if usage is None else used.at_least(Used.from_usage(usage))
