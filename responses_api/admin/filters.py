"""The filters of the list of responses. What they offer never comes from the responses: there are too many."""

import uuid
from typing import Any, Final

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from responses_api.models import Route
from responses_api.models.response import STATUSES
from tenants.models import Tenant

_MOST_CHOICES: Final = 200


class StatusFilter(admin.SimpleListFilter):
    """By how a response ended, or that a background response has not."""

    title = "status"
    parameter_name = "status__exact"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """All states."""
        return list(STATUSES)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The responses in this state."""
        return queryset.filter(status=self.value()) if self.value() else queryset


class ModelFilter(admin.SimpleListFilter):
    """By public model name: those that have a route, and the one that is chosen."""

    title = "model"
    parameter_name = "model"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """The names that are served now."""
        served = Route.objects.order_by("model").values_list("model", flat=True).distinct()
        names = {*served[:_MOST_CHOICES], self.value() or ""}
        return [(name, name) for name in sorted(names) if name]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The responses of the chosen model."""
        return queryset.filter(model=self.value()) if self.value() else queryset


class TenantFilter(admin.SimpleListFilter):
    """By tenant: the first of them by name; any other one is reached from a link that names it."""

    title = "tenant"
    parameter_name = "tenant__id__exact"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """The tenants to choose from."""
        first = Tenant.objects.order_by("name").values_list("id", "name")[:_MOST_CHOICES]
        return [(str(tenant_id), name) for tenant_id, name in first]

    def has_output(self) -> bool:
        """Always shown, so that a tenant beyond the first ones can be taken away again."""
        return True

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The responses of the chosen tenant."""
        if not self.value():
            return queryset
        try:
            return queryset.filter(tenant_id=uuid.UUID(self.value()))
        except ValueError:
            return queryset.none()
