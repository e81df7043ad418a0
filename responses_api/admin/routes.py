"""All routes by their models: where each public name is served, in the order in which its backends are asked."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html

from responses_api.models import Route
from tenants.admin.base import OperatorAdmin


@admin.register(Route)
class RouteAdmin(OperatorAdmin):
    """The list, to read; a route is changed with its backend."""

    list_display = ("model", "its_backend", "is_used", "position", "weight", "upstream", "context_window")
    list_display_links = None
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

    @admin.display(description="backend")
    def its_backend(self, route: Route) -> str:
        """The way to where it is changed."""
        page = reverse("admin:responses_api_backend_change", args=[route.backend_id])
        return format_html('<a class="underline" href="{}">{}</a>', page, route.backend)

    @admin.display(description="enabled", boolean=True)
    def is_used(self, route: Route) -> bool:
        """Whether its backend is asked at all."""
        return route.backend.is_enabled

    @admin.display(description="name there")
    def upstream(self, route: Route) -> str:
        """What the backend calls the model."""
        return route.upstream_model or route.model
