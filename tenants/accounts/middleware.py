"""What the pages for people have in common: nothing foreign runs in them or in the admin's, no cache keeps them, errors
are pages.
"""

from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from redis.exceptions import RedisError
from requests import RequestException

from tenants.mail import MailFailed
from tenants.site.content_policy import content_policy
from tenants.site.pages import is_page_for_people, is_page_of_the_admin

log = structlog.get_logger(__name__)

_UNANSWERED: Final = (OperationalError, InterfaceError, RedisError)
_AGAIN_SECONDS: Final = "30"


class AccountPagesMiddleware:
    """Headers and errors of the landing page and of everything below `/accounts/`; what the admin's pages may load."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer, with headers that keep the page to itself."""
        response = self.get_response(request)
        if is_page_for_people(request.path):
            response.headers.setdefault("Content-Security-Policy", _policy())
            response.headers["Cache-Control"] = "no-store"
        elif is_page_of_the_admin(request.path):
            response.headers.setdefault("Content-Security-Policy", content_policy())
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """A page for what went wrong in a page; None leaves it to the rest of the service."""
        if not is_page_for_people(request.path):
            return None
        if isinstance(exception, MailFailed):
            return _page(request, 503, "The e-mail could not be sent", str(exception))
        if isinstance(exception, Http404):
            return _page(
                request, 404, "There is nothing here", "The address is wrong, or what it meant is gone."
            )
        if isinstance(exception, PermissionDenied):
            return _page(request, 403, "You may not do that", "Sign in as somebody who may.")
        if isinstance(exception, RequestException):
            log.error("identity provider failed", error=type(exception).__name__)
            told = "The provider that you want to sign in by does not answer as it should. Try again in a minute."
            return _page(request, 503, "The sign-in did not work", told)
        if isinstance(exception, _UNANSWERED):
            told = "A part of the service does not answer. Nothing was changed; try again in a minute."
            return _page(request, 503, "Not now", told)
        return None


def _page(request: HttpRequest, status: int, title: str, told: str) -> HttpResponse:
    response = render(request, "accounts/error.html", {"title": title, "told": told}, status=status)
    if status == 503:
        response.headers["Retry-After"] = _AGAIN_SECONDS
    return response


def _policy() -> str:
    # Browsers hold the redirect that answers a form against `form-action`, too: the provider's pages are such, and they
    # may be at other hosts than its issuer, and lead on to further ones. So with a provider any host with TLS is one.
    apps: list[dict[str, Any]] = settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]["APPS"]
    issuers = [urlsplit(app["settings"]["server_url"]) for app in apps]
    targets = " ".join(["'self'", *(f"https: {issuer.scheme}://{issuer.netloc}" for issuer in issuers)])
    return (
        "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'; "
        f"form-action {targets}"
    )
