"""What a tenant's owner, or the operator, does with all of its data at once: purge, export, delete."""

import uuid
from collections.abc import AsyncIterator
from typing import Any, Final

from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.template.defaultfilters import filesizeformat
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.text import slugify

from responses_api.protocol.errors import ProtocolError
from responses_api.services.database import in_database
from responses_api.services.export import download
from responses_api.services.housekeeping import ask_for_purge, begin_end
from responses_api.services.identity import now
from responses_api.services.tenant_export import export
from responses_api.services.uploads import stored_bytes
from tenants import audit
from tenants.admin.tenants import TenantAdmin, may_decide
from tenants.models import Tenant
from tenants.scoping import tenant_scope

_DAY_SECONDS: Final = 86_400
_MOST_DAYS: Final = 36_500
_PLACE: Final = "admin/tenants/tenant"


@admin.register(Tenant)
class TenantDataAdmin(TenantAdmin):
    """A tenant's page with what can be done with its data."""

    change_form_outer_after_template = f"{_PLACE}/data.html"
    readonly_fields = (*TenantAdmin.readonly_fields, "files_of_tenant")

    def get_urls(self) -> list[Any]:
        """The pages of the three, before those of Django's admin."""
        pages = (("purge", self.purge_view), ("export", self.export_view), ("end", self.end_view))
        own = [
            path(
                f"<uuid:tenant_id>/{name}/",
                self.admin_site.admin_view(view),
                name=f"tenants_tenant_{name}",
            )
            for name, view in pages
        ]
        return [*own, *super().get_urls()]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """The page; who may not decide about the tenant is not offered to."""
        context = {**(extra_context or {}), "may_decide": may_decide(request)}
        return super().change_view(request, object_id, form_url, context)

    def purge_view(self, request: HttpRequest, tenant_id: uuid.UUID) -> HttpResponse:
        """Ask once, then have a worker delete what is older than so many days."""
        tenant = self._tenant(request, tenant_id)
        days = request.POST.get("days", "")
        if request.method != "POST":
            return self._page(request, tenant, "purge", "Delete stored responses")
        if not (days.isascii() and days.isdigit() and int(days) <= _MOST_DAYS):
            problem = f"Give a whole number of days between 0 (everything) and {_MOST_DAYS}."
            return self._page(request, tenant, "purge", "Delete stored responses", problem=problem)
        try:
            ask_for_purge(tenant, before=now() + 1 - int(days) * _DAY_SECONDS, user=request.user)
        except ProtocolError as error:
            return self._page(request, tenant, "purge", "Delete stored responses", problem=error.message)
        self.message_user(
            request,
            "The responses are being deleted; the audit log tells how many when it is done.",
            messages.SUCCESS,
        )
        return self._back(tenant)

    def export_view(self, request: HttpRequest, tenant_id: uuid.UUID) -> HttpResponseBase:
        """Everything of the tenant as a ZIP file, sent while it is made. A POST: it is written down."""
        tenant = self._tenant(request, tenant_id)
        if request.method != "POST":
            return self._back(tenant)
        audit.record("tenant.exported", tenant.name, tenant_id=tenant.id, user=request.user)
        return StreamingHttpResponse(
            _pieces(tenant.id),
            content_type="application/zip",
            headers=download(f"{slugify(tenant.name) or 'tenant'}.zip"),
        )

    def end_view(self, request: HttpRequest, tenant_id: uuid.UUID) -> HttpResponse:
        """Ask for the tenant's name, then switch it off and have everything of it deleted."""
        tenant = self._tenant(request, tenant_id)
        title = "Delete this tenant and everything of it"
        if request.method != "POST":
            return self._page(request, tenant, "end", title)
        if request.POST.get("name", "").strip() != tenant.name:
            problem = "That is not the tenant's name, so nothing was deleted."
            return self._page(request, tenant, "end", title, problem=problem)
        begin_end(tenant, user=request.user)
        self.message_user(request, f"{tenant.name} is switched off and being deleted.", messages.SUCCESS)
        return HttpResponseRedirect(reverse("admin:index"))

    @admin.display(description="files")
    def files_of_tenant(self, tenant: Tenant) -> str:
        """How much of its room they take, and the way to them."""
        with tenant_scope(tenant.id):
            used = filesizeformat(stored_bytes())
        most = settings.TENANT_FILE_BYTES
        return format_html(
            '{} · <a class="underline" href="{}?{}">All files of this tenant</a>',
            used if most is None else f"{used} of {filesizeformat(most)}",
            reverse("admin:responses_api_file_changelist"),
            urlencode({"tenant__id__exact": str(tenant.id)}),
        )

    def _tenant(self, request: HttpRequest, tenant_id: uuid.UUID) -> Tenant:
        """The tenant. Raises `Http404` alike for one that is not there and one that is somebody else's,
        `PermissionDenied` for people who may only look.
        """
        tenant = self.get_queryset(request).filter(id=tenant_id).first()
        if not isinstance(tenant, Tenant):
            raise Http404
        if not may_decide(request):
            raise PermissionDenied
        return tenant

    def _page(
        self, request: HttpRequest, tenant: Tenant, name: str, title: str, problem: str | None = None
    ) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": title,
            "tenant": tenant,
            "problem": problem,
        }
        status = 400 if problem else 200
        return TemplateResponse(request, f"{_PLACE}/{name}.html", context, status=status)

    def _back(self, tenant: Tenant) -> HttpResponseRedirect:
        return HttpResponseRedirect(reverse("admin:tenants_tenant_change", args=[tenant.id]))


async def _pieces(tenant_id: uuid.UUID) -> AsyncIterator[bytes]:
    """The export, each piece made in a thread when the client has taken the one before it."""
    pieces = export(tenant_id)
    while (piece := await in_database(next, pieces, b"")) != b"":
        yield piece
