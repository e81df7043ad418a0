"""Backends and their routes. A backend's credentials are the name of an environment variable, never the key."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from responses_api.models import Backend, Route
from tenants.admin.base import OperatorAdmin, TabularInline, is_operator, show_time


class RouteInline(TabularInline):
    """The public model names that a backend serves, and what a million tokens of each cost."""

    model = Route
    fields = (
        "model",
        "upstream_model",
        "context_window",
        "input_price",
        "cached_input_price",
        "output_price",
        "position",
    )
    extra = 0
    min_num = 0

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Operators alone, as their backend."""
        return is_operator(request)

    has_change_permission = has_delete_permission = has_view_permission

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Operators alone, as their backend."""
        return is_operator(request)


@admin.register(Backend)
class BackendAdmin(OperatorAdmin):
    """Where models run. A change is used by every process within `ANTIPHON_CACHE_SECONDS`."""

    list_display = ("name", "kind", "base_url", "is_enabled", "models_served")
    list_filter = ("is_enabled",)
    search_fields = ("name", "base_url", "routes__model")
    inlines = (RouteInline,)
    readonly_fields = ("created",)
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "name",
                    "kind",
                    "base_url",
                    "api_key_env",
                    "token_counting",
                    "images",
                    "is_enabled",
                    "created",
                )
            },
        ),
        (
            "Timeouts",
            {"fields": (("connect_timeout", "first_byte_timeout"), ("idle_timeout", "total_timeout"))},
        ),
    )

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """An address without a scheme is meant as https."""
        if db_field.name == "base_url":
            kwargs["assume_scheme"] = "https"
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """All backends, their routes in one more query."""
        return super().get_queryset(request).prefetch_related("routes")

    @admin.display(description="models")
    def models_served(self, backend: Backend) -> str:
        """The public names, in the routes' order."""
        return ", ".join(route.model for route in backend.routes.all())

    @admin.display(description="created", ordering="created_at")
    def created(self, backend: Backend) -> str | None:
        """When the backend was made."""
        return show_time(backend.created_at)
