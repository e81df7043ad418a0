"""A job made ready for an adapter to map: what is sealed in it opened, receipts of tools told as calls, images and
files as its model takes them.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from responses_api.protocol.job import Job
from responses_api.protocol.permission import offered
from responses_api.protocol.plain import Json
from responses_api.protocol.policy_reading import policies_of
from responses_api.protocol.replay import as_functions, has_receipts
from responses_api.protocol.request import CreateRequest
from responses_api.services.hosted import declarations, is_served
from responses_api.services.offload import off_loop_if
from responses_api.services.sealed import opened, sealed_bytes
from workers.attachments import as_taken
from workers.media import with_content
from workers.uploaded import with_uploads

_MUCH_BYTES: Final = 1 << 20
_NO_NAMES: Final[Mapping[tuple[str, str], str]] = {}


async def opened_beside(job: Job, names: Mapping[tuple[str, str], str] = _NO_NAMES) -> Job:
    """The job with every sealed item opened (beside the event loop where there is much of it), its images and files
    seen to, the uploaded ones read and those by address fetched where its backend wants that, its answer no longer than
    its tenant's quotas provide for, no tool that its policies keep from it, and calls in the place of receipts: of
    tools by the `names` that they are offered under (see `protocol.replay`).

    Raises `ProtocolError` 400 as `services.sealed.opened`, `attachments.as_taken`, `uploaded.with_uploads` and
    `media.with_content` do.
    """
    job = await off_loop_if(sealed_bytes(job) > _MUCH_BYTES, opened, job)
    job = as_taken(_with_offered_tools(_capped(job)))
    # Once more with its content there, which tells of a file that it is an image.
    return _without_receipts(as_taken(await with_content(await with_uploads(job))), names)


def _without_receipts(job: Job, names: Mapping[tuple[str, str], str]) -> Job:
    """After all that refuses something by its place in the input: places are others from here on."""
    known = declarations()
    if not has_receipts(job.context, known):
        return job
    history, given = as_functions(job.history, job.input_items, known, names)
    return replace(job, history=history, input_items=given)


def _with_offered_tools(job: Job) -> Job:
    """What its backend runs by itself it is offered only where it may run it, and never what the service runs (whose
    rounds offer that as functions); the response tells of all tools.
    """
    if all(tool["type"] == "function" for tool in job.request["tools"]):
        return job
    tools = offered(CreateRequest.from_plain(job.request), policies_of(job.policies))
    tools = [tool for tool in tools if not is_served(tool["type"])]
    choice = _choice_of(job.request["tool_choice"]) if tools else "auto"
    return replace(job, request={**job.request, "tools": tools, "tool_choice": choice})


def _choice_of(choice: str | Json) -> str | Json:
    """The choice as far as it is of tools that the backend is offered."""
    if isinstance(choice, str):
        return choice
    if choice["type"] != "allowed_tools":
        return "auto" if is_served(choice["type"]) else choice
    named = [tool for tool in choice["tools"] if not is_served(tool["type"])]
    return {**choice, "tools": named} if named else "none"


def _capped(job: Job) -> Job:
    """What the upstream is asked for where the client named no limit; the response still says that it named none."""
    if job.output_cap is None or job.request["max_output_tokens"] is not None:
        return job
    return replace(job, request={**job.request, "max_output_tokens": job.output_cap})
