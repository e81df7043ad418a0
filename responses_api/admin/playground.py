"""The playground: a page that asks the public API, as any app does, with a key that lasts for an hour.

The page never holds a key when it comes; its script asks for one by a POST of its own, keeps it in memory alone and
sends it as an app would. So what it does is admitted, counted and charged like everything else.
"""

import uuid
from typing import Any, Final

from django.contrib import admin
from django.core.exceptions import BadRequest, PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.response import TemplateResponse
from django.views.decorators.http import require_GET, require_POST

from responses_api.services.routing import read_models
from tenants.admin.base import is_operator, may_change, membership_of
from tenants.models import Tenant
from tenants.playground import playground_key
from tenants.site.content_policy import content_policy

_MOST_TENANTS: Final = 500
_NO_STORE: Final = {"Cache-Control": "no-store"}


@require_GET
def page(request: HttpRequest) -> HttpResponse:
    """The page. `?previous_response_id=` is what the first request continues. Raises `PermissionDenied`."""
    context = {
        **admin.site.each_context(request),
        "title": "Playground",
        "models": sorted(read_models()),
        "tenants": _tenants(request),
        "previous_response_id": request.GET.get("previous_response_id", "")[:200],
    }
    headers = {"Content-Security-Policy": _policy(request), **_NO_STORE}
    return TemplateResponse(request, "admin/playground/page.html", context, headers=headers)


@require_POST
def key(request: HttpRequest) -> HttpResponse:
    """A new key for the page's script, and its end in unix seconds. Raises `PermissionDenied`, `BadRequest`."""
    text, expires_at = playground_key(_chosen(request), request.user)
    return JsonResponse({"key": text, "expires_at": int(expires_at.timestamp())}, headers=_NO_STORE)


def _tenants(request: HttpRequest) -> list[Any]:
    """The tenants in whose name somebody may ask: it costs them. Raises `PermissionDenied` where there is none."""
    membership = membership_of(request)
    if membership is not None and may_change(request):
        return [membership.tenant]
    if not is_operator(request):
        raise PermissionDenied
    return list(Tenant.objects.filter(is_active=True).order_by("name")[:_MOST_TENANTS])


def _chosen(request: HttpRequest) -> Tenant:
    try:
        wanted = uuid.UUID(request.POST.get("tenant", ""))
    except ValueError:
        raise BadRequest("The playground's page names its tenant.") from None
    for tenant in _tenants(request):
        if tenant.pk == wanted:
            return tenant  # type: ignore[no-any-return]
    raise PermissionDenied


def _policy(request: HttpRequest) -> str:
    """As every page of the admin, but that it may open a WebSocket to this very host."""
    host = request.get_host()
    return content_policy(f"connect-src 'self' ws://{host} wss://{host}")
