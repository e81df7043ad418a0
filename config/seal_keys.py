"""`ANTIPHON_SEAL_KEYS`: 32 random bytes each, in base64, separated by commas, the newest first."""

import base64
import binascii
from collections.abc import Iterable
from typing import Final

_BYTES: Final = 32

seal_key_mistakes: Final[list[str]] = []
"""One sentence for each entry that is no key. It never quotes the entry."""


def read_seal_keys(entries: Iterable[str]) -> tuple[bytes, ...]:
    """The keys; an entry that is none is left out, and told by `manage.py check`."""
    keys = []
    for place, entry in enumerate(entries, start=1):
        key = _decoded(entry.strip())
        if len(key) == _BYTES:
            keys.append(key)
        else:
            seal_key_mistakes.append(f"Entry {place} of ANTIPHON_SEAL_KEYS is not {_BYTES} bytes in base64.")
    return tuple(keys)


def _decoded(entry: str) -> bytes:
    """Base64 in either alphabet, with or without padding; b"" for what is none."""
    try:
        standard = entry.replace("-", "+").replace("_", "/").rstrip("=")
        return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except (binascii.Error, ValueError):
        return b""
