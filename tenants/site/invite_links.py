"""The address of the page that accepts an invitation, as a mail holds it."""

from collections.abc import Callable

from django.http import HttpRequest
from django.urls import reverse


def link_of(request: HttpRequest) -> Callable[[str], str]:
    """What makes a link of a token, to the host that somebody invites from."""

    def link(token: str) -> str:
        return request.build_absolute_uri(reverse("accounts:invited", args=[token]))

    return link
