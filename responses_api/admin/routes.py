"""All routes by their models: where each public name is served, in the order in which its backends are asked."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from responses_api.models import Route
from tenants.admin.base import OperatorAdmin


class RouteList(ChangeList):
    """The list, whose rows lead to where they are changed."""

    def url_for_result(self, result: Any) -> str:
        """The page of the route's backend."""
        return reverse("admin:responses_api_backend_change", args=[result.backend_id])


@admin.register(Route)
class RouteAdmin(OperatorAdmin):
    """The list, to read; a route is changed with its backend."""

    list_display = ("model", "backend", "is_used", "position", "weight", "upstream", "context_window")
    list_filter = ("backend__is_enabled", "backend")
    search_fields = ("model", "upstream_model", "backend__name")
    ordering = ("model", "position", "id")
    sortable_by = ()
    actions = None

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Never here."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never here."""
        return False

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """Never here: a route goes with its backend, or on its page; that is all that leave to delete is for."""
        raise PermissionDenied

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """All routes with their backends."""
        return super().get_queryset(request).select_related("backend")

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """The list that leads to backends."""
        return RouteList

    @admin.display(description="enabled", boolean=True)
    def is_used(self, route: Route) -> bool:
        """Whether its backend is asked at all."""
        return route.backend.is_enabled

    @admin.display(description="name there")
    def upstream(self, route: Route) -> str:
        """What the backend calls the model."""
        return route.upstream_model or route.model
