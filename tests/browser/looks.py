"""How pages are looked at: wide and narrow, light and dark, and whom they keep out as they are shown."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page

from tests.support.service import Service

Look = tuple[int, Literal["light", "dark"]]
"""A width in pixels, and a scheme."""
WIDTHS: Final = (1280, 390)
SCHEMES: Final = ("light", "dark")
LOOKS: Final[tuple[Look, ...]] = ((1280, "light"), (390, "dark"))
"""How each page is visited: every width and every scheme once."""
_SERIOUS: Final = frozenset({"serious", "critical"})


@contextmanager
def looking(chromium: Browser, site: Service, look: Look, state: Any = None) -> Iterator[BrowserContext]:
    """A browser with this look, of whoever `state` has signed in; nothing moves in it."""
    width, scheme = look
    context = chromium.new_context(
        base_url=site.root_url,
        viewport={"width": width, "height": 900},
        color_scheme=scheme,
        storage_state=state,
        reduced_motion="reduce",
    )
    try:
        yield context
    finally:
        context.close()


def broken_rules(page: Page, where: str) -> list[str]:
    """Whom the page keeps out, as it is shown now."""
    found: list[str] = []
    told = Axe().run(page).response
    assert told["passes"], "axe looked at nothing"
    for violation in told["violations"]:
        if violation["impact"] in _SERIOUS:
            nodes = "; ".join(node["html"][:160] for node in violation["nodes"][:3])
            found.append(f"{where}: {violation['id']}: {nodes}")
    overhang = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if overhang > 1:
        found.append(f"{where}: {overhang} px too wide")
    return found


def picture(page: Page, name: str) -> None:
    """A picture of the whole page as it is shown now, where the variable FOLDER says where to put it."""
    folder = os.environ.get("FOLDER")
    if folder:
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)
