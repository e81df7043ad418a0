"""Images, files and videos as Gemini takes them: their bytes with their type, or the address they are at.

The API fetches public addresses itself, `http(s)` and its own. The type of what is at one is told where its name shows
it; of bytes it has to be known, or there is nothing that could be done with them.
"""

import re
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from responses_api.protocol.plain import Json

Refuse = Callable[[str], Exception]
"""Makes the 400 for something that cannot be sent, from its name in the plural."""

_DATA_URL = re.compile(r"data:(?P<type>[^;,]*)(?:;[^,]*)?;base64,(?P<data>.*)", re.IGNORECASE | re.DOTALL)
_TYPES: Final = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "webp": "image/webp",
    "gif": "image/gif",
    "bmp": "image/bmp",
    "heic": "image/heic",
    "heif": "image/heif",
    "pdf": "application/pdf",
    "json": "application/json",
    "txt": "text/plain",
    "md": "text/md",
    "csv": "text/csv",
    "html": "text/html",
    "htm": "text/html",
    "css": "text/css",
    "xml": "text/xml",
    "rtf": "text/rtf",
    "js": "text/javascript",
    "ts": "text/plain",
    "py": "text/x-python",
    "wav": "audio/wav",
    "mp3": "audio/mp3",
    "aiff": "audio/aiff",
    "aac": "audio/aac",
    "ogg": "audio/ogg",
    "flac": "audio/flac",
    "mp4": "video/mp4",
    "mpeg": "video/mpeg",
    "mpg": "video/mpg",
    "mov": "video/mov",
    "avi": "video/avi",
    "flv": "video/x-flv",
    "webm": "video/webm",
    "wmv": "video/wmv",
    "3gp": "video/3gpp",
}
"""The type of each file that Gemini reads, by the end of its name, under the name that its reference has for it."""


def media_part(part: Json, refuse: Refuse) -> Json:
    """The `inlineData` or `fileData` of an `input_image`, `input_file` or `input_video`.

    Raises what `refuse` makes: for bytes of an unknown type, and for an address that is none.
    """
    if part["type"] == "input_image":
        return _at_url(part["image_url"], refuse)
    if part["type"] == "input_video":
        return _at_url(part["video_url"], refuse)
    if part.get("file_url"):
        return _at_url(part["file_url"], refuse)
    return _file(part, refuse)


def _file(part: Json, refuse: Refuse) -> Json:
    found = _DATA_URL.match(part["file_data"])
    name = part.get("filename") or ""
    kind = (found["type"].lower() if found else "") or _type_of(name)
    if kind is None:
        raise refuse(
            "Files of an unknown type (neither a data URL, which has one, nor a 'filename' that ends in one of "
            + ", ".join(f"'.{ending}'" for ending in _TYPES)
            + ")"
        )
    return {"inlineData": {"mimeType": kind, "data": found["data"] if found else part["file_data"]}}


def _at_url(url: str, refuse: Refuse) -> Json:
    found = _DATA_URL.match(url)
    if found and found["type"]:
        return {"inlineData": {"mimeType": found["type"].lower(), "data": found["data"]}}
    scheme, path = _split(url)
    if scheme not in ("http", "https"):
        raise refuse("Addresses other than http(s) URLs, and data URLs with a type and in base64,")
    kind = _type_of(path)
    return {"fileData": {"fileUri": url, **({"mimeType": kind} if kind else {})}}


def _split(url: str) -> tuple[str, str]:
    """The scheme and the path of an address; "" twice for what is none."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "", ""
    return parts.scheme.lower(), parts.path


def _type_of(name: str) -> str | None:
    return _TYPES.get(name.rpartition(".")[2].lower()) if "." in name else None
