"""Which addresses are pages that people open with a browser, and what of them may be told."""

from typing import Final

ADMIN: Final = "/admin"
ACCOUNTS: Final = "/accounts"

_LEFT_OUT: Final = "…"
_WORDS: Final = frozenset(
    {
        "3rdparty",
        "accounts",
        "callback",
        "cancelled",
        "change",
        "code",
        "confirm",
        "confirm-email",
        "connections",
        "done",
        "email",
        "error",
        "inactive",
        "invitation",
        "key",
        "leave",
        "login",
        "logout",
        "oidc",
        "password",
        "reauthenticate",
        "reset",
        "set",
        "signup",
        "social",
        "team",
        "tenant",
    }
)
"""Of which the addresses below `/accounts/` are made; whatever else they hold may open an account or a tenant."""


def is_page_for_people(path: str) -> bool:
    """Whether an address is the landing page or one of an account's."""
    return path == "/" or _is_below(path, ACCOUNTS)


def is_page_of_the_admin(path: str) -> bool:
    """Whether an address is one of the admin's."""
    return _is_below(path, ADMIN)


def is_opened_by_a_browser(path: str) -> bool:
    """Whether an address is a page for people, or one of the admin."""
    return is_page_for_people(path) or is_page_of_the_admin(path)


def told_path(path: str) -> str:
    """An address as a log may hold it: below `/accounts/` without the tokens of links that mails have brought."""
    if not _is_below(path, ACCOUNTS):
        return path
    return "/".join(part if not part or part in _WORDS else _LEFT_OUT for part in path.split("/"))


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(f"{root}/")
