"""Every page, wide and narrow, light and dark: nobody is kept out, and nothing runs off the screen."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.conftest import OPERATOR, PASSWORD, Mailbox
from tests.browser.looks import LOOKS, broken_rules, looking
from tests.browser.people import found_team, issue_key, sign_in, sign_up
from tests.support.forms import upload
from tests.support.service import Service

PUBLIC: Final = (
    "/",
    "/accounts/login/",
    "/accounts/signup/",
    "/accounts/password/reset/",
    "/accounts/invitation/nothing/",
)
SIGNED_IN: Final = (
    "/accounts/",
    "/accounts/team/",
    "/accounts/email/",
    "/accounts/password/change/",
    "/admin/",
    "/admin/responses_api/response/",
    "/admin/responses_api/response/{response}/change/",
    "/admin/responses_api/file/",
    "/admin/responses_api/file/add/",
    "/admin/responses_api/file/{file}/change/",
    "/admin/playground/",
    "/admin/tenants/apikey/",
    "/admin/tenants/apikey/add/",
    "/admin/tenants/limit/",
    "/admin/tenants/limit/add/",
    "/admin/tenants/toolpolicy/",
    "/admin/tenants/membership/",
    "/admin/tenants/invitation/",
    "/admin/tenants/invitation/add/",
    "/admin/tenants/tenant/",
    "/admin/tenants/tenant/{tenant}/purge/",
    "/admin/tenants/tenant/{tenant}/end/",
    "/admin/policies/try/",
)
OPERATORS: Final = (
    "/admin/conformance/",
    "/admin/conformance/runs/{run}/",
    "/admin/conformance/results/{result}/",
    "/admin/responses_api/backend/",
    "/admin/responses_api/route/",
)


@dataclass
class Visitor:
    """Somebody signed in, and what they have to look at."""

    state: Any
    ids: dict[str, str]


@pytest.fixture(scope="module")
def visitor(chromium: Browser, site: Service) -> Iterator[Visitor]:
    """The owner of a team that has a key and a response."""
    context = chromium.new_context(base_url=site.root_url)
    page = context.new_page()
    sign_up(page, "owner@pages.example", Mailbox(site.folder / "mails").newest_to)
    found_team(page, "Pages")
    client = site.client(issue_key(page, "laptop"))
    body = client.create(input="What is a page?").json()
    file = upload(client, b"Herons wade.").json()
    page.goto("/admin/tenants/tenant/")
    tenant = page.url.rstrip("/").split("/")[-2]
    yield Visitor(context.storage_state(), {"response": body["id"], "tenant": tenant, "file": file["id"]})
    context.close()


@pytest.fixture(scope="module")
def operator(chromium: Browser, site: Service) -> Iterator[Visitor]:
    """An operator, whose routes were checked: something failed, with its exchange."""
    name = {"DJANGO_SUPERUSER_USERNAME": OPERATOR, "DJANGO_SUPERUSER_EMAIL": "operator@pages.example"}
    with pytest.MonkeyPatch.context() as patch:
        for variable, value in {**name, "DJANGO_SUPERUSER_PASSWORD": PASSWORD}.items():
            patch.setitem(site.env, variable, value)
        site.manage("createsuperuser", "--noinput")
    site.upstream.reply(status=500, body=b'{"error": {"message": "Out of order."}}', always=True)
    with pytest.raises(RuntimeError, match="failed: text"):
        site.manage("conformance", "--routes", "--only", "text", "--only", "errors")
    site.upstream.clear()
    context = chromium.new_context(base_url=site.root_url)
    page = context.new_page()
    sign_in(page, OPERATOR, PASSWORD)
    page.goto(OPERATORS[0])
    ids = {}
    for name_of, link in (("run", "runs"), ("result", "results")):
        address = page.locator(f"a[href*='/conformance/{link}/']").first.get_attribute("href")
        ids[name_of] = (address or "").rstrip("/").split("/")[-1]
    yield Visitor(context.storage_state(), ids)
    context.close()


def contexts(chromium: Browser, site: Service, state: Any = None) -> Iterator[tuple[str, BrowserContext]]:
    """A browser for each look."""
    for look in LOOKS:
        with looking(chromium, site, look, state) as context:
            yield f"{look[0]} {look[1]}", context


def faults(page: Page, path: str, how: str) -> list[str]:
    """What is wrong with a page as it is shown now."""
    answer = page.goto(path)
    assert answer is not None
    found = [] if answer.status < 400 or path.endswith("nothing/") else [f"{how} {path}: {answer.status}"]
    return found + broken_rules(page, f"{how} {path}")


def test_pages_for_everybody_keep_nobody_out(chromium: Browser, site: Service) -> None:
    found = []
    for how, context in contexts(chromium, site):
        page = context.new_page()
        for path in PUBLIC:
            found += faults(page, path, how)
    assert found == []


@pytest.mark.parametrize("path", SIGNED_IN)
def test_a_page_of_the_site_keeps_nobody_out(
    chromium: Browser, site: Service, visitor: Visitor, path: str
) -> None:
    found = []
    for how, context in contexts(chromium, site, visitor.state):
        found += faults(context.new_page(), path.format(**visitor.ids), how)
    assert found == []


@pytest.mark.parametrize("path", OPERATORS)
def test_a_page_of_the_operator_keeps_nobody_out(
    chromium: Browser, site: Service, operator: Visitor, path: str
) -> None:
    found = []
    for how, context in contexts(chromium, site, operator.state):
        found += faults(context.new_page(), path.format(**operator.ids), how)
    assert found == []


def test_the_operator_runs_the_suite_by_a_button_and_reads_what_failed(
    chromium: Browser, site: Service, operator: Visitor
) -> None:
    context = chromium.new_context(base_url=site.root_url, storage_state=operator.state)
    page = context.new_page()
    page.goto(OPERATORS[0])
    page.get_by_role("link", name="✗ failed").first.click()
    expect(page.get_by_role("heading", name="What came: 500 application/json")).to_be_visible()
    expect(page.get_by_text("upstream_error").first).to_be_visible()
    page.goto(OPERATORS[0])
    page.get_by_role("button", name="Run now").click()
    expect(page.get_by_text("A worker is checking the routes")).to_be_visible()
    end = time.monotonic() + 60
    while not page.get_by_text("asked for in the admin").count():
        assert time.monotonic() < end, "the worker's run is not shown"
        page.wait_for_timeout(500)
        page.reload()
    expect(page.get_by_text("✓ passed").first).to_be_visible()
    context.close()
