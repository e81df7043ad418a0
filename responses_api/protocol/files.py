"""Files of the API: what may be said of one that is uploaded, and how one is told.

Source: OpenAI's files API (`POST /v1/files` and its like), whose clients read these shapes.
"""

import mimetypes
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from responses_api.protocol.errors import ProtocolError, invalid_request
from responses_api.protocol.plain import Json

UPLOAD_PATH: Final = "/v1/files"
PURPOSES: Final = ("assistants", "user_data", "vision")
VISION: Final = "vision"
"""Images for models: nothing to be searched is in them."""
LONGEST_NAME: Final = 255
SHORTEST_SECONDS: Final = 3_600
LONGEST_SECONDS: Final = 2_592_000
"""The bounds of `expires_after`, in seconds: an hour and 30 days."""

_LONGEST_MEDIA_TYPE: Final = 127
_MEDIA_TYPE: Final = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*")
_ANYTHING: Final = "application/octet-stream"
_SEPARATORS: Final = re.compile(r"[/\\]")
_JOINERS: Final = "\u200c\u200d"
"""Marks that letters and emoji are written with; every other mark that is not seen only hides what a name is."""
_EXPIRY: Final = re.compile(r"expires_after\[(anchor|seconds)\]")


@dataclass(frozen=True, slots=True)
class Described:
    """What a form says of its file: `expires_after` is in seconds after its creation, None for never."""

    purpose: str
    expires_after: int | None


def described(fields: Mapping[str, str]) -> Described:
    """What the fields of a form say of its file. Unknown ones are ignored. Raises `ProtocolError` 400."""
    purpose = fields.get("purpose")
    if not purpose:
        raise _missing("purpose")
    if purpose not in PURPOSES:
        raise invalid_request(
            f"'purpose' must be one of: {', '.join(PURPOSES)}; this server has no batches, fine-tuning or evals.",
            param="purpose",
            code="unsupported_value",
        )
    return Described(purpose, _expiry(fields))


def no_file() -> ProtocolError:
    """A form without a file."""
    return _missing("file")


def cleaned_name(given: str) -> str:
    """A file's name as it is kept: without its folders, and without what cannot be seen.

    Raises `ProtocolError` 400 where nothing is left, or more than 255 characters.
    """
    name = unicodedata.normalize("NFC", _SEPARATORS.split(given)[-1])
    name = "".join(character for character in name if _is_shown(character)).strip()
    if not name.strip("."):
        raise invalid_request("'file' needs a name, as `filename` of its Content-Disposition.", param="file")
    if len(name) > LONGEST_NAME:
        raise invalid_request(
            f"'file' has a name of {len(name)} characters; it may have {LONGEST_NAME}.", param="file"
        )
    return name


def media_type_of(given: str, name: str) -> str:
    """The media type of a file: the one that was sent with it where it says something, else what its name tells."""
    told = given.partition(";")[0].strip().lower()
    if told != _ANYTHING and len(told) <= _LONGEST_MEDIA_TYPE and _MEDIA_TYPE.fullmatch(told):
        return told
    return mimetypes.guess_type(name)[0] or _ANYTHING


def file_object(
    *,
    file_id: str,
    filename: str,
    size: int,
    purpose: str,
    status: str,
    status_details: str | None,
    created_at: int,
    expires_at: int | None,
) -> Json:
    """A file as the API tells it; `size` in bytes, times in unix seconds."""
    return {
        "id": file_id,
        "object": "file",
        "bytes": size,
        "created_at": created_at,
        "expires_at": expires_at,
        "filename": filename,
        "purpose": purpose,
        "status": status,
        "status_details": status_details,
    }


def _expiry(fields: Mapping[str, str]) -> int | None:
    given = {match[1]: value for name, value in fields.items() if (match := _EXPIRY.fullmatch(name))}
    if not given:
        return None
    if given.get("anchor") != "created_at":
        raise invalid_request(
            "'expires_after[anchor]' must be 'created_at'.",
            param="expires_after[anchor]",
            code="invalid_value",
        )
    text = given.get("seconds", "")
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(LONGEST_SECONDS))
    if not is_number or not SHORTEST_SECONDS <= int(text) <= LONGEST_SECONDS:
        raise invalid_request(
            f"'expires_after[seconds]' must be a whole number between {SHORTEST_SECONDS} and {LONGEST_SECONDS}.",
            param="expires_after[seconds]",
            code="invalid_value",
        )
    return int(text)


def _is_shown(character: str) -> bool:
    """Whether a character of a name can be seen: no control character, no mark that turns the direction of text."""
    category = unicodedata.category(character)
    return character in _JOINERS or not (category[0] == "C" or category in ("Zl", "Zp"))


def _missing(name: str) -> ProtocolError:
    return invalid_request(f"'{name}' is required.", param=name, code="missing_required_parameter")
