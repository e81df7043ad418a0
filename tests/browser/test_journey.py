"""A new team's way, from the front door to a key that is revoked."""

import json

from playwright.sync_api import Page, expect

from tests.browser.conftest import Mailbox
from tests.browser.people import found_team, issue_key, sign_up
from tests.support.chat import ToolCall, chat_calls, chat_stream
from tests.support.client import wait_until
from tests.support.service import MODEL, Service

TOOLS = [
    {
        "type": "function",
        "name": "delete_everything",
        "parameters": {"type": "object", "properties": {}},
        "strict": False,
    }
]


def test_the_way_of_a_new_team(page: Page, site: Service, mailbox: Mailbox) -> None:
    sign_up(page, "ada@team.example", mailbox.newest_to)
    found_team(page, "Analytical Engines")

    key = issue_key(page, "first app")
    assert key.startswith("ak_")
    page.goto("/admin/tenants/apikey/")
    assert key not in page.content()
    assert key[-4:] in page.content()

    # The key works as it would from a shell.
    client = site.client(key)
    site.upstream.reply(body=chat_stream("Good ", "morning."))
    body = client.create(input="Greet me, please.").json()
    assert body["status"] == "completed"

    page.goto("/admin/responses_api/response/")
    page.get_by_role("link", name=body["id"]).first.click()
    expect(page.get_by_text("Greet me, please.").first).to_be_visible()
    expect(page.get_by_text("Good morning.").first).to_be_visible()

    forbid(page, "delete_*")
    site.upstream.reply(body=chat_calls(ToolCall("delete_everything")))
    page.goto("/admin/playground/")
    page.locator("[name=input]").fill("Clean up.")
    page.locator("details.pg-tools summary").click()
    page.locator("[name=tools]").fill(json.dumps(TOOLS))
    page.locator("#pg-send").click()
    problem = page.locator("#pg-problem")
    expect(problem).to_be_visible()
    expect(problem).to_contain_text("delete_everything")

    revoke(page, "first app")
    wait_until(lambda: client.get("/models").status == 401, timeout=5, what="the key is refused")
    refused = client.create(input="Still there?")
    assert (refused.status, refused.error["code"]) == (401, "invalid_api_key")
    # Another team never heard of any of it.
    assert site.stranger.get(f"/responses/{body['id']}").status == 404


def test_the_playground_shows_an_answer_as_it_comes(page: Page, site: Service, mailbox: Mailbox) -> None:
    sign_up(page, "grace@team.example", mailbox.newest_to)
    found_team(page, "Compilers")
    for transport in ("sse", "websocket", "json"):
        site.upstream.reply(body=chat_stream("Hello ", f"by {transport}."))
        page.goto("/admin/playground/")
        page.locator("[name=model]").select_option(MODEL)
        page.locator("[name=transport]").select_option(transport)
        page.locator("[name=input]").fill("Say hello.")
        page.locator("#pg-send").click()
        expect(page.locator("#pg-items")).to_contain_text(f"Hello by {transport}.")
        if transport != "json":
            expect(page.locator("#pg-events")).to_contain_text("response.completed")


def forbid(page: Page, tool: str) -> None:
    """Make a version of the team's policy that denies a tool."""
    page.goto("/admin/tenants/toolpolicy/")
    page.get_by_role("link", name="Write a policy").click()
    page.get_by_label("Name", exact=True).first.fill(tool)
    page.get_by_role("button", name="Save as version").click()
    expect(page.get_by_text(tool).first).to_be_visible()


def revoke(page: Page, name: str) -> None:
    """Revoke a key."""
    page.goto("/admin/tenants/apikey/")
    page.get_by_role("link", name=name).first.click()
    page.get_by_role("button", name="Revoke this key").click()
    page.get_by_role("button", name="Revoke", exact=True).click()
    expect(page.get_by_text("Revoked").first).to_be_visible()
