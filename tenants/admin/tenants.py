"""Tenants: made, renamed, switched off and on."""

from typing import Any

from django.contrib import admin
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode

from tenants.admin.base import OperatorAdmin, show_time
from tenants.keys import announce_change
from tenants.models import Tenant


@admin.register(Tenant)
class TenantAdmin(OperatorAdmin):
    """A tenant is switched off here, never deleted: its data stays its own."""

    list_display = ("name", "is_active", "working_keys", "created")
    list_filter = ("is_active",)
    search_fields = ("name",)
    fields = ("name", "is_active", "id", "created", "keys_of_tenant")
    readonly_fields = ("id", "created", "keys_of_tenant")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """All tenants, each with the number of its keys that are not revoked."""
        working = Count("keys", filter=Q(keys__revoked_at=None))
        tenants: QuerySet[Any] = super().get_queryset(request).annotate(working_keys=working)
        return tenants

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Only what can be chosen while there is no tenant yet."""
        return super().get_fields(request, obj) if obj else ("name", "is_active")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never: deleting would take every stored response along, in one transaction of unknown size."""
        return False

    def save_model(self, request: HttpRequest, obj: Tenant, form: Any, change: bool) -> None:
        """Save; where the switch was moved, every process learns it at once."""
        super().save_model(request, obj, form, change)
        if change and "is_active" in form.changed_data:
            announce_change()

    @admin.display(description="working keys", ordering="working_keys")
    def working_keys(self, tenant: Any) -> int:
        """How many keys are not revoked."""
        count: int = tenant.working_keys
        return count

    @admin.display(description="created", ordering="created_at")
    def created(self, tenant: Tenant) -> str | None:
        """When the tenant was made."""
        return show_time(tenant.created_at)

    @admin.display(description="keys")
    def keys_of_tenant(self, tenant: Tenant) -> str:
        """The ways to the tenant's keys."""
        return format_html(
            '<a class="underline" href="{}?{}">All keys of this tenant</a> · '
            '<a class="underline" href="{}?{}">Issue a key</a>',
            reverse("admin:tenants_apikey_changelist"),
            urlencode({"tenant__id__exact": str(tenant.id)}),
            reverse("admin:tenants_apikey_add"),
            urlencode({"tenant": str(tenant.id)}),
        )
