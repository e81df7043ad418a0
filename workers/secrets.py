"""The backends' credentials: environment variables of the worker, named by the backend's row."""

import os
from pathlib import Path
from typing import Final

import environ
from django.conf import settings

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
