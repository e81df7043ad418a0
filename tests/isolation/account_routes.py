"""How the pages for people are asked for what belongs to somebody else."""

from collections.abc import Callable
from typing import Any, Final

_PLAIN: Final = (
    "accounts/signup/",
    "",
    "accounts",
    "accounts/",
    "accounts/team/",
    "accounts/invitation/",
    "accounts/login/",
    "accounts/inactive/",
    "accounts/reauthenticate/",
    "accounts/reauthenticate/code/",
    "accounts/reauthenticate/code/confirm/",
    "accounts/email/",
    "accounts/confirm-email/",
    "accounts/password/change/",
    "accounts/password/set/",
    "accounts/password/reset/",
    "accounts/login/code/confirm/",
    "accounts/password/reset/key/done/",
    "accounts/password/reset/done/",
    "accounts/3rdparty/login/cancelled/",
    "accounts/3rdparty/login/error/",
    "accounts/3rdparty/signup/",
    "accounts/3rdparty/",
    "accounts/social/login/cancelled/",
    "accounts/social/login/error/",
    "accounts/social/signup/",
    "accounts/social/connections/",
    # The forms name the friend's team: they are posted to these, too.
    "accounts/tenant/",
    "accounts/leave/",
)


def _fixed(path: str) -> Callable[[Any], list[str]]:
    return lambda _: [path]


ACCOUNT_CASES: Final[dict[str, Callable[[Any], list[str]]]] = {
    **{route: _fixed(f"/{route}") for route in _PLAIN},
    "accounts/invitation/<str:token>/": lambda estate: [
        f"/accounts/invitation/{token}/" for token in ("x" * 43, estate.mark, estate.invitation_digest)
    ],
    r"accounts/^confirm-email/(?P<key>[-:\w]+)/$": lambda _: ["/accounts/confirm-email/MQ:1a:x/"],
    "accounts/^password/reset/key/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$": lambda estate: [
        f"/accounts/password/reset/key/{estate.owner.pk}-x/"
    ],
    "accounts/oidc/^(?P<provider_id>[^/]+)/login/": lambda _: ["/accounts/oidc/provider/login/"],
    "accounts/oidc/^(?P<provider_id>[^/]+)/login/callback/": lambda _: [
        "/accounts/oidc/provider/login/callback/?code=x&state=x"
    ],
}
"""Routes by their pattern."""
