"""What pages tell of keys: how they are recognised, whether they work, and what else holds for them."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html_join
from django.utils.http import urlencode
from django.utils.safestring import mark_safe

from tenants.admin.base import show_time
from tenants.audit import name_of
from tenants.models import ApiKey, Limit, ToolPolicy

_EXPIRED = "expired"


class StateFilter(admin.SimpleListFilter):
    """Working, expired or revoked."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """The states."""
        return [(state, state) for state in ("working", _EXPIRED, "revoked")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The keys in the chosen state."""
        has_expired = Q(expires_at__lte=timezone.now())
        match self.value():
            case "working":
                return queryset.filter(Q(expires_at=None) | ~has_expired, revoked_at=None)
            case "expired":
                return queryset.filter(has_expired, revoked_at=None)
            case "revoked":
                return queryset.exclude(revoked_at=None)
        return queryset


class KeyColumns:
    """The columns and facts of a key that are no fields of it."""

    admin_site: Any

    @admin.display(description="key", ordering="last_four")
    def shown_key(self, key: ApiKey) -> str:
        """What a person recognises the key by."""
        return key.hint

    @admin.display(description="created", ordering="created_at")
    def created(self, key: ApiKey) -> str | None:
        """When the key was issued, and by whom where that is known."""
        by = f" by {name_of(key.created_by)}" if key.created_by else ""
        return f"{show_time(key.created_at)}{by}"

    @admin.display(description="created", ordering="created_at")
    def created_on(self, key: ApiKey) -> str | None:
        """When the key was issued."""
        return show_time(key.created_at)

    @admin.display(description="last used", ordering="last_used_at")
    def last_used(self, key: ApiKey) -> str:
        """When the key was last used, to the minute."""
        return show_time(key.last_used_at) or "never"

    @admin.display(description="state", ordering="revoked_at")
    def state(self, key: ApiKey) -> str:
        """Whether the key works, until when, or when it ended."""
        if key.revoked_at:
            return f"revoked {show_time(key.revoked_at)}"
        if key.expires_at is None:
            return "working"
        return (
            f"{_EXPIRED if key.expires_at <= timezone.now() else 'working until'} {show_time(key.expires_at)}"
        )

    @admin.display(description="replaces")
    def replacement(self, key: ApiKey) -> str:
        """The key before this one, and the one after it."""
        others = [
            (word, self._page(other), other.hint)
            for word, other in (
                ("Replaces", key.replaces),
                ("Replaced by", getattr(key, "replaced_by", None)),
            )
            if other is not None
        ]
        return format_html_join(mark_safe(" · "), '{} <a class="underline" href="{}">{}</a>', others) or "-"

    @admin.display(description="limits and policy")
    def holds(self, key: ApiKey) -> str:
        """The ways to what else holds for the key."""
        ways = [
            (
                reverse(f"admin:tenants_{model._meta.model_name}_changelist"),
                urlencode({"key__id__exact": str(key.pk)}),
                label,
            )
            for model, label in ((Limit, "Its limits"), (ToolPolicy, "Its tool policy"))
            if self.admin_site.is_registered(model)
        ]
        return format_html_join(mark_safe(" · "), '<a class="underline" href="{}?{}">{}</a>', ways) or "-"

    def _page(self, key: ApiKey) -> str:
        return reverse("admin:tenants_apikey_change", args=[key.pk])
