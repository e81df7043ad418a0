"""The one admin site: operators and the people of tenants come in, each to what is theirs."""

from typing import TYPE_CHECKING, Any, TypeAlias

from django.contrib.admin import AdminSite
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse

from tenants.site.scope import all_memberships_of, membership_of

if TYPE_CHECKING:
    _Site: TypeAlias = AdminSite
else:
    from unfold.sites import UnfoldAdminSite as _Site


class AntiphonSite(_Site):
    """The theme's site; not `is_staff` decides who may come in but what a person has to look at."""

    def has_permission(self, request: HttpRequest) -> bool:
        """Whether somebody is an operator or belongs to a tenant that is switched on."""
        user = request.user
        return bool(user.is_active and (user.is_superuser or membership_of(request) is not None))

    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """There is one page to sign in at. Who is signed in and has nothing to look at comes to their account."""
        if request.user.is_authenticated and not self.has_permission(request):
            return redirect("accounts:home")
        target = request.GET.get("next") or reverse("admin:index", current_app=self.name)
        return redirect_to_login(target, reverse("account_login"))

    def password_change(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """A password is changed at one page, too."""
        return redirect("account_change_password")

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """What every page shows: in the header, where a person works and how to work elsewhere."""
        context: dict[str, Any] = super().each_context(request)
        if request.user.is_authenticated:
            teams = {"memberships": all_memberships_of(request), "current": membership_of(request)}
            context["antiphon_teams"] = render_to_string("admin/teams.html", teams, request=request)
        return context
