"""Images, files and videos that a conversation has by reference, an address or the id of an uploaded file: where they
are, and what is said of those that cannot be used.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from responses_api.protocol.errors import ProtocolError, invalid_request
from responses_api.protocol.plain import Json

HOLDERS: Final = {"message": "content", "function_call_output": "output"}
"""The field of an item that has content parts, by the item's type."""

_ADDRESSES: Final = {"input_image": "image_url", "input_file": "file_url", "input_video": "video_url"}
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


def addresses_in(item: Json) -> list[MediaReference]:
    """Every address in an item; what is inline has none."""
    return [
        found for found in _references(item, _ADDRESSES) if found.value[: len(_INLINE)].lower() != _INLINE
    ]


def uploads_in(item: Json) -> list[MediaReference]:
    """Every uploaded file that an item names by its id."""
    return _references(item, _UPLOADS)


def _references(item: Json, fields: Mapping[str, str]) -> list[MediaReference]:
    holder = HOLDERS.get(item["type"], "")
    parts = item.get(holder)
    if not isinstance(parts, list):
        return []
    return [
        MediaReference(holder, place, part["type"], field, value)
        for place, part in enumerate(parts)
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
