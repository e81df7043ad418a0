"""Sealed items: what a request brings back is looked at before anything is stored, and opened for the model's adapter.

Reasoning goes back only to the very model that it came from; for another one it is left out. Age bounds what clients
keep: what the service itself has stored stays good as long as it is stored.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import structlog

from responses_api.protocol.errors import ProtocolError, invalid_request
from responses_api.protocol.items import ITEM_STATE, SealedType
from responses_api.protocol.job import STATE, Job
from responses_api.protocol.passthrough import is_foreign
from responses_api.protocol.plain import Json
from responses_api.sealing import Opened, SealError, SealExpired, open_seal, seal
from responses_api.services.offload import off_loop_if

log = structlog.get_logger(__name__)

_MUCH_BYTES: Final = 1 << 20
_SUMMARY: Final = "Summary of the conversation so far, which was compacted at this point:\n\n"


def check_given(items: Sequence[Json], tenant_id: str) -> None:
    """Check that the seals in a request's own input open. Raises `ProtocolError` 400 naming the first that does not."""
    for index, item in enumerate(items):
        if _is_sealed(item):
            try:
                _open(item, tenant_id).check_age()
            except SealError as error:
                raise _refusal(item, f"input[{index}].{_field(item)}", error) from None


def sealer(job: Job) -> Callable[[SealedType, Any], str]:
    """What seals the state of this job's items: a function of the item's type and the content."""

    def seal_for_tenant(item_type: SealedType, content: Any) -> str:
        return seal(
            content, item_type=item_type, tenant_id=job.tenant_id, source=_source(job), at=job.created_at
        )

    return seal_for_tenant


def sealed_bytes(job: Job) -> int:
    """How much there is to open in a job."""
    return sum(len(str(item[_field(item)])) for item in job.context if _is_sealed(item))


async def holder(job: Job) -> str | None:
    """Of the backends of a job's targets the one whose state is the latest in its context; None without any."""
    return await off_loop_if(sealed_bytes(job) > _MUCH_BYTES, _holder, job)


def _holder(job: Job) -> str | None:
    sources = {target.name: _source(job.at(target)) for target in job.choices()}
    for item in reversed(job.context):
        if item["type"] == "reasoning" and _is_sealed(item):
            try:
                source = _open(item, job.tenant_id).source
            except SealError:
                continue
            for name, own in sources.items():
                if own == source:
                    return name
    return None


def opened(job: Job) -> Job:
    """The job as its backend's adapter gets it: no sealed item is left, each is what it stands for.

    Raises `ProtocolError` 400 for a compaction that does not open: going on without it would lose the conversation.
    What else does not open, which only an older part of the chain can hold, is left out.
    """
    if not any(_is_sealed(item) for item in job.context):
        return job
    open_item = partial(_opened, job)
    return replace(
        job,
        history=[open_item(item, "previous_response_id") for item in job.history],
        input_items=[
            open_item(item, f"input[{index}].{_field(item)}") for index, item in enumerate(job.input_items)
        ],
    )


def _opened(job: Job, item: Json, param: str) -> Json:
    if not _is_sealed(item):
        return item
    try:
        found = _open(item, job.tenant_id)
    except SealError as error:
        if item["type"] == "compaction":
            raise _refusal(item, param, error) from None
        log.warning("state of an earlier turn does not open any more and is left out", item=item.get("id"))
        return {**_without_seal(item), STATE: None} if is_foreign(item["type"]) else _without_seal(item)
    if item["type"] == "compaction":
        return summary_message(item, found.content)
    bare = _without_seal(item)
    if found.source == _source(job):
        return {**bare, STATE: found.content}
    # Whoever told it: that a backend did is not forgotten (`protocol.replay`).
    return {**bare, STATE: None} if is_foreign(item["type"]) else bare


def summary_message(item: Json, summary: str) -> Json:
    """What a model reads in the place of a compaction item. It is the model's own account, not the user's words."""
    text = {"type": "output_text", "text": _SUMMARY + summary, "annotations": []}
    return {
        "type": "message",
        "id": item.get("id"),
        "status": "completed",
        "role": "assistant",
        "content": [text],
    }


def _is_sealed(item: Json) -> bool:
    kind = item["type"]
    if kind == "compaction":
        return True
    return (kind == "reasoning" or is_foreign(kind)) and bool(item.get(_field(item)))


def _field(item: Json) -> str:
    """Where an item of this type has what is sealed."""
    return ITEM_STATE if is_foreign(item["type"]) else "encrypted_content"


def _open(item: Json, tenant_id: str) -> Opened:
    sealed = item[_field(item)]
    if not isinstance(sealed, str):  # nobody has looked at the fields of an item of a type that is not known
        raise SealError
    item_type: SealedType = "item" if is_foreign(item["type"]) else item["type"]
    return open_seal(sealed, item_type=item_type, tenant_id=tenant_id)


def _without_seal(item: Json) -> Json:
    field = _field(item)
    return {name: value for name, value in item.items() if name != field}


def _source(job: Job) -> Json:
    """The model that state comes from and may go back to."""
    return {"kind": job.backend["kind"], "backend": job.backend["name"], "model": job.upstream_model}


def _refusal(item: Json, param: str, error: SealError) -> ProtocolError:
    what = "item" if is_foreign(item["type"]) else f"{item['type']} item"
    if isinstance(error, SealExpired):
        return invalid_request(
            f"The encrypted content of this {what} has expired. Leave the item out.",
            param=param,
            code="encrypted_content_expired",
        )
    return invalid_request(
        f"The encrypted content of this {what} cannot be opened: it is not what this service sent to this tenant."
        " Send it back unchanged, or leave the item out.",
        param=param,
        code="invalid_encrypted_content",
    )
