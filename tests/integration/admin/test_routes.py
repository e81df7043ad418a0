"""The routes of all backends by model, how breakers stand, and which backends were passed over for a response."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from responses_api.eventlog import names
from responses_api.eventlog.connection import blocking_client
from responses_api.models import Backend, Route
from responses_api.services.finish import finish
from tenants.models import Tenant
from tests.integration.builders import ended, job_of, said

VALKEY: Any = blocking_client()
URL = "https://api.example.com/v1"
TRIED = {"backend": "first", "model": "up", "reason": "rate_limit_exceeded", "status": 429, "ms": 1234}


@pytest.fixture
def backends(db: None) -> Iterator[list[Backend]]:
    """Three backends, whose breakers are forgotten afterwards."""
    made = [Backend.objects.create(name=name, base_url=URL) for name in ("first", "second", "third")]
    yield made
    VALKEY.delete(*[names.breaker(backend.name) for backend in made])


def text_of(browser: Client, path: str) -> str:
    """What a page says, without its tags."""
    answer = browser.get(path)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", answer.content.decode()))


def test_routes_are_listed_by_model_in_the_order_in_which_backends_are_asked(
    operator: Client, backends: list[Backend]
) -> None:
    first, second, third = backends
    Route.objects.create(model="wren", backend=third, position=1)
    Route.objects.create(model="wren", backend=second, position=0, weight=7, upstream_model="wren-large")
    Route.objects.create(model="robin", backend=first)
    rows = operator.get("/admin/responses_api/route/").context["cl"].result_list
    assert [(row.model, row.backend.name) for row in rows] == [
        ("robin", "first"),
        ("wren", "second"),
        ("wren", "third"),
    ]
    shown = text_of(operator, "/admin/responses_api/route/")
    assert "wren-large" in shown
    page = operator.get("/admin/responses_api/route/").content.decode()
    assert f'href="/admin/responses_api/backend/{second.pk}/change/"' in page
    assert 'data-label="model"' in page  # what a narrow screen shows in the place of the heading
    found = operator.get("/admin/responses_api/route/?q=robin").context["cl"].result_list
    assert [row.model for row in found] == ["robin"]


def test_routes_are_changed_with_their_backend_alone(operator: Client, backends: list[Backend]) -> None:
    route = Route.objects.create(model="wren", backend=backends[0])
    base = "/admin/responses_api/route/"
    assert operator.post(f"{base}add/", {"model": "x"}).status_code == 403
    assert operator.post(f"{base}{route.pk}/change/", {"model": "x"}).status_code == 403
    assert operator.post(f"{base}{route.pk}/delete/", {"post": "yes"}).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": route.pk, "post": "yes"}
    operator.post(base, chosen)
    assert Route.objects.get().model == "wren"
    answer = operator.post(f"/admin/responses_api/backend/{backends[0].pk}/delete/", {"post": "yes"})
    assert answer.status_code == 302
    assert not Route.objects.exists()


def test_routes_are_the_operators_business(staff: Client, backends: list[Backend]) -> None:
    assert staff.get("/admin/responses_api/route/").status_code in (302, 403)


def test_breakers_are_shown_with_the_backends_and_on_the_dashboard(
    operator: Client, backends: list[Backend]
) -> None:
    now = VALKEY.time()[0] * 1000
    VALKEY.hset(names.breaker("first"), mapping={"until": now + 90_000})
    VALKEY.hset(names.breaker("second"), mapping={"until": now - 1000})
    VALKEY.hset(names.breaker("third"), mapping={"failures": 2, "since": now})
    for path in ("/admin/responses_api/backend/", "/admin/"):
        shown = text_of(operator, path)
        assert re.search(r"first\b.*\bopen for (89|90|91) s", shown)
        assert re.search(r"second\b.*\bhalf open: the next request tries it", shown)
        assert re.search(r"third\b.*\bclosed, after a failure", shown)


def test_a_valkey_that_is_away_leaves_the_list_without_breakers(
    operator: Client, backends: list[Backend], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Any) -> Any:
        raise ConnectionError

    monkeypatch.setattr("responses_api.services.health.breakers", fail)
    assert "closed" not in text_of(operator, "/admin/responses_api/backend/")


def test_what_was_passed_over_is_shown_and_exported(
    operator: Client, friend: Tenant, settings: Settings
) -> None:
    outcome = replace(ended(job_of(friend), said("Hi")), tried=[TRIED])
    finish([outcome])
    page = f"/admin/responses_api/response/{outcome.job.response_id}/"
    shown = text_of(operator, f"{page}change/")
    assert "passed over: first" in shown
    assert "up: rate_limit_exceeded (status 429) after 1,234 ms" in shown
    assert json.loads(operator.get(f"{page}json/").content)["tried"] == [TRIED]
