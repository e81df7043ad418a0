"""Backends and their routes. A backend's key goes in by its form, and no page shows it."""

from typing import Any, Final

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest

from responses_api.admin.backend_form import BackendForm
from responses_api.models import Backend, Route
from responses_api.services import backend_keys
from responses_api.services.health import breakers_now
from tenants.admin.base import OperatorAdmin, TabularInline, is_operator, show_time


class RouteInline(TabularInline):
    """The public model names that a backend serves, and what a million tokens of each cost."""

    model = Route
    fields = (
        "model",
        "upstream_model",
        "position",
        "weight",
        "context_window",
        "input_price",
        "cached_input_price",
        "output_price",
    )
    extra = 0
    min_num = 0

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Names are long, and are read beside many figures."""
        field: Any = super().formfield_for_dbfield(db_field, request, **kwargs)
        if db_field.name in ("model", "upstream_model"):
            field.widget.attrs["style"] = "min-width: 12rem"
        return field

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Operators alone, as their backend."""
        return is_operator(request)

    has_change_permission = has_delete_permission = has_view_permission

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Operators alone, as their backend."""
        return is_operator(request)


class BackendList(ChangeList):
    """The list, with the state of each backend's breaker as `breaker_now`."""

    def get_results(self, request: HttpRequest) -> None:
        """Read the page."""
        super().get_results(request)
        rows: Any = self.result_list
        states = breakers_now([row.name for row in rows]) or {}
        for row in rows:
            row.breaker_now = states.get(row.name)


_FIELDSETS: Final[Any] = (
    (None, {"fields": ("name", "kind", "base_url", "is_enabled", "created")}),
    (
        "Credentials",
        {
            "fields": ("api_key_env", "api_key", "stored_key", "remove_key"),
            "description": "The name of a variable of the workers, or the key itself. Without either, no key is sent.",
        },
    ),
    (
        "What its models can do",
        {
            "fields": (
                "images",
                "files",
                "media_urls",
                "structured_output",
                "tools",
                "reasoning",
                "thinking_tags",
                "token_counting",
            )
        },
    ),
    (
        "What it has of its own",
        {
            "fields": ("native_features", "passthrough_tool_types"),
            "description": "For a backend that speaks Responses.",
        },
    ),
    ("What every request asks of it", {"fields": ("default_options",)}),
    ("What requests may ask of it", {"fields": ("allowed_options",)}),
    (
        "Timeouts",
        {"fields": (("connect_timeout", "first_byte_timeout"), ("idle_timeout", "total_timeout"))},
    ),
)


@admin.register(Backend)
class BackendAdmin(OperatorAdmin):
    """Where models run. A change is used by every process within `ANTIPHON_CACHE_SECONDS`."""

    list_display = ("name", "kind", "base_url", "is_enabled", "breaker", "models_served")
    list_filter = ("is_enabled",)
    search_fields = ("name", "base_url", "routes__model")
    inlines = (RouteInline,)
    readonly_fields = ("created", "stored_key")
    form = BackendForm
    fieldsets = _FIELDSETS

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """An address without a scheme is meant as https."""
        if db_field.name == "base_url":
            kwargs["assume_scheme"] = "https"
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """All backends, their routes in one more query."""
        return super().get_queryset(request).prefetch_related("routes")

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save the row, and the key that it was given: a key is sealed to a row that is there."""
        super().save_model(request, obj, form, change)
        if form.cleaned_data["api_key"]:
            backend_keys.store(obj, form.cleaned_data["api_key"])

    @admin.display(description="stored key")
    def stored_key(self, backend: Backend) -> str:
        """Whether there is one, and whether it can be used; as saved, not as a refused form would have it."""
        saved = Backend.objects.filter(pk=backend.pk).first()
        if saved is None or not saved.sealed_key:
            return "none"
        if backend_keys.opens(saved):
            return "stored, encrypted"
        return "lost: ANTIPHON_SEAL_KEYS has no key that opens it. Enter it again."

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """The list that knows the breakers."""
        return BackendList

    @admin.display(description="breaker", empty_value="–")
    def breaker(self, backend: Any) -> str | None:
        """How the workers' breaker stands now; nothing where Valkey does not tell."""
        return None if backend.breaker_now is None else str(backend.breaker_now)

    @admin.display(description="models")
    def models_served(self, backend: Backend) -> str:
        """The public names, in the routes' order."""
        return ", ".join(route.model for route in backend.routes.all())

    @admin.display(description="created", ordering="created_at")
    def created(self, backend: Backend) -> str | None:
        """When the backend was made."""
        return show_time(backend.created_at)
