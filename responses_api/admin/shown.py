"""Stored JSON as a person reads it: indented, cut where it is endless, and with no address that a browser would load.

Pure: plain data in, text out; the templates escape it.
"""

import json
import re
from typing import Any, Final

TEXT_LIMIT: Final = 100_000
"""Characters of one text that a page shows."""

_DATA_LIMIT: Final = 200
_DEPTH_LIMIT: Final = 60
_SEALED: Final = frozenset({"encrypted_content", "file_data"})
_WEB: Final = re.compile(r"https?://[^\s/]", re.IGNORECASE)
_PICTURE: Final = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+", re.IGNORECASE)
_PICTURE_LIMIT: Final = 4 * 1024 * 1024


def pretty(value: Any) -> str:
    """`value` as indented JSON, long data shortened."""
    return json.dumps(_shortened(value, _DEPTH_LIMIT), indent=2, ensure_ascii=False)


def pretty_text(text: str) -> str | None:
    """JSON text indented; None where it is not JSON of an object or a list."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return pretty(value) if isinstance(value, dict | list) else None


def cut(text: str, limit: int = TEXT_LIMIT) -> str:
    """The text, up to `limit` characters, with what was left out counted."""
    left_out = len(text) - limit
    return text if left_out <= 0 else f"{text[:limit]}… {left_out:,} more characters"


def web_link(url: Any) -> str:
    """`url` where it may stand in a link, else nothing: no `javascript:`, no `data:`."""
    return url if isinstance(url, str) and _WEB.match(url) else ""


def picture(url: Any) -> str:
    """`url` where an `<img>` may have it: a raster image inside a data URL. Anything else would be fetched or run."""
    fits = isinstance(url, str) and len(url) <= _PICTURE_LIMIT
    return url if fits and _PICTURE.fullmatch(url) else ""


def _shortened(value: Any, depth: int, key: str = "") -> Any:
    if isinstance(value, str):
        is_data = key in _SEALED or value[:5].lower() == "data:"
        return cut(value, _DATA_LIMIT if is_data else TEXT_LIMIT)
    if not isinstance(value, dict | list):
        return value
    if depth == 0:
        return "… nested too deeply to be shown"
    if isinstance(value, dict):
        return {name: _shortened(entry, depth - 1, name) for name, entry in value.items()}
    return [_shortened(entry, depth - 1) for entry in value]
