"""What every page of the admin shares: whose it is, and who may change what on it."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse

from tenants import audit
from tenants.site.scope import membership_of

if TYPE_CHECKING:
    # The theme ships no types; its admin classes are Django's with other templates.
    ModelAdmin: TypeAlias = admin.ModelAdmin[Any]
    TabularInline: TypeAlias = admin.TabularInline[Any, Any]
    ModelForm: TypeAlias = forms.ModelForm[Any]
else:
    from django.forms import ModelForm
    from unfold.admin import ModelAdmin, TabularInline

__all__ = [
    "ModelAdmin",
    "ModelForm",
    "OperatorAdmin",
    "RequestFormAdmin",
    "ScopedAdmin",
    "TabularInline",
    "is_member",
    "is_operator",
    "may_change",
    "may_look",
    "membership_of",
    "show_time",
]

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


def may_look(request: HttpRequest) -> bool:
    """Whether somebody may look at what a tenant has: the operator, and whoever belongs to the tenant."""
    return is_operator(request) or membership_of(request) is not None


def is_member(request: HttpRequest) -> bool:
    """Whether somebody works in a tenant of theirs, whatever they may do there; no operator does."""
    return membership_of(request) is not None


def may_change(request: HttpRequest) -> bool:
    """Whether somebody may change what a tenant has: the operator, its owners and its admins."""
    membership = membership_of(request)
    return is_operator(request) or (membership is not None and membership.may_change)


class ScopedAdmin(ModelAdmin):
    """An admin of rows that belong to a tenant: its people see theirs, its owners and admins change them.

    The scope that the middleware has opened says which rows there are; this says who may do what with them. Django's
    own permissions, given to users and groups, do not count.
    """

    list_per_page = 50
    operator_columns: tuple[str, ...] = ("tenant",)
    """Columns and filters that tell tenants apart: only the operator sees more than one."""
    change_form_before_template = "admin/whose_form.html"

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        """The form of one row. One that was opened in another tenant than its person works in now is not taken: a key
        or an invitation would be made where nobody meant it.
        """
        membership = membership_of(request)
        tenant = str(membership.tenant_id) if membership is not None else ""
        if tenant and request.method == "POST" and request.POST.get("tenant_of_form", tenant) != tenant:
            self.message_user(
                request,
                "Nothing was saved: the form was of another team than the one that you work in now.",
                messages.ERROR,
            )
            return redirect(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")
        context = {**(extra_context or {}), "tenant_of_form": tenant}
        return super().changeform_view(request, object_id, form_url, context)

    def get_list_display(self, request: HttpRequest) -> Any:
        """The columns, without those that only the operator needs."""
        columns = super().get_list_display(request)
        return columns if is_operator(request) else self._without(columns)

    def get_list_filter(self, request: HttpRequest) -> Any:
        """The filters, without those that only the operator needs."""
        filters = super().get_list_filter(request)
        return filters if is_operator(request) else self._without(filters)

    def _get_obj_does_not_exist_redirect(self, request: HttpRequest, opts: Any, object_id: str) -> Any:
        """The 404 page of what is not there: unknown, deleted and another tenant's look alike."""
        context = {
            **self.admin_site.each_context(request),
            "opts": opts,
            "title": f"No such {opts.verbose_name}",
            "list_url": reverse(f"admin:{opts.app_label}_{opts.model_name}_changelist"),
        }
        return TemplateResponse(request, "admin/missing.html", context, status=404)

    def _without(self, names: Any) -> tuple[Any, ...]:
        return tuple(name for name in names if name not in self.operator_columns)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Whether the app is shown at all."""
        return may_look(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether rows may be seen."""
        return may_look(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Whether rows may be made."""
        return may_change(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether rows may be changed."""
        return may_change(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether rows may be deleted."""
        return may_change(request)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """The rows. Raises `PermissionDenied`: some of Django's views look a row up before they ask for leave."""
        if not may_look(request):
            raise PermissionDenied
        return super().get_queryset(request)


class RequestFormAdmin(ScopedAdmin):
    """A `ScopedAdmin` whose form depends on who asks: its class has the request, as `request`."""

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        """The form of this request."""
        form = super().get_form(request, obj, change=change, **kwargs)
        return type(form.__name__, (form,), {"request": request})


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

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """As Django does; and into the audit log."""
        self._record(request, "made", obj, message)
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """As Django does; and into the audit log, with the names of the fields that were changed."""
        self._record(request, "changed", obj, message)
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        """As Django does; and into the audit log."""
        for obj in queryset:
            self._record(request, "deleted", obj, [])
        return super().log_deletions(request, queryset)

    def _record(self, request: HttpRequest, done: str, obj: Any, message: Any) -> None:
        action = f"{obj._meta.model_name}.{done}"
        changes = message if isinstance(message, list) else []
        audit.record(action, str(obj), tenant_id=None, user=request.user, changes=changes)
