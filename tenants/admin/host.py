"""Host names are checked for the admin alone."""

from typing import Final

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
        """Check the host of a request for the admin. Raises `DisallowedHost`."""
        if request.path == _ADMIN or request.path.startswith(f"{_ADMIN}/"):
            return super().process_request(request)
        return None
