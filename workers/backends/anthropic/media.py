"""Images and files as blocks: of a kind that the format has, by address or inline."""

import base64
import binascii
import re
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Final

from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.plain import Json
from responses_api.protocol.wording import quoted

Refuse = Callable[[str, str], ProtocolError]
"""Makes the refusal of something, by what it is and the path of the field below the part."""

_IMAGE_TYPES: Final = ("image/jpeg", "image/png", "image/gif", "image/webp")
_ALIASES: Final = {"image/jpg": "image/jpeg"}
_PDF: Final = "application/pdf"
_PDF_START: Final = "JVBERi0"  # "%PDF-" in base64
_TEXT_TYPES: Final = frozenset(
    {
        "application/json",
        "application/xml",
        "application/x-yaml",
        "application/yaml",
        "application/javascript",
    }
)
_TEXT_ENDINGS: Final = frozenset(
    {".txt", ".md", ".csv", ".tsv", ".json", ".jsonl", ".xml", ".html", ".yaml", ".yml", ".log", ".py", ".js"}
)
_DATA_URL: Final = re.compile(r"data:([^;,]*)((?:;[^;,]*)*),", re.IGNORECASE)


def image(part: Json, refuse: Refuse) -> Json:
    """An image by its address or inline. Raises what `refuse` makes for a kind that the format does not have."""
    url = part["image_url"]
    found = _DATA_URL.match(url)
    if found is None:
        return {"type": "image", "source": {"type": "url", "url": url}}
    return _inline_image(found[1], url[found.end() :], lambda what: refuse(what, ".image_url"))


def file(part: Json, refuse: Refuse) -> Json:
    """A PDF, a text or an image. Raises what `refuse` makes for any other file."""
    name = part.get("filename")
    if part.get("file_url"):
        return _titled({"type": "url", "url": part["file_url"]}, name)
    given = part["file_data"]
    found = _DATA_URL.match(given)
    data = given[found.end() :] if found else given
    kind = (found[1].lower() if found else "") or _guessed(name, data)
    if kind == _PDF:
        return _titled({"type": "base64", "media_type": _PDF, "data": data}, name)
    if kind.startswith("image/"):
        return _inline_image(kind, data, lambda what: refuse(what, ".file_data"))
    if kind.startswith("text/") or kind in _TEXT_TYPES:
        text = _decoded(data)
        if text is not None and text.strip():
            return _titled({"type": "text", "media_type": "text/plain", "data": text}, name)
        raise refuse("Text files that are empty, or not UTF-8 in base64,", ".file_data")
    raise refuse(
        f"Files of type '{quoted(kind or 'unknown')}', neither PDF nor text nor an image,", ".file_data"
    )


def _inline_image(kind: str, data: str, refuse: Callable[[str], ProtocolError]) -> Json:
    media_type = _ALIASES.get(kind.lower(), kind.lower())
    if media_type not in _IMAGE_TYPES:
        raise refuse(f"Images of type '{quoted(media_type)}'")
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def _titled(source: Json, name: str | None) -> Json:
    block: Json = {"type": "document", "source": source}
    return {**block, "title": name} if name else block


def _guessed(name: str | None, data: str) -> str:
    """The type of a file that does not tell it: by how it begins, or by its name."""
    if data.startswith(_PDF_START):
        return _PDF
    ending = PurePosixPath(name or "").suffix.lower()
    if ending == ".pdf":
        return _PDF
    return "text/plain" if ending in _TEXT_ENDINGS else ending.removeprefix(".")


def _decoded(data: str) -> str | None:
    try:
        return base64.b64decode(data, validate=True).decode()
    except (binascii.Error, ValueError):
        return None
