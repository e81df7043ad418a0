"""Django REST framework's view of a key: `request.user` is the `Principal`."""

from typing import Any

import structlog
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from responses_api.services.access import caller


class KeyAuthentication(BaseAuthentication):
    """Bearer keys; refuses with `ProtocolError` 401, which the exception handler renders."""

    def authenticate(self, request: Request) -> tuple[Any, None]:
        """The principal of the request."""
        principal = caller(request.headers.get("Authorization", ""))
        structlog.contextvars.bind_contextvars(tenant_id=str(principal.tenant_id))
        return principal, None
