"""Limits: a tenant's people see all that hold for them and set their own; the operator's only the operator changes."""

import time
from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.conf import settings
from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html

from tenants.admin.base import ModelForm, RequestFormAdmin, is_operator, membership_of, show_time
from tenants.limiting import describe, lift_limit, tell
from tenants.metrics import amount_text, is_money, money_text, read_amount, short_money
from tenants.models import ApiKey, Limit, UsageTotal
from tenants.standing import DAY, Standing, standings

if TYPE_CHECKING:
    from django.forms import Select as UnfoldAdminSelectWidget
    from django.forms import TextInput as UnfoldAdminTextInputWidget
else:
    from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

_MOST_SUGGESTIONS: Final = 50
_PLACE: Final = ("tenant", "metric", "key", "model")
"""What a limit holds for. Chosen once: another place is another limit."""
_LOOKED_AT: Final = ("what", "holds_for", "kind", "set_by")
"""What the page of a limit shows to who may not change it."""


class KeyChoice(forms.ModelChoiceField):  # type: ignore[type-arg]  # not subscriptable when it runs
    """A key, with its tenant where there may be several."""

    names_tenant = False

    def label_from_instance(self, obj: Any) -> str:
        """The key as a person recognises it."""
        return f"{obj.tenant.name}: {obj}" if self.names_tenant else str(obj)


