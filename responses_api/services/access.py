"""From an `Authorization` header to a principal, for every transport."""

from responses_api.protocol.errors import ProtocolError, invalid_request
from responses_api.services.database import in_database
from tenants.keys import Principal, cached_principal, find_principal

_SCHEME = "bearer "


def caller(authorization: str) -> Principal:
    """The principal of a request. Raises `ProtocolError` 401 `invalid_api_key`."""
    return _required(find_principal(bearer_key(authorization)))


async def authenticate(authorization: str) -> Principal:
    """As `caller`, for the event loop: a key that the cache knows costs no change of threads."""
    known, principal = cached_principal(bearer_key(authorization))
    return _required(principal) if known else await in_database(caller, authorization)


def bearer_key(authorization: str) -> str:
    """The key's text in an `Authorization` header. Raises `ProtocolError` 401 where there is none."""
    if authorization[: len(_SCHEME)].lower() != _SCHEME:
        raise _refused("No API key was given; send the header 'Authorization: Bearer <key>'.")
    return authorization[len(_SCHEME) :].strip()


def _required(principal: Principal | None) -> Principal:
    if principal is None:
        raise _refused("The API key is not valid: it is unknown or was revoked.")
    return principal


def _refused(message: str) -> ProtocolError:
    return invalid_request(message, code="invalid_api_key", status=401)
