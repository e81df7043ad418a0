"""Content put in the place of what refers to it: what every kind of backend takes, whatever a conversation keeps."""

import base64
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePosixPath
from typing import Final, Generic, TypeVar

from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.job import Job
from responses_api.protocol.media import ADDRESSES, MediaReference, References, each_reference
from responses_api.protocol.plain import Json
from workers.media_types import ENDINGS, TEXT, type_of

Found = TypeVar("Found")

MUCH_BYTES: Final = 1 << 20
"""What is more than this is put in its place beside the event loop."""

_TAKEN: Final = {
    "input_image": ("no image of a known type (PNG, JPEG, GIF, WebP)", ("image/",)),
    "input_file": ("neither a PDF nor text nor an image", ("application/pdf", "image/", TEXT)),
    "input_video": ("no video of a known type (MP4, QuickTime, WebM)", ("video/",)),
}

Refuse = Callable[[str, str], ProtocolError]
"""Makes the error about a field whose content cannot be used, from the field's path and the reason."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a reference leads to; `name` is what a file of it is called where the conversation does not say."""

    data: bytes
    name: str


class Kept(Generic[Found]):
    """What references of a response led to, by their values: kept by the task that the response runs in, so that it is
    read once, however many targets are asked and however many rounds it takes. It ends with the task.
    """

    def __init__(self, name: str) -> None:
        self._kept: ContextVar[tuple[str, dict[str, Found]]] = ContextVar(name)

    def of(self, job: Job) -> dict[str, Found]:
        """What was found for the job's response so far; what is put in stays."""
        owner, found = self._kept.get(("", {}))
        if owner != job.response_id:
            found = {}
            self._kept.set((job.response_id, found))
        return found


def wanted(job: Job, references: References) -> dict[str, str]:
    """What is referred to, each once, and the path of the first field that does."""
    found: dict[str, str] = {}
    for items, are_new in ((job.input_items, True), (job.history, False)):
        for reference, param in each_reference(items, references, are_new=are_new):
            found.setdefault(reference.value, param)
    return found


def inlined(job: Job, references: References, found: Mapping[str, Content], refuse: Refuse) -> Job:
    """The job with everything that is referred to in its place.

    Raises what `refuse` makes, of the first that no model takes where it stands.
    """

    def with_content(items: list[Json], *, are_new: bool) -> Iterator[Json]:
        for index, item in enumerate(items):
            for reference in references(item):
                param = reference.param(index if are_new else None)
                item = _with(item, reference, found[reference.value], partial(refuse, param))
            yield item

    return replace(
        job,
        input_items=list(with_content(job.input_items, are_new=True)),
        history=list(with_content(job.history, are_new=False)),
    )


def _with(
    item: Json, reference: MediaReference, content: Content, refuse: Callable[[str], ProtocolError]
) -> Json:
    parts = list(item[reference.holder])
    parts[reference.place] = _inline(parts[reference.place], reference, content, refuse)
    return {**item, reference.holder: parts}


def _inline(
    part: Json, reference: MediaReference, content: Content, refuse: Callable[[str], ProtocolError]
) -> Json:
    media_type = type_of(content.data)
    lacking, taken = _TAKEN[reference.part_type]
    if media_type is None or not media_type.startswith(taken):
        raise refuse(f"holds {lacking}")
    data = f"data:{media_type};base64,{base64.b64encode(content.data).decode()}"
    kept = {field: value for field, value in part.items() if field != reference.field}
    if reference.part_type != "input_file":
        return {**kept, ADDRESSES[reference.part_type]: data}
    return {**kept, "filename": part.get("filename") or _named(content.name, media_type), "file_data": data}


def _named(name: str, media_type: str) -> str:
    """A name with an ending: some backends tell types by it."""
    return name if PurePosixPath(name).suffix else f"{name or 'file'}.{ENDINGS[media_type]}"
