"""The backends' credentials: environment variables of the worker, named by the backend's row, or stored with the row.

A stored key is read when a call needs it and kept for `ANTIPHON_CACHE_SECONDS`; one that is changed counts within that
time.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import environ
from django.conf import settings

from responses_api.protocol.backend import BackendSpec
from responses_api.protocol.errors import ProtocolError
from responses_api.services.backend_keys import KeyLost, key_of
from responses_api.services.database import in_database
from workers.backends.credentials import by_variable, unconfigured


@dataclass(frozen=True, slots=True)
class _Stored:
    """A stored key as it was found, or why there was none. Without a text form that could end up in a log."""

    read_at: float
    key: str
    missing: str = ""

    def __repr__(self) -> str:
        return "a stored key"


_stored: Final[dict[tuple[str, str], _Stored]] = {}
_read: Final[dict[Path, tuple[int, dict[str, str]]]] = {}


class _Reader(environ.Env):  # type: ignore[misc]  # the package ships no types
    """Reads a file without writing what it holds into the process's environment."""


def secret(name: str) -> str | None:
    """The value of the variable `name`: of the environment the process was given, else of `.env` as it is now.

    A key that was added to the file or corrected in it counts from the next call on.
    """
    if name in os.environ and name not in settings.ENV_FILE_NAMES:
        return os.environ[name] or None
    for file in settings.ENV_FILES_IN_USE:
        value = _variables(file).get(name)
        if value:
            return value
    return None


_by_variable: Final = by_variable(secret)


async def find_credential(backend: BackendSpec) -> str | None:
    """The credential of a backend; None where it needs none. Raises `ProtocolError` where it cannot be found."""
    if not backend.has_stored_key:
        return await _by_variable(backend)
    place = (backend.name, backend.base_url)
    known = _stored.get(place)
    if known is None or time.monotonic() - known.read_at > settings.CACHE_SECONDS:
        known = _stored[place] = await _stored_key(place, known)
    if known.missing:
        raise unconfigured(known.missing)
    return known.key


async def _stored_key(place: tuple[str, str], before: _Stored | None) -> _Stored:
    """The key as the row has it now; the one before while the database does not answer."""
    now = time.monotonic()
    try:
        return _Stored(now, await in_database(key_of, *place))
    except KeyLost as error:
        return _Stored(now, "", str(error))
    except ProtocolError:  # the log has it
        if before is None:
            raise
        return _Stored(now, before.key, before.missing)


def _variables(file: Path) -> dict[str, str]:
    """What the file holds, read anew when it has changed."""
    try:
        changed = file.stat().st_mtime_ns
    except OSError:
        return {}
    known = _read.get(file)
    if known is None or known[0] != changed:
        _Reader.ENVIRON = {}
        _Reader.read_env(file)
        known = _read[file] = (changed, dict(_Reader.ENVIRON))
    return known[1]
