"""What is checked of a request for the pages that people open, and of no other: host and characters."""

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponsePermanentRedirect
from django.middleware.common import CommonMiddleware

from tenants.site.pages import is_opened_by_a_browser


class AdminHostMiddleware(CommonMiddleware):
    """Django's common middleware, which refuses hosts that `ALLOWED_HOSTS` does not name, for those pages only.

    The check protects what people open with a browser: links (also those in mails) and redirects made from a forged
    host, and cookies behind DNS rebinding. The API has neither links nor cookies, its create call never passes here,
    and load balancers and probes come by addresses that nobody can list (a pod's).
    """

    def process_request(self, request: HttpRequest) -> HttpResponsePermanentRedirect | None:
        """Check a request for the admin, an account or the landing page. Raises `DisallowedHost` and `BadRequest`."""
        if is_opened_by_a_browser(request.path):
            _refuse_nul(request)
            return super().process_request(request)
        return None


def _refuse_nul(request: HttpRequest) -> None:
    """No address means anything by U+0000, and Django's views hand it to PostgreSQL, which has no text with it."""
    query = (text for name, values in request.GET.lists() for text in (name, *values))
    if any("\0" in text for text in (request.path, *query)):
        raise BadRequest("The address holds the character U+0000.")
