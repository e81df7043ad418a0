"""Stored responses, to be read and deleted."""

from typing import Any, Final

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.core.paginator import Page, Paginator
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.html import format_html

from responses_api.admin.filters import ModelFilter, StatusFilter, TenantFilter
from responses_api.admin.reading import read
from responses_api.models import Response
from responses_api.models.response import UNFINISHED
from responses_api.protocol.errors import ProtocolError
from responses_api.services import stored
from responses_api.services.cancel import cancel
from tenants.admin.base import OperatorAdmin, show_time

_UNREAD: Final = ("request", "error", "incomplete_details", "score")

# The page shows what strangers wrote: whatever slipped through, the browser fetches nothing from elsewhere for it.
_POLICY: Final = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval'",  # the theme's scripts are inline, and Alpine evaluates
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)


class UncountedPaginator(Paginator):  # type: ignore[type-arg]  # not subscriptable when it runs
    """Pages of a table that nobody counts: a page knows only whether another one follows."""

    template_name = "admin/responses_api/response/pagination.html"

    @cached_property
    def count(self) -> int:
        """More than there are, so that every page can be asked for."""
        return 2**31

    def page(self, number: Any) -> "Page[Any]":
        """The page; it reads one row more than it shows."""
        number = self.validate_number(number)
        start = (number - 1) * self.per_page
        rows = list(self.object_list[start : start + self.per_page + 1])
        self.has_more = len(rows) > self.per_page
        return Page(rows[: self.per_page], number, self)


class UncountedChangeList(ChangeList):
    """A list that tells no number of results, having none."""

    def get_results(self, request: HttpRequest) -> None:
        """Read the page."""
        super().get_results(request)
        self.result_count = self.full_result_count = len(self.result_list)


@admin.register(Response)
class ResponseAdmin(OperatorAdmin):
    """The list (newest first, never counted) and the page on which a response is read."""

    list_display = ("whole_id", "tenant", "state", "model", "backend", "tokens", "created")
    list_filter = (StatusFilter, ModelFilter, TenantFilter)
    list_select_related = ("tenant",)
    search_fields = ("id",)
    search_help_text = "Whole id of a response: it, and what continues it"
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    sortable_by = ()
    paginator = UncountedPaginator
    list_disable_select_all = True

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Never: only the service makes responses."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never: a response is what was said."""
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """The rows, without their large columns."""
        return super().get_queryset(request).defer(*_UNREAD)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """The response with this id and those that continue it.

        A response that continues another one is newer, so its id is greater: the primary key bounds the search.
        """
        term = search_term.strip()
        if not term:
            return queryset, False
        return queryset.filter(Q(id=term) | Q(previous_id=term), id__gte=term), False

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """The list without a count."""
        return UncountedChangeList

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """The page of one response, to read."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        response_id = unquote(object_id).replace("\0", "")
        row = Response.objects.filter(id=response_id).select_related("tenant").first()
        if row is None:
            self.message_user(request, f"There is no response {response_id[:100]}.", messages.WARNING)
            return self._redirect_to_list()
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "original": row,
            "title": row.id,
            "reading": read(row),
            **(extra_context or {}),
        }
        headers = {"Content-Security-Policy": _POLICY, "Cache-Control": "no-store"}
        return TemplateResponse(
            request, "admin/responses_api/response/conversation.html", context, headers=headers
        )

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """What the confirmation lists: the responses themselves, not their items one by one."""
        ids = [str(row.pk) for row in objs]
        return ids, {str(self.opts.verbose_name_plural): len(ids)}, set(), []

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """Delete as the API does, in the scope of the row's tenant; one that has not ended is cancelled before."""
        try:
            if obj.status in UNFINISHED:
                cancel(obj.tenant_id, obj.pk)
            stored.delete(obj.tenant_id, obj.pk)
        except ProtocolError as error:
            if error.status != 404:
                raise
            self.message_user(request, f"Response {obj.pk} was deleted meanwhile.", messages.WARNING)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Delete each of the selected ones."""
        for row in queryset:
            self.delete_model(request, row)

    @admin.display(description="id")
    def whole_id(self, row: Any) -> str:
        """The id, narrow: it breaks where it must."""
        style = "display:inline-block;max-width:14rem;font-size:.75rem;overflow-wrap:anywhere"
        return format_html('<span style="{}">{}</span>', style, row.pk)

    @admin.display(description="status")
    def state(self, row: Any) -> str:
        """The status, coloured."""
        return format_html(
            '<span class="{}">{}</span>', _COLOURS.get(row.status, ""), row.get_status_display()
        )

    @admin.display(description="tokens in → out", empty_value="–")
    def tokens(self, row: Any) -> str | None:
        """What was used."""
        usage = row.usage
        return f"{usage['input_tokens']:,} → {usage['output_tokens']:,}" if usage else None

    @admin.display(description="created")
    def created(self, row: Any) -> str:
        """When the response was asked for."""
        return format_html('<span class="whitespace-nowrap">{}</span>', show_time(row.created_at))

    def _redirect_to_list(self) -> HttpResponse:
        return HttpResponseRedirect(reverse("admin:responses_api_response_changelist"))


_COLOURS: Final = {
    "completed": "text-green-700 dark:text-green-400",
    "incomplete": "text-orange-700 dark:text-orange-400",
    "failed": "text-red-700 dark:text-red-400",
}
