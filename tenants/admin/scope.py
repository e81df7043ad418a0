"""The admin's scope: an operator sees all tenants, everybody else sees no rows."""

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponse

from tenants.scoping import operator_scope

_ADMIN: Final = "/admin/"


class OperatorScopeMiddleware:
    """Opens `operator_scope` around the admin's views for superusers, their templates included."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer, inside the scope where it applies."""
        if not request.path.startswith(_ADMIN):
            return self.get_response(request)
        user = request.user
        if not (user.is_active and user.is_superuser):
            return self.get_response(request)
        with operator_scope():
            return self.get_response(request)
