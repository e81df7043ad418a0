"""What every page of the admin shares: it is the operator's alone, and says who that is."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest

if TYPE_CHECKING:
    # The theme ships no types; its admin classes are Django's with other templates.
    ModelAdmin: TypeAlias = admin.ModelAdmin[Any]
    TabularInline: TypeAlias = admin.TabularInline[Any, Any]
else:
    from unfold.admin import ModelAdmin, TabularInline

__all__ = ["ModelAdmin", "OperatorAdmin", "TabularInline", "is_operator", "show_time"]

TIME_FORMAT: Final = "%Y-%m-%d %H:%M:%S UTC"


def is_operator(request: HttpRequest) -> bool:
    """Whether the request comes from an operator: an active superuser. Nobody else has the operator's scope."""
    return bool(request.user.is_active and request.user.is_superuser)


def show_time(moment: datetime | int | None) -> str | None:
    """A time of the database, or unix seconds, as every page writes it: to the second, in UTC."""
    if moment is None:
        return None
    if isinstance(moment, int):
        moment = datetime.fromtimestamp(moment, UTC)
    return moment.astimezone(UTC).strftime(TIME_FORMAT)


class OperatorAdmin(ModelAdmin):
    """An admin that only operators have.

    Permissions that were given to other staff do not count here: they would meet tenant tables without a scope.
    """

    list_per_page = 50

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Whether the app is shown at all."""
        return is_operator(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether rows may be seen."""
        return is_operator(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Whether rows may be made."""
        return is_operator(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether rows may be changed."""
        return is_operator(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether rows may be deleted."""
        return is_operator(request)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """The rows. Raises `PermissionDenied`: some of Django's views look a row up before they ask for leave."""
        if not is_operator(request):
            raise PermissionDenied
        return super().get_queryset(request)
