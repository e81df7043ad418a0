"""The playground with a real MCP server: a person sees what its tools did, decides about a call, and sees a refusal."""

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Mailbox, forbid_echo
from tests.browser.looks import LOOKS, broken_rules, looking, picture
from tests.browser.people import found_team, sign_up
from tests.support.chat import ToolCall, chat_calls
from tests.support.mcp_server import RealMcpServer
from tests.support.service import MODEL, Service

TEAM: Final = "Sums"
WAYS: Final = tuple(zip(LOOKS, ("sse", "websocket"), strict=True))
"""Each look, and each transport, once."""
SECRET: Final = "what-lets-somebody-in"
CODE: Final = {"curl": "curl ", "Python": "from openai import", "JavaScript": "import OpenAI from"}


@pytest.fixture(scope="module")
def state(chromium: Browser, site: Service) -> Any:
    """The owner of a team whose policy forbids one of the server's tools, signed in."""
    context = chromium.new_context(base_url=site.root_url)
    page = context.new_page()
    sign_up(page, "sums@pages.example", Mailbox(site.folder / "mails").newest_to)
    found_team(page, TEAM)
    forbid_echo(site, TEAM)
    state = context.storage_state()
    context.close()
    return state


@pytest.fixture
def server() -> Iterator[RealMcpServer]:
    """The MCP server."""
    with RealMcpServer() as server:
        yield server


@pytest.fixture(params=WAYS, ids=lambda way: f"{way[0][0]}-{way[1]}")
def way(request: pytest.FixtureRequest) -> Any:
    """A look, and a transport."""
    return request.param


@pytest.fixture
def transport(way: Any) -> str:
    """How the answer is read."""
    return str(way[1])


@pytest.fixture
def page(chromium: Browser, site: Service, state: Any, way: Any) -> Iterator[Page]:
    """A page in one of the looks, whose scripts must not fail."""
    with looking(chromium, site, way[0], state) as context:
        page = context.new_page()
        page.on("pageerror", lambda error: pytest.fail(f"{page.url}: {error}"))
        yield page


def offer(page: Page, server: RealMcpServer, **entry: Any) -> None:
    """Ask for a sum, with the server's tools: add them by their button, and put its address in."""
    page.goto("/admin/playground/")
    page.locator("[name=model]").select_option(MODEL)
    page.locator("[name=input]").fill("Please add.")
    page.locator(".pg-tools summary").click()
    page.locator("[data-tool=mcp]").click()
    tools = page.locator("[name=tools]")
    (tool,) = json.loads(tools.input_value())
    assert tool["require_approval"] == "always"
    tools.fill(json.dumps([{**tool, "server_label": "sums", "server_url": server.url, **entry}], indent=2))


def ask(page: Page, server: RealMcpServer, transport: str, **entry: Any) -> None:
    """Ask; over a WebSocket without storing, which is continued on it alone."""
    offer(page, server, **entry)
    page.locator("[name=transport]").select_option(transport)
    page.locator("[name=store]").set_checked(transport == "sse")
    page.locator("#pg-send").click()


def look(page: Page, name: str) -> None:
    """Nobody is kept out of what is shown now; a picture of it, where a folder is named."""
    assert page.viewport_size is not None
    width = page.viewport_size["width"]
    picture(page, f"mcp-{name}-{width}")
    assert broken_rules(page, f"{name} {width}") == []


def expect_told(page: Page, *texts: str) -> None:
    for text in texts:
        expect(page.locator("#pg-items")).to_contain_text(text)


def test_a_call_is_approved_made_and_answered(page: Page, server: RealMcpServer, transport: str) -> None:
    ask(page, server, transport)
    expect_told(page, "Tools of sums", "The sum of two numbers.", "May sums · add(…) be called?", '"a": 3')
    expect(page.locator("#pg-status")).to_have_text("The response is completed.")
    look(page, f"asked-{transport}")
    assert server.calls() == []
    page.get_by_role("button", name="Approve").click()
    expect_told(page, "Approved: mcpr_", "sums · add(…)", "Output", "The tool returned: 6")
    expect(page.locator("#pg-status")).to_be_focused()
    expect(page.locator("#pg-status")).to_be_in_viewport()
    look(page, f"approved-{transport}")
    assert server.arguments("add") == [{"a": 3, "b": 3}]


def test_a_call_that_is_denied_is_not_made(page: Page, server: RealMcpServer, transport: str) -> None:
    ask(page, server, transport)
    page.get_by_role("button", name="Deny").click()
    expect_told(page, "Denied: mcpr_", "The tool returned")
    look(page, f"denied-{transport}")
    assert server.calls() == []


def test_a_call_that_the_policy_forbids_names_its_rule(
    page: Page, site: Service, server: RealMcpServer, transport: str
) -> None:
    # It is not offered to the model, which calls it all the same.
    site.upstream.reply(body=chat_calls(ToolCall("echo", '{"text": "hello"}')))
    ask(page, server, transport, require_approval="never")
    expect_told(
        page, "sums · echo(…)", "Refused by the policy of the tenant, rule no-echo.", "The tool returned"
    )
    look(page, f"refused-{transport}")
    assert server.calls() == []


def test_a_request_as_code_has_no_secret_of_a_server(page: Page, server: RealMcpServer) -> None:
    secrets = {
        "server_url": f"{server.url}?token={SECRET}",
        "authorization": SECRET,
        "headers": {"X-Api-Key": SECRET},
    }
    offer(page, server, **secrets)
    assert SECRET in page.locator("[name=tools]").input_value()
    page.get_by_text("As code").click()
    code = page.locator("#pg-code")
    for language, words in CODE.items():
        page.get_by_role("button", name=f"Copy {language}").click()
        expect(code).to_contain_text(words)
        expect(code).to_contain_text(f"{server.url}?<query of sums>")
        expect(code).to_contain_text("<authorization of sums>")
        expect(code).to_contain_text("<X-Api-Key of sums>")
        expect(code).not_to_contain_text(SECRET)
