"""A stored response with receipts of every kind, as the operator and a member of its team read it, and nobody else."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import PASSWORD, Mailbox, forbid_echo
from tests.browser.looks import LOOKS, Look, broken_rules, looking, picture
from tests.browser.people import found_team, issue_key, sign_in, sign_up
from tests.support.chat import ToolCall, chat_calls, chat_stream
from tests.support.client import Client, Json, wait_until
from tests.support.forms import upload
from tests.support.mcp_server import RealMcpServer
from tests.support.service import Service

TEAM: Final = "Herons"
PEOPLE: Final = f"""
from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
User.objects.create_superuser("reader", "reader@herons.example", "{PASSWORD}")
member = User.objects.create_user("member", "member@herons.example", "{PASSWORD}")
EmailAddress.objects.create(user=member, email=member.email, verified=True, primary=True)
"""
CALLS: Final = (
    ToolCall("add", '{"a": 2, "b": 3}', "call_1"),
    ToolCall("fails", "{}", "call_2"),
    ToolCall("echo", '{"text": "hello"}', "call_3"),
    ToolCall("file_search", '{"queries": ["where do herons wade?"]}', "call_4"),
)
FIRST: Final = (
    "notes.md",
    "Tools of the MCP server sums",
    "Calls add of the MCP server sums",
    "Calls fails of the MCP server sums",
    "the backend is down",
    "Calls echo of the MCP server sums",
    "no-echo",
    "Searches files",
    "where do herons wade?",
    "In the shallows.",
)
ASKED: Final = ("Asks to call add of the MCP server sums",)
ANSWERED: Final = ("Approves the call", "Calls add of the MCP server sums", "approved by the answer to mcpr_")


@dataclass
class Shown:
    """What is looked at, and by whom: the ids of three responses, and the sign-ins of people."""

    responses: list[str]
    states: dict[str, Any]


@pytest.fixture(scope="module")
def shown(chromium: Browser, site: Service) -> Iterator[Shown]:
    """Three responses of a team, a mere member of it, the operator, and the owner of another team."""
    site.manage("shell", "-v0", "-c", PEOPLE)
    states = {}
    with signed_out(chromium, site) as page:
        sign_in(page, "reader", PASSWORD)
        states["operator"] = page.context.storage_state()
    with signed_out(chromium, site) as page:
        sign_up(page, "stranger@herons.example", Mailbox(site.folder / "mails").newest_to)
        found_team(page, "Storks")
        states["stranger"] = page.context.storage_state()
    with signed_out(chromium, site) as page:
        sign_up(page, "owner@herons.example", Mailbox(site.folder / "mails").newest_to)
        found_team(page, TEAM)
        client = site.client(issue_key(page, "laptop"))
    site.manage("add_member", TEAM, "member")
    with signed_out(chromium, site) as page:
        sign_in(page, "member", PASSWORD)
        states["member"] = page.context.storage_state()
    forbid_echo(site, TEAM)
    with RealMcpServer() as server:
        yield Shown(made(site, client, server), states)


@contextmanager
def signed_out(chromium: Browser, site: Service, **options: Any) -> Iterator[Page]:
    context = chromium.new_context(base_url=site.root_url, reduced_motion="reduce", **options)
    try:
        yield context.new_page()
    finally:
        context.close()


def made(site: Service, client: Client, server: RealMcpServer) -> list[str]:
    """A response with every receipt of a call, one that asks for approval, and one that has it."""
    file_id = upload(client, b"Herons wade slowly.", "notes.md").json()["id"]
    wait_until(
        lambda: client.get(f"/files/{file_id}").json()["status"] == "processed", timeout=60, what="the file"
    )
    site.upstream.reply(body=chat_calls(*CALLS))
    site.upstream.reply(body=chat_stream("In the shallows."))
    given = [{"type": "input_text", "text": "What of these?"}, {"type": "input_file", "file_id": file_id}]
    tools = [tool(server), {"type": "antiphon:file_search"}]
    first = create(client, input=[{"role": "user", "content": given}], tools=tools)
    asks = [tool(server, require_approval="always")]
    asked = create(client, input="Please add.", tools=asks)
    answer = {
        "type": "mcp_approval_response",
        "approval_request_id": asked["output"][-1]["id"],
        "approve": True,
        "reason": "It is only a sum.",
    }
    answered = create(client, input=[answer], previous_response_id=asked["id"], tools=asks)
    return [first["id"], asked["id"], answered["id"]]


def tool(server: RealMcpServer, require_approval: str = "never") -> Json:
    address = {"server_label": "sums", "server_url": server.url}
    return {"type": "mcp", **address, "require_approval": require_approval}


def create(client: Client, **body: Any) -> Json:
    answer = client.create(**body)
    assert answer.status == 200, answer.body
    made: Json = answer.json()
    return made


@pytest.mark.parametrize(("who", "look"), list(zip(("operator", "member"), LOOKS, strict=True)))
def test_every_receipt_is_read(chromium: Browser, site: Service, shown: Shown, who: str, look: Look) -> None:
    width, scheme = look
    with looking(chromium, site, look, shown.states[who]) as context:
        page = context.new_page()
        for number, (response_id, texts) in enumerate(
            zip(shown.responses, (FIRST, ASKED, ANSWERED), strict=True)
        ):
            page.goto(f"/admin/responses_api/response/{response_id}/change/")
            for text in texts:
                expect(page.locator("article.reading")).to_contain_text(text)
            picture(page, f"reading-{who}-{number}-{width}-{scheme}")
            assert broken_rules(page, f"{who} {number} {width}") == []
            page.goto(f"/admin/responses_api/response/{response_id}/events/")
            expect(page.locator("main, #main, body").first).to_contain_text("antiphon:mcp_")
            picture(page, f"reading-{who}-{number}-events-{width}-{scheme}")
            assert broken_rules(page, f"{who} {number} events {width}") == []


def test_somebody_of_another_team_is_told_that_there_is_none(
    chromium: Browser, site: Service, shown: Shown
) -> None:
    with signed_out(chromium, site, storage_state=shown.states["stranger"]) as page:
        for response_id in shown.responses:
            for name in ("change", "events", "json", "delete"):
                answer = page.goto(f"/admin/responses_api/response/{response_id}/{name}/")
                assert answer is not None
                assert answer.status == 404, name
                assert "sums" not in page.content()
