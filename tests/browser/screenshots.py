"""Pictures of the site, for the README and for looking at every page: `make screenshots [FOLDER=docs/images]`.

Named explicitly it is a test like the others; by itself it is not collected.
"""

import os
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, Page

from tests.browser.conftest import Mailbox
from tests.browser.looks import SCHEMES, WIDTHS
from tests.browser.people import found_team, issue_key, sign_up
from tests.browser.test_pages import PUBLIC, SIGNED_IN
from tests.support.chat import ToolCall, chat_calls, chat_stream
from tests.support.client import Client
from tests.support.forms import upload
from tests.support.service import MODEL, Service

_FOLDER: Final = Path(os.environ.get("FOLDER", "docs/images"))
_WHOLE: Final = bool(os.environ.get("EVERY_PAGE"))
_FILES: Final = (("Notes on the engine.txt", 700), ("Sketches and diagrams of 1843.html", 90_000))
_WEATHER: Final = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather of a city now.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def talk(site: Service, client: Client) -> str:
    """A few responses, some of them worth looking at; returns the last one of a chain."""
    for number in range(12):
        site.upstream.reply(body=chat_stream("That is ", f"answer {number}."))
        client.create(input=f"What about question {number}?", metadata={"run": str(number % 3)})
    site.upstream.reply(body=chat_calls(ToolCall("get_weather", '{"city": "Lisbon"}')))
    asked = client.create(input="Do I need an umbrella in Lisbon today?", tools=[_WEATHER]).json()
    call = next(item for item in asked["output"] if item["type"] == "function_call")
    told = {
        "type": "function_call_output",
        "call_id": call["call_id"],
        "output": '{"sky": "rain until noon", "celsius": 14}',
    }
    site.upstream.reply(
        body=chat_stream("Yes, take one: ", "it rains until noon, at 14 °C. ", "The afternoon stays dry.")
    )
    answered = client.create(input=[told], previous_response_id=asked["id"], tools=[_WEATHER]).json()
    return str(answered["id"])


def ask(page: Page, site: Service) -> None:
    """One answer in the playground."""
    site.upstream.reply(
        body=chat_stream("An antiphon is sung by two choirs ", "that answer each other, ", "verse by verse.")
    )
    page.locator("[name=model]").select_option(MODEL)
    page.locator("[name=input]").fill("What is an antiphon?")
    page.locator("#pg-send").click()
    page.get_by_text("response.completed").first.wait_for()


def test_pictures(chromium: Browser, site: Service) -> None:
    _FOLDER.mkdir(parents=True, exist_ok=True)
    context = chromium.new_context(base_url=site.root_url)
    page = context.new_page()
    sign_up(page, "ada@engines.example", Mailbox(site.folder / "mails").newest_to)
    found_team(page, "Analytical Engines")
    client = site.client(issue_key(page, "production"))
    response_id = talk(site, client)
    files = [upload(client, b"Herons wade." * size, name).json() for name, size in _FILES]
    page.goto("/admin/tenants/tenant/")
    ids = {"response": response_id, "tenant": page.url.rstrip("/").split("/")[-2]}
    ids["file"] = files[0]["id"]
    state = context.storage_state()
    context.close()
    for scheme in SCHEMES:
        for width in WIDTHS if _WHOLE else WIDTHS[:1]:
            context = chromium.new_context(
                base_url=site.root_url,
                viewport={"width": width, "height": 800},
                color_scheme=scheme,
                storage_state=state,
            )
            page = context.new_page()
            if _WHOLE:
                for path in (*PUBLIC, *SIGNED_IN):
                    page.goto(path.format(**ids))
                    name = path.strip("/").replace("/", "-").replace("{", "").replace("}", "") or "landing"
                    page.screenshot(path=_FOLDER / f"{name}-{width}-{scheme}.png", full_page=True)
            page.goto("/admin/")
            page.locator("canvas").first.wait_for()
            page.screenshot(path=_FOLDER / f"dashboard-{width}-{scheme}.png")
            page.goto(f"/admin/responses_api/response/{response_id}/change/")
            page.screenshot(path=_FOLDER / f"response-{width}-{scheme}.png")
            page.goto("/admin/playground/")
            ask(page, site)
            page.screenshot(path=_FOLDER / f"playground-{width}-{scheme}.png")
            context.close()
