"""The admin's scope: an operator sees all tenants, a member the tenant they work in, everybody else no rows.

The scope is one transaction around the view: what a view did before it failed is undone, and nobody is told of it.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

from django.db import connection
from django.http import HttpRequest, HttpResponse

from tenants.members import current_of, memberships_of
from tenants.models import Membership
from tenants.scoping import operator_scope, tenant_scope
from tenants.site.pages import is_page_of_the_admin

CURRENT_TENANT: Final = "antiphon_tenant"
"""Where a session keeps the id of the tenant that its person works in."""
_HAS_FAILED: Final = "_antiphon_view_has_failed"


class _Failed(Exception):
    """A view has failed, and its answer is made: leaves the scope by the way that undoes."""

    def __init__(self, answer: HttpResponse) -> None:
        super().__init__()
        self.answer = answer


class AdminScopeMiddleware:
    """Opens the scope of who asks around the admin's views, their templates included.

    `request.membership` is the membership that a person works in, None for the operator and for strangers.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer, inside the scope where there is one."""
        if not is_page_of_the_admin(request.path):
            return self.get_response(request)
        mine = _memberships(request)
        membership = current_of(mine, request.session.get(CURRENT_TENANT)) if mine else None
        request.memberships, request.membership = mine, membership  # type: ignore[attr-defined]
        try:
            with _scope(request, membership):
                answer = self.get_response(request)
                if getattr(request, _HAS_FAILED, False) and connection.in_atomic_block:
                    raise _Failed(answer)
                return answer
        except _Failed as failed:
            return failed.answer

    def process_exception(self, request: HttpRequest, exception: Exception) -> None:
        """Note that the view has failed; its answer is made inside of the scope still."""
        setattr(request, _HAS_FAILED, True)


def membership_of(request: HttpRequest) -> Membership | None:
    """The membership that the person who asks works in; None for the operator and for strangers."""
    found: Any = getattr(request, "membership", None)
    return found if isinstance(found, Membership) else None


def all_memberships_of(request: HttpRequest) -> list[Membership]:
    """Every membership of the person who asks, as the request began; none of the operator's and of strangers."""
    return list(getattr(request, "memberships", ()))


def _memberships(request: HttpRequest) -> list[Membership]:
    user = request.user
    if not user.is_authenticated or not user.is_active or user.is_superuser:
        return []
    return memberships_of(user)


def _scope(request: HttpRequest, membership: Membership | None) -> AbstractContextManager[None]:
    user = request.user
    if user.is_active and user.is_superuser:
        return operator_scope()
    return tenant_scope(membership.tenant_id) if membership is not None else nullcontext()
