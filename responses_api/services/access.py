"""From an `Authorization` header and an address to a principal who may do what it asks for, in every transport.

Everything that a key's rules say of calls is decided here; which models it may ask, `routing` decides by the same key.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal

from responses_api.protocol.errors import ProtocolError, invalid_request
from responses_api.services.database import in_database
from tenants.addresses import client_address, is_within
from tenants.keys import Principal, cached_principal, find_principal
from tenants.last_use import note_use

Scope = Literal["responses:write", "responses:read", "models:read", "usage:read", "files:write", "files:read"]

_SCHEME: Final = "bearer "
_FORWARDED: Final = b"x-forwarded-for"


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who knocks: the `Authorization` header, and the client's address where it is known."""

    authorization: str
    address: str | None

    @classmethod
    def of_asgi(cls, scope: Any, authorization: str | None = None) -> "Visitor":
        """The client of an ASGI connection; `authorization` where it is told elsewhere than in its header."""
        headers: Iterable[tuple[bytes, bytes]] = scope["headers"]
        if authorization is None:
            given = dict(headers).get(b"authorization", b"")
            authorization = given.decode("latin-1")
        forwarded = [value.decode("latin-1") for name, value in headers if name == _FORWARDED]
        peer = scope.get("client")
        return cls(authorization, client_address(peer[0] if peer else None, forwarded))


def caller(visitor: Visitor, scope: Scope | None) -> Principal:
    """The principal of a request for a call that needs `scope` (None: any key will do).

    Raises `ProtocolError`: 401 `invalid_api_key` for a key that is none, or no longer; 403 `permission_denied` for one
    that may not be used from there, or not for this.
    """
    return _admitted(find_principal(bearer_key(visitor.authorization)), visitor, scope)


async def authenticate(visitor: Visitor, scope: Scope | None) -> Principal:
    """As `caller`, for the event loop: a key that the cache knows costs no change of threads."""
    known, principal = cached_principal(bearer_key(visitor.authorization))
    return _admitted(principal, visitor, scope) if known else await in_database(caller, visitor, scope)


def bearer_key(authorization: str) -> str:
    """The key's text in an `Authorization` header. Raises `ProtocolError` 401 where there is none."""
    if authorization[: len(_SCHEME)].lower() != _SCHEME:
        raise _refused("No API key was given; send the header 'Authorization: Bearer <key>'.")
    return authorization[len(_SCHEME) :].strip()


def _admitted(principal: Principal | None, visitor: Visitor, scope: Scope | None) -> Principal:
    if principal is None:
        raise _refused("The API key is not valid: it is unknown or was revoked.")
    if principal.expires_at is not None and principal.expires_at <= time.time():
        moment = datetime.fromtimestamp(principal.expires_at, UTC)
        raise _refused(f"The API key expired on {moment:%Y-%m-%d at %H:%M:%S UTC}.")
    if principal.allowed_addresses and not is_within(visitor.address, principal.allowed_addresses):
        where = f"the address {visitor.address}" if visitor.address else "an address that is not known"
        raise _forbidden(f"This API key may not be used from {where}.")
    if scope is not None and scope not in principal.scopes:
        raise _forbidden(f"This API key does not have the scope '{scope}', which this call needs.")
    note_use(principal.key_id)
    return principal


def _refused(message: str) -> ProtocolError:
    return invalid_request(message, code="invalid_api_key", status=401)


def _forbidden(message: str) -> ProtocolError:
    return invalid_request(message, code="permission_denied", status=403)
