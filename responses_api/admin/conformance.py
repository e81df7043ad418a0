"""What the conformance suite found at each route: the operator's page, with the call that showed it."""

import json
from contextlib import suppress
from typing import Any, Final

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods, require_safe
from redis.exceptions import RedisError

from responses_api.models import ConformanceResult, ConformanceRun
from responses_api.protocol.errors import ProtocolError
from responses_api.services.check_asking import ask_for_check
from responses_api.services.check_reading import history, matrix, sentences
from responses_api.services.route_checks import is_under_way
from tenants.admin.base import is_operator

_NO_STORE: Final = {"Cache-Control": "no-store"}


@require_http_methods(["GET", "HEAD", "POST"])
def overview(request: HttpRequest) -> HttpResponse:
    """The matrix and the runs before; a POST asks for a look now."""
    _only_for_operators(request)
    if request.method == "POST":
        return _begin(request)
    model, backend = request.GET.get("model", ""), request.GET.get("backend", "")
    context = {
        "title": "Conformance",
        "matrix": matrix(),
        "runs": list(history(model, backend)),
        "of": " at ".join(filter(None, (model, backend))),
        "is_under_way": _is_under_way(),
    }
    return _page(request, "overview", context)


@require_safe
def run_page(request: HttpRequest, run_id: int) -> HttpResponse:
    """One run: every scenario, and what was seen."""
    _only_for_operators(request)
    run = ConformanceRun.objects.filter(id=run_id).first()
    if run is None:
        raise Http404
    results = run.results.defer("exchange")
    context = {
        "title": str(run),
        "run": run,
        "results": [(result, sentences().get(result.scenario, "")) for result in results],
    }
    return _page(request, "run", context)


@require_safe
def result_page(request: HttpRequest, result_id: int) -> HttpResponse:
    """How one scenario ended, with the call that showed it."""
    _only_for_operators(request)
    result = ConformanceResult.objects.filter(id=result_id).select_related("run").first()
    if result is None:
        raise Http404
    exchange: Any = result.exchange
    context = {
        "title": f"{result.scenario} of {result.run}",
        "result": result,
        "sentence": sentences().get(result.scenario, ""),
        "exchange": exchange,
        "sent": _readable(exchange["sent"]) if exchange else "",
        "received": _readable(exchange["received"]) if exchange else "",
    }
    return _page(request, "result", context)


def _begin(request: HttpRequest) -> HttpResponse:
    try:
        ask_for_check(request.user)
    except ProtocolError as error:
        messages.error(request, error.message)
    else:
        messages.success(
            request, "A worker is checking the routes, one after the other; load the page again to see more."
        )
    return redirect("conformance")


def _is_under_way() -> bool:
    with suppress(RedisError, OSError):
        return is_under_way()
    return False


def _only_for_operators(request: HttpRequest) -> None:
    if not is_operator(request):
        raise PermissionDenied


def _page(request: HttpRequest, name: str, context: dict[str, Any]) -> TemplateResponse:
    context = {**admin.site.each_context(request), **context}
    return TemplateResponse(request, f"admin/conformance/{name}.html", context, headers=_NO_STORE)


def _readable(text: str) -> str:
    """JSON with a line for each field; anything else, and JSON that was cut, as it is."""
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except ValueError:
        return text
