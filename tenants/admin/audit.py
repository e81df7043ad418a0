"""The audit log, to read: nobody adds to it, changes it or takes anything from it here, operators neither."""

from datetime import timedelta
from typing import Any, Final

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.html import format_html, format_html_join

from tenants.admin.base import ScopedAdmin, show_time
from tenants.models import AuditEvent

_LOOKED_AT: Final = 2000
"""How many of the newest rows say which actions and people there are to choose from."""
_MOST_PAGES: Final = 1000
_SPANS: Final = (("1", "last 24 hours"), ("7", "last 7 days"), ("30", "last 30 days"), ("90", "last 90 days"))


class RecentFilter(admin.SimpleListFilter):
    """By one column's value: those of the newest rows, and the one that is chosen."""

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """The values to choose from. The whole table is never looked through for them."""
        newest = AuditEvent.objects.values_list(str(self.parameter_name), flat=True)[:_LOOKED_AT]
        return [(value, value) for value in sorted({*newest, self.value() or ""}) if value]

    def has_output(self) -> bool:
        """Always shown, so that a value that is chosen can be taken away again."""
        return True

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The rows with the chosen value."""
        return queryset.filter(**{str(self.parameter_name): self.value()}) if self.value() else queryset


class ActionFilter(RecentFilter):
    """By what was done."""

    title = "action"
    parameter_name = "action"


class ActorFilter(RecentFilter):
    """By who did it."""

    title = "who"
    parameter_name = "actor"


class TimeFilter(admin.SimpleListFilter):
    """By how long ago it was."""

    title = "when"
    parameter_name = "days"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Spans until now."""
        return list(_SPANS)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The rows of the chosen span."""
        if self.value() not in dict(_SPANS):
            return queryset
        return queryset.filter(created_at__gte=timezone.now() - timedelta(days=int(str(self.value()))))


class UncountedPaginator(Paginator):  # type: ignore[type-arg]  # not subscriptable when it runs
    """Pages that nobody counts: a page knows only whether another one follows."""

    template_name = "admin/tenants/auditevent/pagination.html"
    has_more = False

    @cached_property
    def count(self) -> int:
        """As many as can be paged through. What is older is reached by a filter."""
        return _MOST_PAGES * self.per_page

    def page(self, number: Any) -> "Page[Any]":
        """The page; it reads one row more than it shows."""
        number = self.validate_number(number)
        start = (number - 1) * self.per_page
        rows = list(self.object_list[start : start + self.per_page + 1])
        self.has_more = len(rows) > self.per_page and number < _MOST_PAGES
        return Page(rows[: self.per_page], number, self)


class UncountedList(ChangeList):
    """A list that tells no number of results, having none."""

    def get_results(self, request: HttpRequest) -> None:
        """Read the page."""
        super().get_results(request)
        self.result_count = self.full_result_count = len(self.result_list)
        self.multi_page, self.can_show_all = True, False


@admin.register(AuditEvent)
class AuditAdmin(ScopedAdmin):
    """The list, newest first, and the page of one act. The people of a tenant see what was done to their tenant."""

    list_display = ("when", "actor", "action", "subject", "tenant")
    list_filter = (ActionFilter, ActorFilter, TimeFilter)
    list_select_related = ("tenant",)
    list_display_links = ("when", "action")
    search_fields = ("subject", "actor")
    search_help_text = "What it was done to, or who did it"
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    sortable_by = ()
    paginator = UncountedPaginator
    actions = None
    fields = ("when", "actor", "action", "subject", "tenant", "told")
    readonly_fields = fields

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Never: the log is written by what is done."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never: what was done was done."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never: a log that somebody may shorten proves nothing."""
        return False

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """The list without a count."""
        return UncountedList

    @admin.display(description="when")
    def when(self, event: AuditEvent) -> str:
        """The time of the act."""
        return format_html('<span class="whitespace-nowrap">{}</span>', show_time(event.created_at))

    @admin.display(description="details", empty_value="–")
    def told(self, event: AuditEvent) -> str | None:
        """The facts, a line for each."""
        lines = tuple(facts(event.details))
        return format_html_join("", "<div><b>{}</b> {}</div>", lines) if lines else None


def facts(details: Any, path: str = "") -> list[tuple[str, str]]:
    """Details as pairs of a name and a text: names that lie in others are joined (`changed fields`)."""
    if isinstance(details, dict) and details:
        return [
            pair for name, value in details.items() for pair in facts(value, f"{path} {_words(name)}".strip())
        ]
    if isinstance(details, list) and any(isinstance(entry, dict) for entry in details):
        return [pair for entry in details for pair in facts(entry, path)]
    return [(path, _text(details))] if path else []


def _words(name: str) -> str:
    return name.replace("_", " ")


def _text(value: Any) -> str:
    if value is None or value in ("", [], {}):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return str(value)
