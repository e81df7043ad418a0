"""Uploaded files: everybody of a tenant sees and downloads theirs, its owners and admins upload and delete."""

from typing import Any, Final

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.template.defaultfilters import filesizeformat
from django.urls import path, reverse
from django.utils.html import format_html
from django.utils.http import content_disposition_header

from responses_api.admin.file_form import FileForm
from responses_api.models import File
from responses_api.models.fields import is_id
from responses_api.protocol.errors import ProtocolError
from responses_api.services import stored_files
from responses_api.services.export import download
from tenants import audit
from tenants.admin.base import RequestFormAdmin, is_operator, show_time
from tenants.models import ApiKey

_FACTS: Final = (
    "filename",
    "content",
    "size",
    "media_type",
    "purpose",
    "state",
    "why",
    "chunk_count",
    "who",
    "created",
    "expires",
    "whole_id",
)
_COLOURS: Final = {
    "processed": "text-green-700 dark:text-green-400",
    "uploaded": "text-orange-700 dark:text-orange-400",
    "error": "text-red-700 dark:text-red-400",
}


class FileList(ChangeList):
    """The list, each file with the name of the key that uploaded it."""

    def get_results(self, request: HttpRequest) -> None:
        """Read the page, and the names of all of its keys by one query."""
        super().get_results(request)
        rows: list[Any] = list(self.result_list)
        _name_keys(rows)
        self.result_list = rows


@admin.register(File)
class FileAdmin(RequestFormAdmin):
    """The list, the page of one file, and the form that uploads one."""

    form = FileForm
    list_display = ("filename", "tenant", "size", "state", "chunk_count", "who", "created")
    list_filter = ("status", "purpose", "tenant")
    list_select_related = ("tenant",)
    search_fields = ("filename",)
    search_help_text = "Name of a file"
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    sortable_by = ()

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never: a file is what was uploaded."""
        return False

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """What there is to know of a file, or what is chosen for a new one; only the operator chooses a tenant."""
        first = ("tenant",) if is_operator(request) else ()
        return (*first, *_FACTS) if obj is not None else (*first, "file", "purpose")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """All of a file that is there."""
        return self.get_fields(request, obj) if obj is not None else ()

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """The list that knows the keys."""
        return FileList

    def get_urls(self) -> list[Any]:
        """The download, beside Django's own pages."""
        view = self.admin_site.admin_view(self.content_view)
        own = path("<path:object_id>/content/", view, name="responses_api_file_content")
        return [own, *super().get_urls()]

    def content_view(self, request: HttpRequest, object_id: str) -> HttpResponseBase:
        """The file itself. A POST: it is written down."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        file_id = unquote(object_id)
        row = File.objects.filter(id=file_id).first() if is_id(file_id) else None
        if row is None or request.method != "POST":
            raise Http404
        _record(request, row, "file.downloaded")
        disposition = content_disposition_header(True, row.filename) or "attachment"
        headers = {**download("file"), "Content-Disposition": disposition, "Content-Length": str(row.bytes)}
        content = stored_files.streamed(row)
        return StreamingHttpResponse(content, content_type="application/octet-stream", headers=headers)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Store the file that was sent. Raises `ProtocolError` where its room was taken since the form was read."""
        row = form.store(request.user)
        obj.pk, obj.filename, obj.bytes = row.pk, row.filename, row.bytes
        _record(request, row, "file.uploaded", bytes=row.bytes)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """What the confirmation lists: the files, not their pieces."""
        names = [f"{row.filename} ({row.pk})" for row in objs]
        return names, {str(self.opts.verbose_name_plural): len(names)}, set(), []

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """Delete as the API does, in the scope of the row's tenant."""
        try:
            stored_files.delete(obj.tenant_id, obj.pk)
            _record(request, obj, "file.deleted")
        except ProtocolError:
            self.message_user(request, f"{obj.filename} was deleted meanwhile.", messages.WARNING)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Delete each of the selected ones."""
        for row in queryset:
            self.delete_model(request, row)

    @admin.display(description="size")
    def size(self, row: Any) -> str:
        """How large it is, in words."""
        return format_html('<span class="whitespace-nowrap">{}</span>', filesizeformat(row.bytes))

    @admin.display(description="status")
    def state(self, row: Any) -> str:
        """The status, coloured."""
        colour = _COLOURS.get(row.status, "")
        return format_html('<span class="{}">{}</span>', colour, row.get_status_display())

    @admin.display(description="what there is to say of it", empty_value="–")
    def why(self, row: Any) -> str | None:
        """Why it could not be read."""
        return row.status_details or None

    @admin.display(description="uploaded by", empty_value="–")
    def who(self, row: Any) -> str | None:
        """The person, or the name of the key."""
        if not hasattr(row, "key_name"):
            _name_keys([row])
        return row.uploaded_by or row.key_name or (str(row.key_id) if row.key_id else None)

    @admin.display(description="uploaded")
    def created(self, row: Any) -> str:
        """When it was uploaded."""
        return format_html('<span class="whitespace-nowrap">{}</span>', show_time(row.created_at))

    @admin.display(description="expires")
    def expires(self, row: Any) -> str:
        """When it is deleted by itself."""
        return show_time(row.expires_at) or "never"

    @admin.display(description="id")
    def whole_id(self, row: Any) -> str:
        """The id, which breaks where it must."""
        return format_html('<span style="overflow-wrap:anywhere">{}</span>', row.pk)

    @admin.display(description="content")
    def content(self, row: Any) -> str:
        """The button that downloads it; the page's own form is around it, and has the token."""
        return format_html(
            '<button type="submit" formaction="{}" formnovalidate class="border border-base-200 cursor-pointer'
            ' font-medium px-3 py-2 rounded-default dark:border-base-700">Download</button>',
            reverse("admin:responses_api_file_content", args=[row.pk]),
        )


def _record(request: HttpRequest, row: Any, action: str, **details: Any) -> None:
    audit.record(action, row.filename, tenant_id=row.tenant_id, user=request.user, id=row.pk, **details)


def _name_keys(rows: list[Any]) -> None:
    """Say of each row by what name its key goes, with one query for all of them."""
    asked = {row.key_id for row in rows if row.key_id is not None}
    names = {key.id: key.name for key in ApiKey.objects.filter(id__in=asked)} if asked else {}
    for row in rows:
        row.key_name = names.get(row.key_id)
