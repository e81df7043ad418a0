"""Which addresses are pages that people open with a browser."""

from typing import Final

ADMIN: Final = "/admin"
ACCOUNTS: Final = "/accounts"


def is_page_for_people(path: str) -> bool:
    """Whether an address is the landing page or one of an account's."""
    return path == "/" or _is_below(path, ACCOUNTS)


def is_opened_by_a_browser(path: str) -> bool:
    """Whether an address is a page for people, or one of the admin."""
    return is_page_for_people(path) or _is_below(path, ADMIN)


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(f"{root}/")
