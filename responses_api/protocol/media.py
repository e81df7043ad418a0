"""Images, files and videos that a conversation has by reference, an address or the id of an uploaded file: where they
are, and what is said of those that cannot be used.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from responses_api.protocol.errors import ProtocolError, invalid_request
from responses_api.protocol.plain import Json

HOLDERS: Final = {"message": "content", "function_call_output": "output"}
"""The field of an item that has content parts, by the item's type."""

ADDRESSES: Final = {"input_image": "image_url", "input_file": "file_url", "input_video": "video_url"}
"""The field of a part that has its address, by the part's type; an image, or a video, may also be in it whole."""
_UPLOADS: Final = {"input_image": "file_id", "input_file": "file_id"}
_INLINE: Final = "data:"
HISTORY: Final = "previous_response_id"


@dataclass(frozen=True, slots=True)
class MediaReference:
    """A part of an item that has its content elsewhere: the part at `place` in the item's field `holder` says where, in
    its own `field`.
    """

    holder: str
    place: int
    part_type: str
    field: str
    value: str

    def param(self, index: int | None) -> str:
        """The path of the field, in the item that stands at `index` of the request's input, or in its history."""
        return HISTORY if index is None else f"input[{index}].{self.holder}[{self.place}].{self.field}"


References = Callable[[Json], list[MediaReference]]
"""Finds the references of one sort in an item."""


def addresses_in(item: Json) -> list[MediaReference]:
    """Every address in an item; what is inline has none."""
    return [found for found in _references(item, ADDRESSES) if found.value[: len(_INLINE)].lower() != _INLINE]


def uploads_in(item: Json) -> list[MediaReference]:
    """Every uploaded file that an item names by its id."""
    return _references(item, _UPLOADS)


def each_reference(
    items: Sequence[Json], references: References, *, are_new: bool
) -> Iterator[tuple[MediaReference, str]]:
    """Every reference of one sort in the request's input (`are_new`) or in its history, with the path of its field."""
    for index, item in enumerate(items):
        for reference in references(item):
            yield reference, reference.param(index if are_new else None)


def parts_of(item: Json) -> list[Json]:
    """The content parts of an item; none where it has text alone, or is of a type that has none."""
    parts = item.get(HOLDERS.get(item["type"], ""))
    return parts if isinstance(parts, list) else []


def _references(item: Json, fields: Mapping[str, str]) -> list[MediaReference]:
    return [
        MediaReference(HOLDERS[item["type"]], place, part["type"], field, value)
        for place, part in enumerate(parts_of(item))
        if (field := fields.get(part["type"])) is not None and isinstance(value := part.get(field), str)
    ]


def no_addresses(param: str) -> ProtocolError:
    """400 for a model that takes images and files inline only."""
    return invalid_request(
        "This model takes no images, files and videos by their address; send the content itself, inline.",
        param=param,
        code="unsupported_value",
    )


def not_fetched(param: str, why: str) -> ProtocolError:
    """400 for an address that gave nothing that could be used; `why` completes "the address …"."""
    return invalid_request(f"The address in {_where(param)} {why}.", param=param, code="url_not_fetched")


def not_usable(param: str, why: str) -> ProtocolError:
    """400 for an uploaded file that a model cannot be given; `why` completes "the file in …"."""
    return invalid_request(f"The file in {_where(param)} {why}.", param=param, code="file_not_usable")


def _where(param: str) -> str:
    return f"an item of '{param}'" if param == HISTORY else f"'{param}'"
