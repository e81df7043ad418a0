"""Who finds a backend's credential when a call needs it, and what is said where there is none."""

import os
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from responses_api.protocol.backend import BackendSpec
from responses_api.protocol.errors import ProtocolError, model_error

Finder: TypeAlias = Callable[[BackendSpec], Awaitable[str | None]]
"""Finds the credential of a backend; None where it needs none. Raises `ProtocolError` (`unconfigured`) where it needs
one and there is none."""


def unconfigured(reason: str) -> ProtocolError:
    """What a client reads where a credential is missing; `reason`, for the log alone, says which and why."""
    return model_error("The credentials of the model's backend are not configured.").because(reason)


def by_variable(value_of: Callable[[str], str | None]) -> Finder:
    """Finds what the variable that a backend's row names holds; `value_of` tells that."""

    async def find(backend: BackendSpec) -> str | None:
        if backend.api_key_env is None:
            return None
        key = value_of(backend.api_key_env)
        if not key:
            raise unconfigured(f"the variable {backend.api_key_env} is not set")
        return key

    return find


FROM_ENVIRONMENT: Final = by_variable(os.environ.get)
