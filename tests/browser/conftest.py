"""A browser, a service that it visits, and people who have something to look at."""

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.support.client import wait_until
from tests.support.service import Service

_SECONDS = 20
_CHROMIUM = os.environ.get("ANTIPHON_TEST_CHROMIUM") or shutil.which("chromium")
OPERATOR, PASSWORD = "operator", "a long enough password"


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The service, with sign-up open and its mails in a folder."""
    if _CHROMIUM is None:
        pytest.skip(
            "there is no Chromium: install Debian's package chromium, or name one in ANTIPHON_TEST_CHROMIUM"
        )
    folder = tmp_path_factory.mktemp("site")
    mails = folder / "mails"
    mails.mkdir()
    settings = {"ANTIPHON_SIGNUP": "open", "EMAIL_URL": f"filemail://{mails}"}
    with Service("browser", folder, settings) as service:
        yield service


@dataclass
class Mailbox:
    """The mails that the site has sent."""

    folder: Path

    def newest_to(self, address: str) -> str:
        """The text of the newest mail to an address, waited for."""

        def find() -> str | None:
            files = sorted(self.folder.iterdir(), key=lambda file: file.stat().st_mtime)
            texts = [file.read_text() for file in files]
            return next((text for text in reversed(texts) if f"To: {address}" in text), None)

        return str(wait_until(find, timeout=_SECONDS, what=f"a mail to {address}"))


@pytest.fixture
def mailbox(site: Service) -> Mailbox:
    """What was sent."""
    return Mailbox(site.folder / "mails")


@pytest.fixture(scope="module")
def chromium(site: Service) -> Iterator[Browser]:
    """The browser, for one module: while Playwright runs, this thread has a running loop, which others cannot bear."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def context(chromium: Browser, site: Service) -> Iterator[BrowserContext]:
    """A browser without a history."""
    expect.set_options(timeout=_SECONDS * 1000)
    context = chromium.new_context(base_url=site.root_url)
    context.set_default_timeout(_SECONDS * 1000)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """A page whose scripts must not fail."""
    page = context.new_page()
    page.on("pageerror", lambda error: pytest.fail(f"{page.url}: {error}"))
    return page


def forbid_echo(site: Service, team: str) -> None:
    """Give a team the policy that forbids one of an MCP server's tools."""
    rule = {"id": "no-echo", "effect": "deny", "kind": "mcp", "tool": "echo"}
    policy = site.folder / "no-echo.json"
    policy.write_text(json.dumps({"rules": [rule], "on_violation": "suppress"}))
    site.manage("set_policy", team, str(policy))
