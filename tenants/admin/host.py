"""What is checked of a request for the admin, and of no other, before anything is made of it: host and characters."""

from typing import Final

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponsePermanentRedirect
from django.middleware.common import CommonMiddleware

_ADMIN: Final = "/admin"


class AdminHostMiddleware(CommonMiddleware):
    """Django's common middleware, which refuses hosts that `ALLOWED_HOSTS` does not name, for the admin only.

    The check protects pages that people open with a browser: links and redirects made from a forged host, and cookies
    behind DNS rebinding. The API has neither links nor cookies, its create call never passes here, and load balancers
    and probes come by addresses that nobody can list (a pod's).
    """

    def process_request(self, request: HttpRequest) -> HttpResponsePermanentRedirect | None:
        """Check a request for the admin. Raises `DisallowedHost` and `BadRequest`."""
        if request.path == _ADMIN or request.path.startswith(f"{_ADMIN}/"):
            _refuse_nul(request)
            return super().process_request(request)
        return None


def _refuse_nul(request: HttpRequest) -> None:
    """No address means anything by U+0000, and Django's views hand it to PostgreSQL, which has no text with it."""
    query = (text for name, values in request.GET.lists() for text in (name, *values))
    if any("\0" in text for text in (request.path, *query)):
        raise BadRequest("The address holds the character U+0000.")
