"""Images for a model that sees none: refused, or told to it in words, as its backend's row says."""

from dataclasses import replace

from responses_api.protocol.backend import BackendSpec
from responses_api.protocol.errors import ProtocolError, invalid_request
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json

NOTE = "[An image was attached here. You cannot see images: say so where it matters.]"

_IMAGE = "input_image"
_HOLDERS = {"message": "content", "function_call_output": "output"}


def seen_or_told(job: Job) -> Job:
    """The job as its backend can take it: unchanged, or with a note in the place of each image.

    Raises `ProtocolError` 400 naming the first image where the backend's row has them refused.
    """
    images = BackendSpec.from_plain(job.backend).images
    if images == "sent":
        return job
    if images == "refused":
        _refuse_any(job)
        return job
    return replace(job, history=_noted(job.history), input_items=_noted(job.input_items))


def _noted(items: list[Json]) -> list[Json]:
    return [_with_notes(item) if _places(item) else item for item in items]


def _with_notes(item: Json) -> Json:
    holder = _HOLDERS[item["type"]]
    note = {"type": "input_text", "text": NOTE}
    return {**item, holder: [note if part["type"] == _IMAGE else part for part in item[holder]]}


def _places(item: Json) -> list[int]:
    """Where the item has images."""
    parts = item.get(_HOLDERS.get(item["type"], ""))
    return (
        [index for index, part in enumerate(parts) if part["type"] == _IMAGE]
        if isinstance(parts, list)
        else []
    )


def _refuse_any(job: Job) -> None:
    for index, item in enumerate(job.input_items):
        for place in _places(item):
            raise _refused(f"input[{index}].{_HOLDERS[item['type']]}[{place}]")
    if any(map(_places, job.history)):
        raise _refused("previous_response_id")


def _refused(param: str) -> ProtocolError:
    return invalid_request(
        "This model takes no images; ask another model, or leave the image out.",
        param=param,
        code="unsupported_value",
    )
