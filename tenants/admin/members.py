"""Members: who belongs to a team and as what. What may be done to whom is decided in `tenants.members`."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from tenants import members
from tenants.admin.base import ModelForm, membership_of, show_time
from tenants.admin.role_form import RoleAdmin
from tenants.audit import name_of
from tenants.members import NotAllowed, roles_to_give
from tenants.models import Membership


class RoleForm(ModelForm):
    """A member's role; the choices are those that the one who asks may give."""

    request: HttpRequest
    """Set by `RequestFormAdmin.get_form`."""

    class Meta:
        model = Membership
        fields = ("role",)

    def clean(self) -> Any:
        """Change the role, under the team's lock, which lasts as long as the request's transaction."""
        cleaned = super().clean()
        role = self.cleaned_data.get("role")
        if role is not None:
            try:
                mine = self.instance
                members.change_role(mine.tenant_id, mine.pk, role, by=self.request.user)
            except NotAllowed as refusal:
                self.add_error("role", str(refusal))
        return cleaned


@admin.register(Membership)
class MemberAdmin(RoleAdmin):
    """The list, the role, and the way out. Nobody is made a member here: they are invited."""

    form = RoleForm
    list_display = ("person", "tenant", "role", "since")
    list_filter = ("role",)
    list_select_related = ("tenant", "user")
    search_fields = ("user__email",)
    search_help_text = "E-mail address"
    ordering = ("tenant__name", "created_at")
    actions = None
    fields = ("person", "role", "since")
    readonly_fields = ("person", "since")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Never: people are invited."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether the role may be changed: an owner's by an owner only."""
        return super().has_change_permission(request) and (obj is None or _decides(request, obj))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether somebody may be taken out: oneself always."""
        return obj is not None and (obj.user_id == request.user.pk or _decides(request, obj))

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Nothing is left to save: the form has changed the role."""

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """Ask once, then take the member out."""
        try:
            return super().delete_view(request, object_id, extra_context)
        except NotAllowed as refusal:
            self.message_user(request, str(refusal), "error")
            return redirect("admin:tenants_membership_changelist")

    def delete_model(self, request: HttpRequest, obj: Membership) -> None:
        """Take the member out."""
        members.remove(obj.tenant_id, obj.pk, by=request.user)

    def response_delete(self, request: HttpRequest, obj_display: str, obj_id: Any) -> HttpResponse:
        """Who has left sees the team no more."""
        response = super().response_delete(request, obj_display, obj_id)
        mine = membership_of(request)
        return redirect("accounts:home") if mine is not None and str(mine.pk) == str(obj_id) else response

    @admin.display(description="person", ordering="user__email")
    def person(self, membership: Membership) -> str:
        """Who it is."""
        return name_of(membership.user)

    @admin.display(description="since", ordering="created_at")
    def since(self, membership: Membership) -> str | None:
        """When they joined."""
        return show_time(membership.created_at)


def _decides(request: HttpRequest, membership: Membership) -> bool:
    if request.user.is_anonymous:
        raise PermissionDenied
    return membership.role in roles_to_give(request.user, membership_of(request))
