"""Stored responses: found, read, told again, exported and deleted."""

import uuid
from collections.abc import AsyncIterator
from typing import Any, Final
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import NoReverseMatch, path, reverse
from django.utils.html import format_html

from responses_api.admin.asking import QuestionForm
from responses_api.admin.listing import ResponseList
from responses_api.admin.reading import read
from responses_api.admin.telling import told
from responses_api.chains import CONTINUABLE
from responses_api.models import Response
from responses_api.models.fields import is_id
from responses_api.models.response import UNFINISHED
from responses_api.protocol.errors import ProtocolError
from responses_api.services import stored
from responses_api.services.browse import Question
from responses_api.services.cancel import cancel
from responses_api.services.export import download, export_of, pages_of
from tenants.admin.base import ScopedAdmin, is_operator, membership_of, show_time
from tenants.audit import record

_UNREAD: Final = ("request", "error", "incomplete_details", "score")


@admin.register(Response)
class ResponseAdmin(ScopedAdmin):
    """The list (newest first, never counted) and the pages on which a response is read."""

    list_display = ("whole_id", "tenant", "state", "model", "key", "backend", "tokens", "created")
    list_before_template = "admin/responses_api/response/question.html"
    list_per_page = 25
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    sortable_by = ()
    list_disable_select_all = True
    actions = ("export_selected",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Never: only the service makes responses."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never: a response is what was said."""
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """The rows, without their large columns."""
        return super().get_queryset(request).defer(*_UNREAD)

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest | None = None) -> bool:
        """Never: the form says what can be asked for."""
        return False

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """The list that pages by key."""
        return ResponseList

    def get_urls(self) -> list[Any]:
        """The pages beside Django's own."""
        view = self.admin_site.admin_view
        return [
            path("export/", view(self.export_view), name="responses_api_response_export"),
            path("<path:object_id>/events/", view(self.events_view), name="responses_api_response_events"),
            path("<path:object_id>/json/", view(self.json_view), name="responses_api_response_json"),
            *super().get_urls(),
        ]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """The page of one response, to read."""
        row = self._row(request, object_id)
        if row is None:
            return self._missing(request, object_id)
        context = {"reading": read(row, playground=_playground(row)), **(extra_context or {})}
        return self._page(request, row, "conversation", context)

    def events_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The events of one response, in their order."""
        row = self._row(request, object_id)
        if row is None:
            return self._missing(request, object_id)
        return self._page(request, row, "events", {"told": told(row, first=_number(request.GET.get("from")))})

    def json_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """One response as a file: all that is stored of it."""
        row = self._row(request, object_id)
        if row is None:
            return self._missing(request, object_id)
        self._record(request, row, "response.exported")
        return HttpResponse(
            export_of([row])[0],
            content_type="application/json",
            headers=download(f"{row.pk}.json"),
        )

    def export_view(self, request: HttpRequest) -> HttpResponseBase:
        """What the list's question finds, as lines of JSON."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        question = QuestionForm(request.GET, request).question()
        if question is None:
            self.message_user(request, "This cannot be exported: the question has faults.", messages.ERROR)
            return self._redirect_to_list(request.GET.urlencode())
        tenant_id = _tenant_id(request) or question.tenant_id
        record("responses.exported", "responses", tenant_id=tenant_id, user=request.user)
        return _stream(pages_of(question))

    @admin.action(description="Export the selected responses as JSON lines", permissions=("view",))
    def export_selected(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponseBase:
        """The selected ones, as lines of JSON."""
        ids = tuple(queryset.values_list("id", flat=True))
        record("responses.exported", "responses", tenant_id=_tenant_id(request), user=request.user)
        return _stream(pages_of(Question(among=ids)))

    def _row(self, request: HttpRequest, object_id: str) -> Any:
        """The whole row, with its tenant; None where the scope has none. Raises `PermissionDenied`."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        response_id = unquote(object_id)
        if not is_id(response_id):
            return None
        return Response.objects.filter(id=response_id).select_related("tenant").first()

    def _page(self, request: HttpRequest, row: Any, template: str, context: dict[str, Any]) -> HttpResponse:
        shared = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "original": row,
            "title": row.id,
            "is_operator": is_operator(request),
            "may_delete": self.has_delete_permission(request, row),
        }
        name = f"admin/responses_api/response/{template}.html"
        return TemplateResponse(request, name, {**shared, **context}, headers={"Cache-Control": "no-store"})

    def _missing(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The page for an id that the scope does not have: unknown, deleted and foreign ones look alike."""
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": "No such response",
            "response_id": unquote(object_id)[:100],
        }
        return TemplateResponse(request, "admin/responses_api/response/missing.html", context, status=404)

    def _get_obj_does_not_exist_redirect(
        self, request: HttpRequest, opts: Any, object_id: str
    ) -> HttpResponse:
        return self._missing(request, object_id)

    def _record(self, request: HttpRequest, row: Any, action: str) -> None:
        record(action, row.pk, tenant_id=row.tenant_id, user=request.user)

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
            self._record(request, obj, "response.deleted")
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

    @admin.display(description="key")
    def key(self, row: Any) -> str:
        """The name of the key that asked."""
        return str(row.key_name or row.key_id)

    @admin.display(description="tokens in → out", empty_value="–")
    def tokens(self, row: Any) -> str | None:
        """What was used."""
        usage = row.usage
        return f"{usage['input_tokens']:,} → {usage['output_tokens']:,}" if usage else None

    @admin.display(description="created")
    def created(self, row: Any) -> str:
        """When the response was asked for."""
        return format_html('<span class="whitespace-nowrap">{}</span>', show_time(row.created_at))

    def _redirect_to_list(self, query: str = "") -> HttpResponse:
        return HttpResponseRedirect(f"{reverse('admin:responses_api_response_changelist')}?{query}")


def _stream(lines: AsyncIterator[bytes]) -> StreamingHttpResponse:
    return StreamingHttpResponse(lines, content_type="application/jsonl", headers=download("responses.jsonl"))


def _tenant_id(request: HttpRequest) -> uuid.UUID | None:
    """The tenant that somebody works in; None for the operator, who works in all."""
    membership = membership_of(request)
    return None if membership is None else membership.tenant_id


def _playground(row: Any) -> str:
    """Where the response can be continued; nothing where there is no such page, or the response cannot be."""
    if row.status not in CONTINUABLE:
        return ""
    try:
        return f"{reverse('playground')}?{urlencode({'previous_response_id': row.pk})}"
    except NoReverseMatch:
        return ""


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isdecimal() and len(text) < 9 else 0


_COLOURS: Final = {
    "completed": "text-green-700 dark:text-green-400",
    "incomplete": "text-orange-700 dark:text-orange-400",
    "failed": "text-red-700 dark:text-red-400",
}
