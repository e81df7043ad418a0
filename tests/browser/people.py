"""What people do in the browser, in the words of the pages."""

import re
from collections.abc import Callable
from typing import Final

from playwright.sync_api import Page, expect

PASSWORD: Final = "correct horse battery staple"


def sign_up(page: Page, address: str, mail_of: Callable[[str], str]) -> None:
    """Make an account and follow the link in the mail."""
    page.goto("/")
    page.get_by_role("link", name="Sign up").click()
    page.get_by_label("E-mail address").fill(address)
    for field in page.locator("input[type=password]").all():
        field.fill(PASSWORD)
    page.get_by_role("button", name="Sign up").click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    link = re.search(r"https?://\S+/accounts/\S+", mail_of(address))
    assert link, "the mail has no link"
    page.goto(link[0])
    confirm = page.get_by_role("button", name=re.compile("confirm|verify", re.IGNORECASE))
    if confirm.count():
        confirm.click()


def found_team(page: Page, name: str) -> None:
    """Name the first team; then one is in the console."""
    page.get_by_label("Name of your team").fill(name)
    page.get_by_role("button", name="Found the team").click()
    page.wait_for_url("**/admin/**")


def issue_key(page: Page, name: str) -> str:
    """Issue a key and return its text, as the page shows it this once."""
    page.goto("/admin/tenants/apikey/add/")
    page.locator("[name=name]").fill(name)
    page.locator("[name=_save]").click()
    shown = page.locator("#issued-key")
    expect(shown).to_be_visible()
    return shown.inner_text().strip()


def sign_in(page: Page, login: str, password: str = PASSWORD) -> None:
    """Sign in and come to the console."""
    page.goto("/admin/")
    page.locator("input[name=login]").fill(login)
    page.locator("input[name=password]").fill(password)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url("**/admin/**")