class LimitForm(ModelForm):
    """The form. `request` is set by the admin: it says whose limit it becomes and whose keys there are."""

    request: HttpRequest
    amount = forms.CharField(
        max_length=40,
        help_text=f"A whole number; of cost, an amount of {settings.CURRENCY} such as 12.50. 0 lets nothing pass.",
        widget=UnfoldAdminTextInputWidget(attrs={"inputmode": "decimal", "autocomplete": "off"}),
    )
    key = KeyChoice(
        queryset=None,
        required=False,
        empty_label="all keys together",
        help_text="The key that is limited.",
        widget=UnfoldAdminSelectWidget(),
    )

    class Meta:
        """No fields yet: those of tenant tables are made inside a scope, where the admin chooses them."""

        model = Limit
        fields = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        limit = self.instance
        if not limit._state.adding:
            amount = limit.amount
            self.initial["amount"] = money_text(amount) if is_money(limit.metric) else str(amount)
        if "key" in self.fields:
            self._offer_keys()

    def _offer_keys(self) -> None:
        """The working keys of the scope: of one tenant, or for the operator of all."""
        field: Any = self.fields["key"]
        field.names_tenant = is_operator(self.request)
        field.queryset = ApiKey.objects.filter(revoked_at=None, purpose="app").select_related("tenant")

    def clean(self) -> dict[str, Any]:
        """Read the amount by its metric, and put the key beside its tenant."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        limit = self.instance
        membership = membership_of(self.request)
        if limit._state.adding:
            limit.set_by = "operator" if is_operator(self.request) else "tenant"
            if membership is not None:
                limit.tenant = membership.tenant
        self._read_amount(cleaned, cleaned.get("metric") or limit.metric)
        key, tenant = cleaned.get("key"), cleaned.get("tenant")
        if key is not None and tenant is not None and key.tenant_id != tenant.id:
            self.add_error("key", f"This key belongs to another tenant than {tenant}.")
        return cleaned

    def _read_amount(self, cleaned: dict[str, Any], metric: str) -> None:
        if "amount" not in cleaned or not metric:
            return
        try:
            cleaned["amount"] = read_amount(metric, cleaned["amount"].replace(" ", ""))
        except ValueError as error:
            self.add_error("amount", str(error))

    def _post_clean(self) -> None:
        """Hold the whole row against the constraints: Django leaves out those with columns that the form has not."""
        super()._post_clean()  # type: ignore[misc]
        if not self.errors:
            try:
                self.instance.validate_constraints()
            except ValidationError as error:
                self.add_error(None, ValidationError(error.messages))


class StandingList(ChangeList):
    """The list, each limit with where it stands."""

    def get_results(self, request: HttpRequest) -> None:
        """Read the page, and the counters of each tenant on it."""
        super().get_results(request)
        limits: list[Any] = list(self.result_list)
        now, found = int(time.time()), dict[Any, Standing]()
        for tenant_id in {limit.tenant_id for limit in limits}:
            found |= standings(tenant_id, [limit for limit in limits if limit.tenant_id == tenant_id], now)
        for limit in limits:
            limit.standing = found[limit.pk]
        self.result_list = limits


@admin.register(Limit)
class LimitAdmin(RequestFormAdmin):
    """The list with the use of now, and the form."""

    form = LimitForm
    list_display = ("what", "tenant", "holds_for", "use_now", "begins_anew", "kind", "set_by")
    list_filter = ("metric", "is_hard", "set_by", "tenant")
    list_select_related = ("tenant", "key")
    search_fields = ("model", "key__name", "tenant__name")
    search_help_text = "Model or name of a key"
    sortable_by = ()

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """The list that knows where its limits stand."""
        return StandingList

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """The form's fields; only the operator chooses a tenant."""
        if obj is not None and not self.has_change_permission(request, obj):
            return _LOOKED_AT
        first = ("tenant",) if is_operator(request) else ()
        added = ("set_by",) if obj else ()
        return (*first, "metric", "amount", "is_hard", "key", "model", *added)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """A limit that exists keeps its place: what changes is how much, and how hard."""
        if obj is None:
            return ()
        return (*_PLACE, "set_by", *_LOOKED_AT)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Models are suggested, not prescribed: a limit may be there before its model is."""
        field: Any = super().formfield_for_dbfield(db_field, request, **kwargs)
        if db_field.name == "is_hard":
            field.help_text = (
                "A hard limit refuses what would go beyond it; a soft one lets it pass and tells."
            )
        if db_field.name == "model":
            field.widget.attrs.update({"list": "known-models", "autocomplete": "off"})
        return field

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Owners and admins change what the tenant set; the operator anything."""
        return super().has_change_permission(request, obj) and _is_ones_own(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """As for a change."""
        return super().has_delete_permission(request, obj) and _is_ones_own(request, obj)

    def save_model(self, request: HttpRequest, obj: Limit, form: Any, change: bool) -> None:
        """Save, and tell everybody."""
        before = Limit.objects.values("amount", "is_hard").get(pk=obj.pk) if change else {}
        super().save_model(request, obj, form, change)
        details = {"before": before} if change else {}
        tell("changed" if change else "set", obj, user=request.user, **details)

    def delete_model(self, request: HttpRequest, obj: Limit) -> None:
        """Delete, and tell everybody."""
        lift_limit(obj, user=request.user)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Delete each of the selected ones."""
        for limit in queryset.select_related("key"):
            self.delete_model(request, limit)

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> Any:
        """The form, with the models that were asked for lately."""
        return super().render_change_form(
            request, {**context, "known_models": _known_models()}, *args, **kwargs
        )

    change_form_outer_after_template = "admin/tenants/limit/models.html"

    @admin.display(description="limit")
    def what(self, limit: Limit) -> str:
        """The amount and what it counts."""
        return f"{amount_text(limit.metric, limit.amount, settings.CURRENCY)} {limit.get_metric_display()}"

    @admin.display(description="holds for")
    def holds_for(self, limit: Limit) -> str:
        """The key and the model."""
        key = f"key {limit.key}" if limit.key_id else "all keys together"
        return f"{key}, {f'model {limit.model}' if limit.model else 'all models together'}"

    @admin.display(description="used now")
    def use_now(self, limit: Any) -> str:
        """What is used and reserved, as a bar with its numbers."""
        standing: Standing = limit.standing
        return use_bar(limit.metric, limit.amount, standing)

    @admin.display(description="begins anew", empty_value="–")
    def begins_anew(self, limit: Any) -> str | None:
        """When the window ends."""
        return show_time(limit.standing.resets_at)

    @admin.display(description="kind")
    def kind(self, limit: Limit) -> str:
        """What becomes of a request that goes beyond it."""
        return "hard: refuses" if limit.is_hard else "soft: tells"


def use_bar(metric: str, amount: int, standing: Standing) -> str:
    """A bar of what is used of a limit, which reads without colours as well."""
    taken = standing.used + standing.reserved
    percent = round(100 * taken / amount) if amount else 100
    share = min(100, percent)
    colour = "bg-red-600" if share >= 100 else "bg-orange-500" if share >= 80 else "bg-primary-600"
    reserved = f", {_at_a_glance(metric, standing.reserved)} reserved" if standing.reserved else ""
    return format_html(
        '<span class="block" style="min-width:9rem">{} ({}%){}'
        '<span class="bg-base-100 block mt-1 overflow-hidden rounded-default dark:bg-base-800">'
        '<span class="block h-1.5 {}" style="width:{}%"></span></span></span>',
        _at_a_glance(metric, standing.used),
        percent,
        reserved,
        colour,
        share,
    )


def _at_a_glance(metric: str, amount: int) -> str:
    return short_money(amount, settings.CURRENCY) if is_money(metric) else f"{amount:,}"


def limit_words(limit: Limit) -> str:
    """A limit in a line."""
    return f"{describe(limit)}, set by {limit.get_set_by_display()}"


def _is_ones_own(request: HttpRequest, limit: Any) -> bool:
    return limit is None or is_operator(request) or limit.set_by == "tenant"


def _known_models() -> list[str]:
    """Names to choose from: what was asked for in the last month, and what is limited already."""
    month = UsageTotal.objects.filter(span="day", starts_at__gte=int(time.time()) - 31 * DAY)
    asked = month.values_list("model", flat=True).distinct()[:_MOST_SUGGESTIONS]
    limited = Limit.objects.exclude(model="").values_list("model", flat=True).distinct()[:_MOST_SUGGESTIONS]
    return sorted({*asked, *limited})[:_MOST_SUGGESTIONS]
