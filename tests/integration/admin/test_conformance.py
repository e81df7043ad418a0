"""The pages of what the conformance suite found: the operator's alone."""

from typing import Any

import pytest
from celery import current_app
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from responses_api.models import Backend, ConformanceResult, ConformanceRun, Route
from responses_api.services import check_asking
from tenants.models import AuditEvent, Tenant
from tenants.scoping import operator_scope
from tests.integration.admin.people import person_of

PAGE = "/admin/conformance/"
EXCHANGE = {
    "request": "POST /responses",
    "sent": '{"model": "fast", "input": "<script>alert(1)</script>"}',
    "status": 200,
    "media_type": "application/json",
    "received": "what came, …(9000 characters are left out)… and its end",
}


def route(backend: str, model: str = "fast") -> None:
    row, _ = Backend.objects.get_or_create(name=backend, defaults={"base_url": "http://127.0.0.1:9/v1"})
    Route.objects.create(model=model, backend=row)


def run(backend: str = "east", ends: dict[str, str] | None = None, **fields: Any) -> ConformanceRun:
    made = ConformanceRun.objects.create(
        model="fast", backend=backend, kind="anthropic", upstream_model="inner", occasion="schedule", **fields
    )
    for position, (scenario, end) in enumerate((ends or {}).items()):
        ConformanceResult.objects.create(
            run=made,
            position=position,
            scenario=scenario,
            end=end,
            sentence=f"What was seen of {scenario} at {backend}.",
            seconds=1.25,
            exchange=EXCHANGE if end == "failed" else None,
        )
    return made


def text_of(browser: Client, path: str = PAGE) -> str:
    answer = browser.get(path)
    assert answer.status_code == 200, path
    return answer.content.decode()


def test_the_matrix_has_the_newest_run_of_each_route_in_words(operator: Client) -> None:
    for backend in ("east", "west", "north"):
        route(backend)
    run(ends={"text": "failed"})
    run(ends={"text": "passed", "image": "not supported", "stream": "inconclusive"})
    run("west", ends={"text": "failed"})
    run("gone", ends={"text": "passed"})
    page = text_of(operator)
    table = page[page.index("<table") : page.index("</table>")]
    assert (table.count("✓ passed"), table.count("✗ failed")) == (2, 1)
    assert (table.count("? inconclusive"), table.count("– not supported")) == (1, 1)
    assert "not run yet" in table
    assert "not routed any more" in table
    assert table.index("east") < table.index("west") < table.index("north") < table.index("gone")
    assert "1.3 s" in table
    assert "A question is answered with a message" in table


def test_a_click_shows_the_exchange_that_failed(operator: Client) -> None:
    route("east")
    made = run(ends={"text": "failed", "stream": "passed"})
    failed, passed = made.results.all()
    path = f"/admin/conformance/results/{failed.pk}/"
    assert path in text_of(operator)
    page = text_of(operator, path)
    assert "What was seen of text at east." in page
    assert "What was sent: POST /responses" in page
    assert "&lt;script&gt;alert(1)" in page
    assert "characters are left out" in page
    assert "✗ failed" in page
    assert "The call is kept where a scenario does not pass." in text_of(
        operator, f"/admin/conformance/results/{passed.pk}/"
    )


def test_a_run_and_the_runs_before_are_listed(operator: Client) -> None:
    route("east")
    old = run(ends={"text": "failed", "stream": "passed"})
    run("west", ends={"text": "passed"})
    run(problem="There is nobody at http://127.0.0.1:9/v1: no.")
    page = text_of(operator)
    assert "1 failed</span>, 1 passed, 0 inconclusive, 0 not supported" in page
    assert page.count("There is nobody at") == 2
    of_east = text_of(operator, f"{PAGE}?model=fast&backend=east")
    runs = of_east[of_east.index('id="runs"') :]
    assert "fast at east" in runs
    assert "fast → west" not in runs
    of_run = text_of(operator, f"/admin/conformance/runs/{old.pk}/")
    assert "What was seen of text at east." in of_run
    assert "on schedule" in of_run


def test_what_is_not_there_is_not_found(operator: Client) -> None:
    for path in ("runs/1/", "results/1/", f"runs/{10**30}/"):
        assert operator.get(f"{PAGE}{path}").status_code == 404
    assert "There is no route" in text_of(operator)


def test_the_pages_ask_as_often_for_much_as_for_little(operator: Client) -> None:
    def queries(path: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            text_of(operator, path)
        return len(captured)

    asked = []
    for count in (1, 9):
        for number in range(count):
            route(f"{count}-{number}")
            ends = {f"scenario {at}": "failed" for at in range(count)}
            latest = run(f"{count}-{number}", ends)
        asked.append((queries(PAGE), queries(f"/admin/conformance/runs/{latest.pk}/")))
    assert asked[0] == asked[1]
    assert max(asked[1]) <= 20


# ---- run now


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> list[tuple[str, Any]]:
    """What was put into the queue."""
    settings.CONFORMANCE_URL = "http://127.0.0.1:8000/v1"
    queued: list[tuple[str, Any]] = []
    monkeypatch.setattr(current_app, "send_task", lambda name, args, **_: queued.append((name, args)))
    return queued


def test_a_run_is_asked_for_by_a_button_and_written_down(
    operator: Client, sent: list[tuple[str, Any]]
) -> None:
    assert 'method="post"' in text_of(operator)
    assert sent == []
    answer = operator.post(PAGE, follow=True)
    assert "A worker is checking the routes" in answer.content.decode()
    assert sent == [("antiphon.check_routes", ["asked"])]
    with operator_scope():
        event = AuditEvent.objects.get(action="conformance.asked")
    assert (event.actor, event.tenant_id) == ("operator", None)


def test_a_run_that_cannot_begin_says_why(
    operator: Client, sent: list[tuple[str, Any]], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_asking, "is_under_way", lambda: True)
    assert "is under way; wait for its end" in operator.post(PAGE, follow=True).content.decode()

    def away() -> bool:
        raise ConnectionError("secret address")

    monkeypatch.setattr(check_asking, "is_under_way", away)
    told = operator.post(PAGE, follow=True).content.decode()
    assert "The queue does not answer" in told
    assert "secret address" not in told
    settings.CONFORMANCE_URL = ""
    assert "Set ANTIPHON_CONFORMANCE_URL" in operator.post(PAGE, follow=True).content.decode()
    assert sent == []


def test_a_button_of_another_site_begins_nothing(operator: Client, sent: list[tuple[str, Any]]) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = operator.cookies
    assert strict.post(PAGE).status_code == 403
    assert sent == []


def test_nobody_else_comes_in(staff: Client, friend: Tenant, sent: list[tuple[str, Any]]) -> None:
    made = run(ends={"text": "failed"})
    pages = (PAGE, f"{PAGE}runs/{made.pk}/", f"{PAGE}results/{made.results.get().pk}/")
    for browser in (staff, Client(), person_of(friend, "owner"), person_of(friend, "member")):
        for page in pages:
            for answer in (browser.get(page), browser.post(page)):
                assert answer.status_code in (302, 403, 405)
                assert "What was seen" not in answer.content.decode()
    assert sent == []
