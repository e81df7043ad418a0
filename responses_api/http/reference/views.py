"""`GET /openapi.json`, `/docs` and `/llms.txt`: the reference, for everybody."""

from collections.abc import Callable
from functools import cache
from hashlib import sha256
from typing import Final

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.cache import get_conditional_response
from django.utils.decorators import method_decorator
from django.views.decorators.gzip import gzip_page
from rest_framework.request import Request
from rest_framework.views import APIView

from responses_api.http.reference.document import document
from responses_api.http.reference.llms import page
from responses_api.http.reference.refusals import EVERY

_MOST_SECONDS: Final = 300
_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)


@method_decorator(gzip_page, name="dispatch")
class _Reference(APIView):
    """Needs no key."""

    authentication_classes = ()
    permission_classes = ()
    http_method_names = ("get", "head")


class _Text(_Reference):
    """A text that stays the same as long as the process lives."""

    content_type: str
    text: Callable[[], bytes]

    def get(self, request: Request) -> HttpResponseBase:
        """The text, or 304 for who has it."""
        text = type(self).text()
        response = HttpResponse(text, content_type=self.content_type)
        response.headers["Cache-Control"] = f"public, max-age={_MOST_SECONDS}"
        response.headers["ETag"] = etag = _etag(text)
        return get_conditional_response(request._request, etag=etag, response=response) or response


class OpenApi(_Text):
    """`GET /openapi.json`."""

    content_type = "application/json"
    text = staticmethod(document)


class Llms(_Text):
    """`GET /llms.txt`."""

    content_type = "text/plain; charset=utf-8"
    text = staticmethod(page)


class Docs(_Reference):
    """`GET /docs`."""

    def get(self, request: Request) -> HttpResponse:
        """The guide, and the viewer of `/openapi.json`."""
        response = render(request._request, "reference/docs.html", {"refusals": EVERY})
        response.headers["Content-Security-Policy"] = _POLICY
        return response


@cache
def _etag(text: bytes) -> str:
    return f'"{sha256(text).hexdigest()[:32]}"'
