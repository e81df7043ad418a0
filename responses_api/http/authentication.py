"""Django REST framework's view of a key: `request.user` is the `Principal`."""

from typing import Any, Final

import structlog
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from responses_api.services.access import Scope, Visitor, caller
from tenants.addresses import client_address

_FORWARDED: Final = "X-Forwarded-For"


class KeyAuthentication(BaseAuthentication):
    """Bearer keys that have a scope; refuses with `ProtocolError` 401 or 403, which the exception handler renders."""

    def __init__(self, scope: Scope | None = None) -> None:
        self._scope = scope

    def authenticate(self, request: Request) -> tuple[Any, None]:
        """The principal of the request."""
        principal = caller(_visitor(request), self._scope)
        structlog.contextvars.bind_contextvars(tenant_id=str(principal.tenant_id))
        return principal, None


def _visitor(request: Request) -> Visitor:
    forwarded = request.headers.get(_FORWARDED)  # Django joins several of them, in order
    address = client_address(request.META.get("REMOTE_ADDR") or None, [forwarded] if forwarded else [])
    return Visitor(request.headers.get("Authorization", ""), address)
