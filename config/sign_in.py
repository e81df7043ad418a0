"""The identity provider that people may sign in by: four variables, or none."""

from typing import Any, Final
from urllib.parse import urlsplit

OIDC_ID: Final = "provider"
"""Its name in addresses: `/accounts/oidc/provider/login/` and, what it must know, `…/login/callback/`."""

_THIS_MACHINE: Final = ("localhost", "127.0.0.1", "::1")

oidc_mistakes: Final[list[str]] = []
"""One sentence for each variable that is missing or wrong; nobody can sign in by the provider then."""


def oidc_apps(*, name: str, issuer: str, client_id: str, secret: str) -> list[dict[str, Any]]:
    """The provider as django-allauth wants it: a list of one, or an empty one where nothing is configured."""
    given = {
        "ANTIPHON_OIDC_ISSUER": issuer,
        "ANTIPHON_OIDC_CLIENT_ID": client_id,
        "ANTIPHON_OIDC_CLIENT_SECRET": secret,
    }
    if not any(given.values()):
        return []
    mistakes = [
        f"{variable} is not set, while another one of the provider is."
        for variable in given
        if not given[variable]
    ]
    if issuer and not _is_address(issuer):
        mistakes.append("ANTIPHON_OIDC_ISSUER is no address of a provider.")
    oidc_mistakes.extend(mistakes)
    if mistakes:
        return []
    app = {"provider_id": OIDC_ID, "name": name, "client_id": client_id, "secret": secret}
    return [{**app, "settings": {"server_url": issuer.rstrip("/"), "oauth_pkce_enabled": True}}]


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _THIS_MACHINE)
        return safe and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
