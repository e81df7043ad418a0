"""Every address of the service, found in its URLs, and how each is asked for what belongs to somebody else.

A route without a case fails `test_every_route_has_its_case`.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from django.contrib import admin
from django.urls import URLPattern, URLResolver, get_resolver

from tests.isolation.account_routes import ACCOUNT_CASES
from tests.isolation.world import Estate

Case = Callable[[Estate], list[str]]
"""The addresses to ask for, made of what the friend has."""


def _fixed(*paths: str) -> Case:
    return lambda _: list(paths)


def _of(template: str) -> Case:
    def paths(estate: Estate) -> list[str]:
        had = {"response": estate.response_id, "file": estate.file_id}
        return [template.format(**had, tenant=estate.tenant.id, key=estate.key.id)]

    return paths


CASES: Final[dict[str, Case]] = {
    "^v1/responses/?$": _fixed("/v1/responses", "/v1/responses?limit=100&order=asc"),
    r"^v1/responses/(?:compact|input_tokens)/?$": _fixed(
        "/v1/responses/compact", "/v1/responses/input_tokens"
    ),
    r"^v1/responses/(?P<response_id>[^/]+)/cancel/?$": _of("/v1/responses/{response}/cancel"),
    r"^v1/responses/(?P<response_id>[^/]+)/?$": _of("/v1/responses/{response}"),
    r"^v1/responses/(?P<response_id>[^/]+)/input_items/?$": _of("/v1/responses/{response}/input_items"),
    "^v1/files/?$": _fixed("/v1/files", "/v1/files?limit=10000&order=asc"),
    r"^v1/files/(?P<file_id>[^/]+)/?$": _of("/v1/files/{file}"),
    r"^v1/files/(?P<file_id>[^/]+)/content/?$": _of("/v1/files/{file}/content"),
    "^v1/models/?$": _fixed("/v1/models"),
    "^v1/models/(?P<name>.+?)/?$": _fixed("/v1/models/test-model"),
    "^v1/usage/?$": _of("/v1/usage?tenant={tenant}&tenant_id={tenant}"),
    "^v1/limits/?$": _of("/v1/limits?tenant={tenant}&tenant_id={tenant}"),
    "^healthz/?$": _fixed("/healthz"),
    "^readyz/?$": _fixed("/readyz"),
    r"^openapi\.json/?$": _fixed("/openapi.json"),
    "^docs/?$": _fixed("/docs"),
    r"^llms\.txt/?$": _fixed("/llms.txt"),
    "admin": _fixed("/admin"),
    "admin/": _fixed("/admin/"),
    "admin/login/": _fixed("/admin/login/"),
    "admin/password_change/": _fixed("/admin/password_change/"),
    "admin/password_change/done/": _fixed("/admin/password_change/done/"),
    "admin/autocomplete/": lambda estate: [
        f"/admin/autocomplete/?app_label={app}&model_name={model}&field_name={name}&term={term}"
        for app, model, name in _autocompleted()
        for term in ("", estate.mark)
    ],
    "admin/jsi18n/": _fixed("/admin/jsi18n/"),
    "admin/search/": lambda estate: [f"/admin/search/?s={estate.mark}", "/admin/search/?s=key"],
    "admin/auth/user/<id>/password/": lambda estate: [f"/admin/auth/user/{estate.owner.pk}/password/"],
    "admin/tenants/apikey/<path:object_id>/rotate/": _of("/admin/tenants/apikey/{key}/rotate/"),
    "admin/playground/": _of("/admin/playground/?previous_response_id={response}&tenant={tenant}"),
    "admin/playground/key/": _fixed("/admin/playground/key/"),
    "admin/conformance/": _fixed("/admin/conformance/", "/admin/conformance/?model=test-model"),
    "admin/conformance/runs/<int:run_id>/": _fixed("/admin/conformance/runs/1/"),
    "admin/conformance/results/<int:result_id>/": _fixed("/admin/conformance/results/1/"),
    "admin/toggle-sidebar/": _fixed("/admin/toggle-sidebar/"),
    "admin/policies/try/": _of("/admin/policies/try/?tenant={tenant}&key={key}"),
    **{
        f"admin/tenants/toolpolicy/of/{ids}{page}": _of(f"/admin/tenants/toolpolicy/of/{values}{page}")
        for ids, values in (
            ("<uuid:tenant_id>/", "{tenant}/"),
            ("<uuid:tenant_id>/<uuid:key_id>/", "{tenant}/{key}/"),
        )
        for page in ("", "edit/", "restore/")
    },
    "admin/responses_api/response/export/": lambda estate: [
        f"/admin/responses_api/response/export/?{asked}"
        for asked in ("", f"q={estate.response_id}", f"tenant={estate.tenant.id}", f"key={estate.key.id}")
    ],
    "admin/responses_api/response/<path:object_id>/events/": _of(
        "/admin/responses_api/response/{response}/events/"
    ),
    "admin/responses_api/file/<path:object_id>/content/": _of("/admin/responses_api/file/{file}/content/"),
    "admin/responses_api/response/<path:object_id>/json/": _of(
        "/admin/responses_api/response/{response}/json/"
    ),
    **ACCOUNT_CASES,
}
"""Routes by their pattern. Those of the admin's models are made below, of the models themselves."""

