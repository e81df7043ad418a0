"""The backends' credentials: environment variables of the worker, named by the backend's row."""

import os

import environ
from django.conf import settings


def secret(name: str) -> str | None:
    """The value of the variable `name`; one that was added to `.env` after the start is found as well.

    The file is read only while a variable that a backend names is missing: then every call fails until it is there.
    """
    value = os.environ.get(name)
    if value is None:
        for file in settings.ENV_FILES_IN_USE:
            if file.is_file():
                environ.Env.read_env(file)
        value = os.environ.get(name)
    return value or None
