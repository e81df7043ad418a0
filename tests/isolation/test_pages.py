"""Every address, asked by everybody: nothing of the friend is told, and nothing of it changes."""

import asyncio
from collections import Counter
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client as Browser

from tenants.models import AuditEvent
from tenants.scoping import tenant_scope
from tests.isolation.conftest import World, browser_of
from tests.isolation.routes import NOBODYS, case_of, routes
from tests.isolation.world import Estate


def told(answer: Any) -> str:
    """Everything that an answer says, with its headers."""
    body = _streamed(answer) if answer.streaming else answer.content
    return body.decode("utf-8", "replace") + " ".join(f"{name}: {value}" for name, value in answer.items())


def _streamed(answer: Any) -> bytes:
    if not answer.is_async:
        return b"".join(answer.streaming_content)

    async def whole() -> bytes:
        return b"".join([piece async for piece in answer.streaming_content])

    return asyncio.run(whole())


def without_messages(browser: Browser) -> None:
    """The next page must not tell what was asked for by name before ("there is no key with this id")."""
    browser.cookies.pop("messages", None)


def leaked(estate: Estate, text: str, asked: str) -> list[str]:
    """What is told of somebody else's, besides what was asked by name."""
    return [secret for secret in estate.secrets if secret in text and secret not in asked]


def test_every_route_has_its_case() -> None:
    missing = [route for route in routes() if case_of(route) is None]
    assert missing == [], "tests/isolation/routes.py must say how each of these is asked for what is foreign"


def test_every_model_of_the_admin_has_a_row_to_ask_for(world: World) -> None:
    models = {model._meta.label for model in admin.site._registry}
    assert models - set(world.friend.objects) - NOBODYS == set()


def test_nobody_else_reads_anything_of_the_friend(world: World) -> None:
    found = []
    for route in routes():
        case = case_of(route)
        for path in case(world.friend) if case else ():
            for who, browser in world.browsers.items():
                without_messages(browser)
                answer = browser.get(path)
                text = told(answer)
                leaks = leaked(world.friend, text, path)
                if leaks or answer.status_code == 500:
                    found.append((who, path, answer.status_code, leaks))
    assert found == [], "\n".join(map(str, found))


def test_a_page_of_something_foreign_is_as_one_of_nothing(world: World) -> None:
    """The same status and place to go on, whether the id is somebody else's or nobody's."""
    unlike = []
    for model in admin.site._registry:
        label = model._meta.label
        if label in NOBODYS:
            continue
        foreign = str(world.friend.objects[label])
        unknown = foreign[:-4] + ("0000" if not foreign.endswith("0000") else "1111")
        base = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        for who, browser in world.browsers.items():
            for view in ("change/", "delete/", "history/"):
                answers = [browser.get(f"{base}{row}/{view}") for row in (foreign, unknown)]
                seen = [
                    (answer.status_code, answer.get("Location", "").replace(row, ""))
                    for row, answer in zip((foreign, unknown), answers, strict=True)
                ]
                if seen[0] != seen[1] or answers[0].status_code == 200:
                    unlike.append((who, f"{base}{view}", seen))
    assert unlike == []


def test_nobody_else_changes_anything_of_the_friend(world: World) -> None:
    before = world.friend.fingerprint()
    failed = []
    for route in routes():
        case = case_of(route)
        for path in case(world.friend) if case else ():
            for who, browser in world.browsers.items():
                for form in _forms(world.friend, path):
                    without_messages(browser)
                    answer = browser.post(path, form)
                    leaks = leaked(world.friend, told(answer), f"{path} {form}")
                    if leaks or answer.status_code == 500:
                        failed.append((who, path, form, answer.status_code, leaks))
    assert failed == [], "\n".join(map(str, failed))
    assert world.friend.fingerprint() == before


def test_the_friend_and_the_operator_do_see_it(world: World) -> None:
    """Otherwise nothing above would mean anything."""
    for browser in (world.operator, world.owner):
        page = browser.get(f"/admin/responses_api/response/{world.friend.response_id}/change/")
        assert page.status_code == 200
        assert world.friend.mark in told(page)
        assert world.friend.response_id in told(browser.get("/admin/responses_api/response/"))


def _forms(estate: Estate, path: str) -> list[dict[str, Any]]:
    """Forms that name what is foreign, as somebody would write them by hand."""
    named = {
        "tenant": str(estate.tenant.id),
        "key": str(estate.key.id),
        "user": str(estate.owner.pk),
        "name": "taken over",
        "role": "owner",
        "metric": "tokens_per_day",
        "amount": "1",
        "post": "yes",
        "confirmed": "1",
    }
    parts = path.strip("/").split("/")
    if len(parts) != 3 or parts[0] != "admin":
        return [named]
    model = next(
        (
            model
            for model in admin.site._registry
            if (model._meta.app_label, model._meta.model_name) == (parts[1], parts[2])
        ),
        None,
    )
    if model is None or model._meta.label in NOBODYS:
        return [named]
    row = str(estate.objects[model._meta.label])
    actions = ["delete_selected", *(getattr(admin.site._registry[model], "actions", None) or ())]
    return [
        {**named, "action": action, "_selected_action": row, "index": "0", "select_across": across}
        for action in actions
        if isinstance(action, str)
        for across in ("0", "1")
    ]


@pytest.mark.parametrize("who", ["a stranger's member", "the friend's member"])
def test_a_member_changes_nothing(world: World, who: str) -> None:
    estate = world.stranger if who == "a stranger's member" else world.friend
    browser = browser_of(estate.member)
    before, noted = estate.fingerprint(), audited(estate)
    for route in routes():
        case = case_of(route)
        if not route.startswith("admin/"):
            continue
        for path in case(estate) if case else ():
            for form in _forms(estate, path):
                assert browser.post(path, form).status_code < 500, path
    # Whoever may look may export and download, and that is written down.
    assert set(audited(estate) - noted) == {"response.exported", "responses.exported", "file.downloaded"}
    after = estate.fingerprint()
    log = AuditEvent._meta.db_table
    assert {**after, log: ""} == {**before, log: ""}


def audited(estate: Estate) -> Counter[str]:
    """How often each act stands in the audit log of a tenant."""
    with tenant_scope(estate.tenant.id):
        return Counter(AuditEvent.objects.values_list("action", flat=True))