_LEAVES: Final = frozenset({"admin/logout/", "accounts/logout/"})
"""What ends the session of who asks."""

NOBODYS: Final = frozenset({"responses_api.Backend", "responses_api.Route", "auth.User"})
"""Models of the admin whose rows belong to no tenant: only the operator sees them."""


def routes() -> Iterator[str]:
    """The patterns of every route, except those that end a session."""
    for route in _below(get_resolver().url_patterns, ""):
        if route not in _LEAVES:
            yield route


def case_of(route: str) -> Case | None:
    """How to ask a route for what the friend has; None where nobody has said so."""
    return CASES.get(route) or _admin_cases().get(route)


def _below(patterns: list[Any], prefix: str) -> Iterator[str]:
    for entry in patterns:
        route = f"{prefix}{entry.pattern}"
        if isinstance(entry, URLResolver):
            yield from _below(entry.url_patterns, route)
        elif isinstance(entry, URLPattern):
            yield route


def _admin_cases() -> dict[str, Case]:
    cases: dict[str, Case] = {
        "admin/r/<path:content_type_id>/<path:object_id>/": _fixed("/admin/r/1/1/"),
        "admin/(?P<url>.*)$": _fixed("/admin/nothing/"),
    }
    apps_with_admin = sorted({model._meta.app_label for model in admin.site._registry})
    for route in routes():
        if route.startswith("admin/^(?P<app_label>"):
            cases[route] = _fixed(*(f"/admin/{label}/" for label in apps_with_admin))
    for model in admin.site._registry:
        cases.update(_cases_of_model(model))
    for page in ("purge", "export", "end"):
        cases[f"admin/tenants/tenant/<uuid:tenant_id>/{page}/"] = _of(
            f"/admin/tenants/tenant/{{tenant}}/{page}/"
        )
    return cases


def _cases_of_model(model: Any) -> dict[str, Case]:
    base = f"admin/{model._meta.app_label}/{model._meta.model_name}/"

    def one(view: str) -> Case:
        return lambda estate: [f"/{base}{_row(estate, model)}/{view}"]

    return {
        base: lambda estate: [
            f"/{base}",
            f"/{base}?q={estate.mark}",
            f"/{base}?q={estate.response_id}",
            f"/{base}?tenant__id__exact={estate.tenant.id}",
            f"/{base}?tenant={estate.tenant.id}",
        ],
        f"{base}add/": lambda estate: [
            f"/{base}add/",
            f"/{base}add/?tenant={estate.tenant.id}&key={estate.key.id}",
        ],
        f"{base}<path:object_id>/": one(""),
        f"{base}<path:object_id>/history/": one("history/"),
        f"{base}<path:object_id>/delete/": one("delete/"),
        f"{base}<path:object_id>/change/": one("change/"),
    }


def _row(estate: Estate, model: Any) -> Any:
    if model._meta.label in NOBODYS:
        return 1
    return estate.objects[model._meta.label]


def _autocompleted() -> Iterator[tuple[str, str, str]]:
    """Every relation that a form of the admin could complete."""
    for model in admin.site._registry:
        for column in model._meta.get_fields():
            if column.is_relation and column.concrete and column.many_to_one:
                yield model._meta.app_label, str(model._meta.model_name), column.name
