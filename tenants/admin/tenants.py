"""Tenants: the operator makes, renames, switches them; each one's own people see theirs, and its owners change it."""

from typing import Any, ClassVar, Final

from django.contrib import admin
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode

from tenants import audit
from tenants.admin.base import ScopedAdmin, is_operator, membership_of, show_time
from tenants.keys import announce_change
from tenants.models import Tenant

_FELT_AT_ONCE: Final = frozenset({"is_active", "zero_data_retention"})
"""What every process must know of as soon as it is changed."""


def may_decide(request: HttpRequest) -> bool:
    """Whether somebody may decide about a tenant itself: the operator and its owners."""
    membership = membership_of(request)
    return is_operator(request) or (membership is not None and membership.is_owner)


class TenantAdmin(ScopedAdmin):
    """The list, for the operator; the page of one tenant. `responses_api.admin.tenants` adds what is done with data."""

    ordering = ("name",)  # the query counts keys, for which Django forgets the model's own
    list_display = ("name", "state", "retention", "zero_data_retention", "working_keys", "created")
    list_filter = ("is_active", "zero_data_retention")
    search_fields = ("name",)
    readonly_fields: ClassVar[tuple[str, ...]] = ("id", "created", "keys_of_tenant")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """The tenants, each with the number of its keys that are not revoked."""
        working = Count("keys", filter=Q(keys__revoked_at=None, keys__purpose="app"))
        tenants: QuerySet[Any] = super().get_queryset(request).annotate(working_keys=working)
        return tenants

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Only what can be chosen while there is no tenant yet; only the operator switches one on and off."""
        chosen: tuple[str, ...] = ("name", "retention_days", "zero_data_retention")
        if is_operator(request):
            chosen = ("name", "is_active", "retention_days", "zero_data_retention")
        return (*chosen, *self.readonly_fields) if obj else chosen

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """The list; whoever belongs to one tenant is shown that one."""
        membership = membership_of(request)
        if membership is None:
            return super().changelist_view(request, extra_context)
        return HttpResponseRedirect(reverse("admin:tenants_tenant_change", args=[membership.tenant_id]))

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """The operator makes tenants here; others found one where they sign up."""
        return is_operator(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether the tenant may be changed; one that is being deleted stays switched off."""
        is_ending = obj is not None and obj.deletion_asked_at is not None
        return may_decide(request) and not is_ending

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never: deleting would take every stored response along, in one transaction of unknown size."""
        return False

    def save_model(self, request: HttpRequest, obj: Tenant, form: Any, change: bool) -> None:
        """Save and write it down; what must be felt at once every process learns."""
        super().save_model(request, obj, form, change)
        changed = {name: form.cleaned_data[name] for name in form.changed_data}
        if change and not changed:
            return
        action = "tenant.changed" if change else "tenant.made"
        audit.record(action, obj.name, tenant_id=obj.id, user=request.user, **changed)
        if change and _FELT_AT_ONCE & set(changed):
            announce_change()

    @admin.display(description="working keys", ordering="working_keys")
    def working_keys(self, tenant: Any) -> int:
        """How many keys are not revoked."""
        count: int = tenant.working_keys
        return count

    @admin.display(description="state", ordering="is_active")
    def state(self, tenant: Tenant) -> str:
        """Whether its keys work."""
        if tenant.deletion_asked_at is not None:
            return "being deleted"
        return "active" if tenant.is_active else "switched off"

    @admin.display(description="kept", ordering="retention_days")
    def retention(self, tenant: Tenant) -> str:
        """How long stored responses are kept."""
        return "for ever" if tenant.retention_days is None else f"{tenant.retention_days} days"

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
