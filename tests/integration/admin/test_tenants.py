"""Tenants, backends and operators in the admin."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from responses_api.models import Backend, Route
from tenants.keys import find_principal, forget, issue_key
from tenants.models import Tenant
from tests.support.tenants import make_tenant, tenant_names

Commits = Callable[..., AbstractContextManager[list[Any]]]

TENANTS = "/admin/tenants/tenant/"
BACKENDS = "/admin/responses_api/backend/"
ROUTES = {"routes-TOTAL_FORMS": "1", "routes-INITIAL_FORMS": "0"}
BACKEND = {
    "name": "example",
    "kind": "chat_completions",
    "base_url": "https://api.example.com/v1",
    "api_key_env": "EXAMPLE_KEY",
    "token_counting": "vllm",
    "images": "noted",
    "files": "refused",
    "media_urls": "sent",
    "default_options": "",
    "structured_output": "sent",
    "thinking_tags": "told",
    "tools": "native",
    "reasoning": "summary",
    "is_enabled": "on",
    "connect_timeout": "5",
    "first_byte_timeout": "120",
    "idle_timeout": "60",
    "total_timeout": "900",
    "routes-0-model": "large",
    "routes-0-upstream_model": "large-2025",
    "routes-0-context_window": "32000",
    "routes-0-input_price": "0.25",
    "routes-0-cached_input_price": "",
    "routes-0-output_price": "2",
    "routes-0-position": "0",
    "routes-0-weight": "2",
    **ROUTES,
}


def test_a_tenant_is_made(operator: Client) -> None:
    assert operator.post(f"{TENANTS}add/", {"name": "New & Co", "is_active": "on"}).status_code == 302
    assert tenant_names() == ["New & Co"]
    assert "New &amp; Co" in operator.get(TENANTS).content.decode()


def test_switching_a_tenant_off_refuses_its_keys_everywhere(
    operator: Client, friend: Tenant, django_capture_on_commit_callbacks: Commits
) -> None:
    text = issue_key(friend, name="laptop")
    assert find_principal(text) is not None
    with django_capture_on_commit_callbacks() as announced:
        operator.post(f"{TENANTS}{friend.id}/change/", {"name": friend.name})
    assert len(announced) == 1
    forget()
    assert find_principal(text) is None


def test_renaming_a_tenant_announces_nothing(
    operator: Client, friend: Tenant, django_capture_on_commit_callbacks: Commits
) -> None:
    with django_capture_on_commit_callbacks() as announced:
        operator.post(f"{TENANTS}{friend.id}/change/", {"name": "Other", "is_active": "on"})
    assert announced == []
    assert tenant_names() == ["Other"]


def test_a_tenant_is_not_deleted_here(operator: Client, friend: Tenant) -> None:
    assert operator.post(f"{TENANTS}{friend.id}/delete/", {"post": "yes"}).status_code == 403
    assert tenant_names() == [friend.name]


def test_the_list_of_tenants_costs_the_same_queries_for_many(operator: Client, friend: Tenant) -> None:
    with CaptureQueriesContext(connection) as few:
        operator.get(TENANTS)
    for number in range(5):
        issue_key(make_tenant(f"tenant {number}"), name="key")
    with CaptureQueriesContext(connection) as many:
        operator.get(TENANTS)
    assert len(many) == len(few) <= 11


def test_a_backend_is_made_with_its_routes(operator: Client) -> None:
    assert operator.post(f"{BACKENDS}add/", BACKEND).status_code == 302
    route = Route.objects.select_related("backend").get()
    assert (route.model, route.upstream_model, route.backend.api_key_env) == (
        "large",
        "large-2025",
        "EXAMPLE_KEY",
    )
    assert (route.context_window, route.backend.token_counting) == (32_000, "vllm")
    assert route.backend.images == "noted"
    prices = Route.objects.values_list("input_price", "cached_input_price", "output_price").get()
    assert [*prices] == [Decimal("0.25"), None, Decimal(2)]
    assert "large" in operator.get(BACKENDS).content.decode()
    assert operator.get(f"{BACKENDS}{route.backend_id}/change/").status_code == 200
    assert "EXAMPLE_KEY" not in LogEntry.objects.get().change_message


@pytest.mark.parametrize(
    "mistake",
    [{"base_url": "https://user:password@api.example.com/v1"}, {"api_key_env": "sk-a-key-and-not-a-name"}],
    ids=["address", "variable"],
)
def test_a_backend_takes_no_credentials(operator: Client, mistake: dict[str, str]) -> None:
    assert operator.post(f"{BACKENDS}add/", {**BACKEND, **mistake}).status_code == 200
    assert not Backend.objects.exists()


def test_the_list_of_backends_costs_the_same_queries_for_many(operator: Client) -> None:
    def listing() -> int:
        number = Backend.objects.count()
        for count in range(3):
            backend = Backend.objects.create(name=f"b{number + count}", base_url="http://stub.invalid/v1")
            Route.objects.create(model="one", backend=backend)
        with CaptureQueriesContext(connection) as captured:
            assert operator.get(BACKENDS).status_code == 200
        return len(captured)

    assert listing() == listing() <= 11


def test_every_page_of_operators_opens(operator: Client) -> None:
    user_id = int(operator.session["_auth_user_id"])
    for path in ("", "add/", f"{user_id}/change/", f"{user_id}/password/"):
        page = operator.get(f"/admin/auth/user/{path}")
        assert page.status_code == 200
        if path == "add/":
            assert 'name="username"' in page.content.decode()
