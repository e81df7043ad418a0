"""A request's id: taken from the client's `X-Request-ID` when it is a sane one, made otherwise, in every log line.

Each request that Django answers is one line of the log, which its id finds; the create endpoint logs its own.
"""

import re
import time
from collections.abc import Callable
from typing import Final

import structlog
from django.http import HttpRequest, HttpResponse
from django.utils.encoding import escape_uri_path

from responses_api.services.identity import REQUEST_ID_HEADER, request_id_of
from tenants.site.pages import told_path

log = structlog.get_logger(__name__)

_PROBE: Final = re.compile(r"/(healthz|readyz)/?")
_LONGEST_PATH: Final = 300


class RequestIdMiddleware:
    """Gives Django's requests their id, binds it to the log context, and logs how each was answered."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request with its id bound."""
        request_id = request_id_of(request.headers.get(REQUEST_ID_HEADER))
        begun = time.perf_counter()
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            response = self.get_response(request)
            _log_answer(request, response, time.perf_counter() - begun)
        response.headers[REQUEST_ID_HEADER] = request_id
        return response


def _log_answer(request: HttpRequest, response: HttpResponse, seconds: float) -> None:
    """One line: what was asked and how it was answered. Queries and the tokens of links stay out of it."""
    tell = log.debug if _PROBE.fullmatch(request.path) else log.info
    tell(
        "request",
        method=request.method,
        path=escape_uri_path(told_path(request.path))[:_LONGEST_PATH],
        status=response.status_code,
        milliseconds=round(seconds * 1000, 1),
    )
