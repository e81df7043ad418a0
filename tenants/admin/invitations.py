"""Invitations: sent, sent again, taken back. What may be done to whom is decided in `tenants.invitations`."""

from typing import Any
from urllib.parse import urlencode

from allauth.core import ratelimit
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone

from tenants import invitations
from tenants.admin.base import ModelForm, is_operator, membership_of, show_time
from tenants.admin.role_form import RoleAdmin
from tenants.audit import name_of
from tenants.mail import MailFailed
from tenants.members import NotAllowed
from tenants.models import Invitation
from tenants.site.invite_links import link_of

_TOO_MANY = "These are many invitations for so short a time. Wait a minute, or until tomorrow."


class InvitationForm(ModelForm):
    """Whom to invite, as what. Everything is decided, and the mail sent, before the form counts as valid."""

    request: HttpRequest
    """Set by `RequestFormAdmin.get_form`."""

    class Meta:
        model = Invitation
        fields = ("email", "role")

    def clean(self) -> Any:
        """Send the invitation; `instance` becomes the row that was made."""
        cleaned = super().clean()
        if not self.errors:
            try:
                self.instance = self._send()
            except (NotAllowed, MailFailed) as refusal:
                self.add_error(None, str(refusal))
        return cleaned

    def _send(self) -> Invitation:
        if not ratelimit.consume(self.request, action="invite", user=self.request.user):
            raise NotAllowed(_TOO_MANY)
        mine = membership_of(self.request)
        tenant_id = mine.tenant_id if mine is not None else self.cleaned_data["tenant"].pk
        email, role = self.cleaned_data["email"], self.cleaned_data["role"]
        return invitations.invite(tenant_id, email, role, by=self.request.user, link_of=link_of(self.request))

    def _post_clean(self) -> None:
        """The row is made and checked by `clean`: nothing is to be copied into it or validated again."""


@admin.register(Invitation)
class InvitationAdmin(RoleAdmin):
    """The list with its actions, and the form that invites. An invitation is never edited."""

    form = InvitationForm
    list_display = ("email", "tenant", "role", "invited_by_whom", "state")
    list_filter = ("role",)
    list_select_related = ("tenant", "invited_by")
    list_display_links = None
    search_fields = ("email",)
    search_help_text = "E-mail address"
    actions = ("send_again", "revoke")
    autocomplete_fields = ("tenant",)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """An operator says for which team, everybody else invites into the one they work in."""
        return ("tenant", "email", "role") if is_operator(request) else ("email", "role")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never: what was sent is sent."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never: one that waits is revoked, one that was accepted stays as a record."""
        return False

    def has_handle_permission(self, request: HttpRequest) -> bool:
        """Whether invitations may be sent again and revoked."""
        return self.has_add_permission(request)

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """The form that invites."""
        hidden = {"show_save_and_continue": False, "title": "Invite somebody"}
        return super().add_view(request, form_url, {**(extra_context or {}), **hidden})

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Nothing is left to save: the form has sent the invitation."""

    @admin.action(description="Send again, with a new link", permissions=("handle",))
    def send_again(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse:
        """Send those that wait once more."""
        for invitation in queryset.filter(accepted_at=None):
            if not ratelimit.consume(request, action="invite", user=request.user):
                self.message_user(request, _TOO_MANY, messages.ERROR)
                break
            self._try(request, invitation, "sent again", link_of=link_of(request))
        return self._list(request)

    @admin.action(description="Revoke", permissions=("handle",))
    def revoke(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse:
        """Take those that wait back."""
        for invitation in queryset.filter(accepted_at=None):
            self._try(request, invitation, "revoked")
        return self._list(request)

    def _try(self, request: HttpRequest, invitation: Invitation, done: str, **more: Any) -> None:
        do = invitations.send_again if more else invitations.revoke
        try:
            with transaction.atomic():
                do(invitation, by=request.user, **more)
        except (NotAllowed, MailFailed) as refusal:
            self.message_user(request, f"{invitation.email}: {refusal}", messages.ERROR)
        else:
            self.message_user(request, f"{invitation.email}: {done}.", messages.SUCCESS)

    def _list(self, request: HttpRequest) -> HttpResponse:
        query = urlencode(request.GET)
        return redirect(f"{request.path}?{query}" if query else request.path)

    @admin.display(description="invited by", ordering="invited_by__email")
    def invited_by_whom(self, invitation: Invitation) -> str:
        """Who sent it; an operator's address is not told."""
        sender = invitation.invited_by
        if sender is None or sender.is_superuser:
            return "an operator"
        return name_of(sender)

    @admin.display(description="state", ordering="expires_at")
    def state(self, invitation: Invitation) -> str:
        """Whether it waits, and until when."""
        if invitation.accepted_at is not None:
            return f"accepted {show_time(invitation.accepted_at)}"
        word = "waits until" if invitation.expires_at > timezone.now() else "expired"
        return f"{word} {show_time(invitation.expires_at)}"
