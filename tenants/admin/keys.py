"""Keys: issued (shown once), renamed, given other rules, rotated and revoked. The digest appears nowhere."""

from typing import Any, Final

from django.contrib import admin, messages
from django.contrib.admin import helpers
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from tenants.admin.base import ScopedAdmin, is_operator, may_change, membership_of
from tenants.admin.key_forms import KeyForm, RotateForm
from tenants.admin.key_pages import KeyColumns, StateFilter
from tenants.keys import change_key, new_key, revoke_key
from tenants.models import ApiKey, Tenant
from tenants.rotation import NotRotated, rotate_key

_ISSUED: Final = "_antiphon_issued_key"
"""The attribute of the request that carries a new key's text to the page that answers it, and nowhere else."""
_OF_ANY_KEY: Final = frozenset({"tenants_apikey_change", "tenants_apikey_history"})
_RULES: Final = ("scopes", "expires_at", "allowed_models", "allowed_addresses", "dialect", "unserved_tools")
_FACTS: Final = ("shown_key", "state", "last_used", "created", "replacement", "holds")


@admin.register(ApiKey)
class ApiKeyAdmin(KeyColumns, ScopedAdmin):
    """The list, the form that issues a key, the page of one key, the rotation, and the revoke."""

    form = KeyForm
    list_display = ("name", "tenant", "shown_key", "state", "last_used", "created_on")
    list_filter = (StateFilter, "dialect")
    list_select_related = ("tenant",)
    search_fields = ("name", "tenant__name", "prefix", "last_four")
    search_help_text = "Name, tenant or last four characters"
    actions = ("revoke_selected",)
    autocomplete_fields = ("tenant",)
    change_form_outer_after_template = "admin/tenants/apikey/buttons.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """The keys of apps. Those that the playground takes for itself end by themselves; they are shown where
        a link leads to one, and nowhere else.
        """
        keys = super().get_queryset(request)
        return keys if _view(request) in _OF_ANY_KEY else keys.filter(purpose="app")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """What a key is issued with, or what is known of one."""
        whose = ("tenant",) if is_operator(request) else ()
        return ("name", *whose, *_RULES) if obj is None else ("name", *whose, *_FACTS, *_RULES)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """A key stays its tenant's."""
        return () if obj is None else ("tenant", *_FACTS)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether keys may be changed; one that was revoked, or is the playground's, is only looked at."""
        is_fixed = obj is not None and (obj.revoked_at is not None or obj.purpose != "app")
        return not is_fixed and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never: a revoked key stays, so that its responses can be traced."""
        return False

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        """Whether keys may be revoked."""
        return may_change(request)

    def get_urls(self) -> list[URLPattern]:
        """The page that rotates a key, beside those of Django."""
        rotate = self.admin_site.admin_view(self.rotate_view)
        own = path("<path:object_id>/rotate/", rotate, name="tenants_apikey_rotate")
        return [own, *super().get_urls()]

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """The form: one button, since the answer must be read before anything else is done."""
        buttons = {"show_save_and_add_another": False, "show_save_and_continue": False}
        return super().add_view(
            request, form_url, {**(extra_context or {}), **buttons, "title": "Issue a key"}
        )

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """The page of a key, with its buttons for those who may press them."""
        context = {**(extra_context or {}), "may_change_keys": may_change(request)}
        return super().change_view(request, object_id, form_url, context)

    def save_model(self, request: HttpRequest, obj: ApiKey, form: Any, change: bool) -> None:
        """Issue the key, of which `obj` becomes the row that was made; or give it other rules, everywhere at once."""
        rules = {name: form.cleaned_data[name] for name in _RULES}
        if not change:
            tenant = obj.tenant if is_operator(request) else _own_tenant(request)
            made, text = new_key(tenant, name=obj.name, **rules, user=request.user)
            obj.pk = made.pk
            obj.refresh_from_db()
            setattr(request, _ISSUED, text)
            return
        change_key(obj, rules, user=request.user)

    def response_add(
        self, request: HttpRequest, obj: ApiKey, post_url_continue: str | None = None
    ) -> HttpResponse:
        """The page with the key, in answer to the form itself: no message, cookie or session ever holds it."""
        return self._issued(request, obj, getattr(request, _ISSUED), "Key issued")

    def rotate_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask for the grace of the old key, then show the one that replaces it, once."""
        key = self.get_object(request, object_id)
        if not may_change(request):
            raise PermissionDenied
        if key is None:
            raise Http404
        form = RotateForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            try:
                made, text = rotate_key(key, grace=form.grace, user=request.user)
            except NotRotated as error:
                self.message_user(request, str(error), messages.ERROR)
                return HttpResponseRedirect(reverse("admin:tenants_apikey_change", args=[key.pk]))
            self.log_change(request, key, f"Replaced by {made}.")
            self.log_addition(request, made, f"In place of {key}.")
            return self._issued(request, made, text, "Key rotated")
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": "Rotate this key",
            "key": key,
            "form": form,
        }
        return TemplateResponse(request, "admin/tenants/apikey/rotate.html", context)

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
            revoke_key(key, user=request.user)
            self.log_change(request, key, "Revoked.")
        self.message_user(request, f"Revoked: {', '.join(str(key) for key in keys)}.", messages.SUCCESS)
        return None

    def _issued(self, request: HttpRequest, key: ApiKey, text: str, title: str) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": title,
            "key": key,
            "key_text": text,
        }
        return TemplateResponse(
            request, "admin/tenants/apikey/issued.html", context, headers={"Cache-Control": "no-store"}
        )

    def _confirmation(self, request: HttpRequest, keys: list[Any]) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": "Revoke keys" if len(keys) > 1 else "Revoke this key",
            "keys": keys,
            "checkbox_name": helpers.ACTION_CHECKBOX_NAME,
        }
        return TemplateResponse(request, "admin/tenants/apikey/revoke.html", context)


def _view(request: HttpRequest) -> str | None:
    return request.resolver_match.url_name if request.resolver_match is not None else None


def _own_tenant(request: HttpRequest) -> Tenant:
    membership = membership_of(request)
    if membership is None:
        raise PermissionDenied
    return membership.tenant
