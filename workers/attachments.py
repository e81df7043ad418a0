"""Images and files for a model that takes none: refused, or an image told to it in words, as its backend's row says."""

from dataclasses import replace

from responses_api.protocol.backend import BackendSpec
from responses_api.protocol.errors import ProtocolError, invalid_request
from responses_api.protocol.job import Job
from responses_api.protocol.media import HOLDERS, parts_of
from responses_api.protocol.plain import Json

NOTE = "[An image was attached here. You cannot see images: say so where it matters.]"

_IMAGE = "input_image"
_FILE = "input_file"
_IMAGE_DATA = "data:image/"
_NAMES = {_IMAGE: "image", _FILE: "file"}


def as_taken(job: Job) -> Job:
    """The job as its backend can take it: unchanged, or with a note in the place of each image, also of a file that is
    one.

    Raises `ProtocolError` 400 naming the first image or file where the backend's row has them refused.
    """
    backend = BackendSpec.from_plain(job.backend)
    if backend.files == "refused":
        _refuse_any(job, _FILE)
    if backend.images == "sent":
        return job
    if backend.images == "refused":
        _refuse_any(job, _IMAGE)
        return job
    return replace(job, history=_noted(job.history), input_items=_noted(job.input_items))


def _noted(items: list[Json]) -> list[Json]:
    return [_with_notes(item) if _places(item, _IMAGE) else item for item in items]


def _with_notes(item: Json) -> Json:
    holder = HOLDERS[item["type"]]
    note = {"type": "input_text", "text": NOTE}
    return {**item, holder: [note if _is(_IMAGE, part) else part for part in item[holder]]}


def _places(item: Json, kind: str) -> list[int]:
    """Where the item has images, or files."""
    return [index for index, part in enumerate(parts_of(item)) if _is(kind, part)]


def _is(kind: str, part: Json) -> bool:
    if part["type"] == kind:
        return True
    data = part.get("file_data") if part["type"] == _FILE else None
    return kind == _IMAGE and data is not None and data[: len(_IMAGE_DATA)].lower() == _IMAGE_DATA


def _refuse_any(job: Job, kind: str) -> None:
    for index, item in enumerate(job.input_items):
        for place in _places(item, kind):
            raise _refused(kind, f"input[{index}].{HOLDERS[item['type']]}[{place}]")
    if any(_places(item, kind) for item in job.history):
        raise _refused(kind, "previous_response_id")


def _refused(kind: str, param: str) -> ProtocolError:
    name = _NAMES[kind]
    return invalid_request(
        f"This model takes no {name}s; ask another model, or leave the {name} out.",
        param=param,
        code="unsupported_value",
    )
