"""Keys: issued (shown once) and revoked, never edited. The digest appears nowhere."""

from typing import Any, Final

from django.contrib import admin, messages
from django.contrib.admin import helpers
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from tenants.admin.base import OperatorAdmin, show_time
from tenants.keys import new_key, revoke_key
from tenants.models import ApiKey

_ISSUED: Final = "_antiphon_issued_key"
"""The attribute of the request that carries a new key's text to the page that answers it, and nowhere else."""


class StateFilter(admin.SimpleListFilter):
    """Working or revoked."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """The two states."""
        return [("working", "working"), ("revoked", "revoked")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The keys in the chosen state."""
        if self.value() in ("working", "revoked"):
            return queryset.filter(revoked_at__isnull=self.value() == "working")
        return queryset


@admin.register(ApiKey)
class ApiKeyAdmin(OperatorAdmin):
    """The list, the form that issues a key, the page of one key, and the revoke."""

    list_display = ("name", "tenant", "shown_key", "dialect", "created", "state")
    list_filter = (StateFilter, "dialect")
    list_select_related = ("tenant",)
    search_fields = ("name", "tenant__name", "prefix", "last_four")
    search_help_text = "Name, tenant or last four characters"
    actions = ("revoke_selected",)
    autocomplete_fields = ("tenant",)
    change_form_outer_after_template = "admin/tenants/apikey/revoke_button.html"

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """What a key is issued with, or what is known of one."""
        if obj is None:
            return ("name", "tenant", "dialect", "unserved_tools")
        return ("name", "tenant", "shown_key", "dialect", "unserved_tools", "created", "state")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """A key that exists is only looked at."""
        return self.get_fields(request, obj) if obj else ()

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never: a key is revoked and another one issued."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never: a revoked key stays, so that its responses can be traced."""
        return False

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        """Whether keys may be revoked."""
        return self.has_view_permission(request)

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """The form: one button, since the answer must be read before anything else is done."""
        buttons = {"show_save_and_add_another": False, "show_save_and_continue": False}
        return super().add_view(
            request, form_url, {**(extra_context or {}), **buttons, "title": "Issue a key"}
        )

    def save_model(self, request: HttpRequest, obj: ApiKey, form: Any, change: bool) -> None:
        """Issue the key; `obj` becomes the row that was made."""
        made, text = new_key(
            obj.tenant, name=obj.name, dialect=obj.dialect, unserved_tools=obj.unserved_tools
        )
        obj.pk = made.pk
        obj.refresh_from_db()
        setattr(request, _ISSUED, text)

    def response_add(
        self, request: HttpRequest, obj: ApiKey, post_url_continue: str | None = None
    ) -> HttpResponse:
        """The page with the key, in answer to the form itself: no message, cookie or session ever holds it."""
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": "Key issued",
            "key": obj,
            "key_text": getattr(request, _ISSUED),
        }
        return TemplateResponse(
            request, "admin/tenants/apikey/issued.html", context, headers={"Cache-Control": "no-store"}
        )

    @admin.action(description="Revoke the selected keys", permissions=("revoke",))
    def revoke_selected(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """Ask once, then revoke."""
        keys = list(queryset.filter(revoked_at=None).select_related("tenant"))
        if not keys:
            self.message_user(request, "These keys were revoked before.", messages.WARNING)
            return None
        if not request.POST.get("confirmed"):
            return self._confirmation(request, keys)
        for key in keys:
            revoke_key(key)
            self.log_change(request, key, "Revoked.")
        self.message_user(request, f"Revoked: {', '.join(str(key) for key in keys)}.", messages.SUCCESS)
        return None

    def _confirmation(self, request: HttpRequest, keys: list[Any]) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": "Revoke keys" if len(keys) > 1 else "Revoke this key",
            "keys": keys,
            "checkbox_name": helpers.ACTION_CHECKBOX_NAME,
        }
        return TemplateResponse(request, "admin/tenants/apikey/revoke.html", context)

    @admin.display(description="key", ordering="last_four")
    def shown_key(self, key: ApiKey) -> str:
        """What a person recognises the key by."""
        return f"{key.prefix}…{key.last_four}"

    @admin.display(description="created", ordering="created_at")
    def created(self, key: ApiKey) -> str | None:
        """When the key was issued."""
        return show_time(key.created_at)

    @admin.display(description="state", ordering="revoked_at")
    def state(self, key: ApiKey) -> str:
        """Whether the key works, or when it was revoked."""
        return f"revoked {show_time(key.revoked_at)}" if key.revoked_at else "working"
