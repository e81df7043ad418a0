"""The playground, playing what tools of the service's own did: their receipts, and the caller's word on a call."""

import json
from collections.abc import Sequence

from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from responses_api.protocol.plain import Json
from responses_api.protocol.sse import DONE
from tests.browser.conftest import Mailbox
from tests.browser.looks import LOOKS, broken_rules, looking, picture
from tests.browser.people import found_team, sign_up
from tests.support.service import Service
from tests.unit.workers.test_receipts import FOUND, LIST, REQUEST, SEARCH, begin, end
from tests.unit.workers.told import new_emitter, play
from workers.backends.parts import Part, Receipt, Stop, TextDelta
from workers.emitter import Emitter

FIRST: Sequence[Part] = [
    begin(1, {**LIST, "tools": []}),
    Receipt(1, LIST, "completed", is_done=True),
    begin(2),
    end(2),
    begin(3, SEARCH),
    Receipt(3, SEARCH, "searching"),
    end(3, FOUND),
    Receipt(4, REQUEST, is_done=True),
    Stop("stop"),
]
SECOND: Sequence[Part] = [begin(1), end(1), TextDelta("t", "A four."), Stop("stop")]


def stream(parts: Sequence[Part]) -> bytes:
    """The whole stream of an answer, as the service tells it."""
    emitter = new_emitter()
    play(emitter, parts, Emitter.finish)
    return emitter.drain() + emitter.terminal() + DONE


class Api:
    """The public API, as the page's script sees it: answers with one stream after the other."""

    def __init__(self, context: BrowserContext, *answers: Sequence[Part]) -> None:
        self.asked: list[Json] = []
        self._answers = [stream(parts) for parts in answers]
        context.route("**/v1/responses", self._answer)

    def _answer(self, route: Route) -> None:
        self.asked.append(json.loads(route.request.post_data or "{}"))
        route.fulfill(content_type="text/event-stream", body=self._answers.pop(0))


def ask(page: Page) -> None:
    page.goto("/admin/playground/")
    page.locator("[name=input]").fill("Roll, please.")
    page.locator(".pg-tools summary").click()
    page.locator("[data-tool=mcp]").click()
    page.locator("[data-tool=files]").click()
    page.locator("#pg-send").click()
    page.get_by_text("response.completed").first.wait_for()


def test_receipts_are_shown_and_a_call_is_made_once_it_is_approved(
    chromium: Browser, site: Service, mailbox: Mailbox
) -> None:
    context = chromium.new_context(base_url=site.root_url)
    page = context.new_page()
    sign_up(page, "dice@pages.example", mailbox.newest_to)
    found_team(page, "Dice")
    state = context.storage_state()
    context.close()
    for look in LOOKS:
        with looking(chromium, site, look, state) as context:
            approve(context, "-".join(map(str, look)))


def approve(context: BrowserContext, how: str) -> None:
    api = Api(context, FIRST, SECOND)
    page = context.new_page()
    ask(page)
    assert [tool["type"] for tool in api.asked[0]["tools"]] == ["mcp", "antiphon:file_search"]
    items = page.locator("#pg-items")
    shown = (
        "Tools of dice",
        "dice · roll(…)",
        "herons",
        "birds.md · 0.500",
        "May dice · roll(…) be called?",
    )
    for told in shown:
        expect(items).to_contain_text(told)
    expect(page.locator("#pg-events")).to_contain_text("antiphon:mcp_call.in_progress")
    assert broken_rules(page, how) == []
    picture(page, f"receipts-{how}")
    page.get_by_role("button", name="Approve").click()
    expect(items).to_contain_text("A four.")
    request = api.asked[1]
    assert request["previous_response_id"] == "resp_1"
    (answer,) = request["input"]
    assert (answer["type"], answer["approve"]) == ("mcp_approval_response", True)
    assert answer["approval_request_id"].startswith("mcpr_")
    assert [tool["type"] for tool in request["tools"]] == ["mcp", "antiphon:file_search"]
    expect(items).to_contain_text(f"Approved: {answer['approval_request_id']}")
