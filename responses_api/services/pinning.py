"""Pinning: a request for one backend of its model, whatever the route's order says.

The operator's: it shows which backends there are, and goes past the order that keeps load and costs where they should
be. So it takes a scope that no key has unless it was given by name.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from responses_api.protocol.errors import ProtocolError, invalid_request
from responses_api.services.routing import ServedModel
from tenants.keys import Principal
from tenants.models.key import CHOOSE_BACKENDS

HEADER: Final = "Antiphon-Backend"
_FIELD: Final = HEADER.lower().encode()


def pin_in(headers: Mapping[bytes, bytes], principal: Principal) -> str | None:
    """The backend that a request's headers name; None where they name none.

    Raises `ProtocolError` 403 where the key may not choose.
    """
    given = headers.get(_FIELD)
    if given is None:
        return None
    if CHOOSE_BACKENDS not in principal.scopes:
        raise invalid_request(
            f"This API key does not have the scope '{CHOOSE_BACKENDS}', which the header {HEADER} needs.",
            param=HEADER,
            code="permission_denied",
            status=403,
        )
    return given.decode("utf-8", "replace").strip()


def pinned(model: ServedModel, backend: str | None) -> ServedModel:
    """The model as it is served at this backend alone; as it is, where none was named.

    Raises `ProtocolError` 404 `backend_not_found`.
    """
    if backend is None:
        return model
    targets = model.at(backend)
    if not targets:
        raise _unknown(model.name, backend)
    return replace(model, targets=targets)


def _unknown(model: str, backend: str) -> ProtocolError:
    return invalid_request(
        f"The model '{model}' is served by no enabled backend named '{backend}'.",
        param=HEADER,
        code="backend_not_found",
        status=404,
    )
