"""Images, files and videos that a conversation has by address: where they are, and what is said of those that cannot be
used.
"""

from dataclasses import dataclass
from typing import Final

from responses_api.protocol.errors import ProtocolError, invalid_request
from responses_api.protocol.plain import Json

HOLDERS: Final = {"message": "content", "function_call_output": "output"}
"""The field of an item that has content parts, by the item's type."""

_FIELDS: Final = {"input_image": "image_url", "input_file": "file_url", "input_video": "video_url"}
_INLINE: Final = "data:"
HISTORY: Final = "previous_response_id"


@dataclass(frozen=True, slots=True)
class MediaAddress:
    """The address of something in an item: of the part at `place` in its field `holder`."""

    holder: str
    place: int
    part_type: str
    url: str

    @property
    def field(self) -> str:
        """The field of the part that has the address."""
        return _FIELDS[self.part_type]

    def param(self, index: int) -> str:
        """The path of the field, in the item that stands at `index` of the request's input."""
        return f"input[{index}].{self.holder}[{self.place}].{self.field}"


def addresses_in(item: Json) -> list[MediaAddress]:
    """Every address in an item; what is inline has none."""
    holder = HOLDERS.get(item["type"], "")
    parts = item.get(holder)
    if not isinstance(parts, list):
        return []
    return [
        MediaAddress(holder, place, part["type"], url)
        for place, part in enumerate(parts)
        if (field := _FIELDS.get(part["type"])) is not None
        and isinstance(url := part.get(field), str)
        and url[: len(_INLINE)].lower() != _INLINE
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
    where = f"an item of '{param}'" if param == HISTORY else f"'{param}'"
    return invalid_request(f"The address in {where} {why}.", param=param, code="url_not_fetched")
