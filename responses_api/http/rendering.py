"""Bodies on the wire: orjson for what is right, the one error shape for everything else."""

import sys
from collections.abc import Mapping
from typing import Any, Final

import structlog
from django.core.exceptions import (
    BadRequest,
    DisallowedHost,
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
)
from django.http import Http404, HttpRequest, HttpResponse
from rest_framework import exceptions
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.response import Response

from responses_api.protocol.errors import ProtocolError, invalid_request, not_found
from responses_api.protocol.sse import encode
from responses_api.services.database import UNANSWERED, unanswered
from responses_api.services.faults import internal_error

log = structlog.get_logger(__name__)

JSON: Final = "application/json"


class JsonRenderer(BaseRenderer):
    """Compact JSON."""

    media_type = JSON
    format = "json"
    charset = None

    def render(self, data: Any, *_: Any, **__: Any) -> bytes:
        """The body of `data`."""
        return encode(data)


class JsonAlways(BaseContentNegotiation):
    """Clients send all sorts of `Accept` headers; the answer is JSON and never 406."""

    def select_parser(self, request: Any, parsers: Any) -> Any:
        """The first parser, if any."""
        return next(iter(parsers), None)

    def select_renderer(self, request: Any, renderers: Any, format_suffix: Any = None) -> Any:
        """The JSON renderer."""
        return renderers[0], JSON


def render_exception(exception: Exception, context: Mapping[str, Any]) -> Response:
    """Django REST framework's exception handler: every error in the one shape."""
    error = _as_protocol_error(exception)
    return Response(error.body(), status=error.status, headers=error.headers())


def unknown_url(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """The 404 of a URL that the service does not have."""
    return _answer(not_found(f"There is no {request.path} here; see /v1/responses and /v1/models."))


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The 400 of a request that Django itself refuses."""
    return _answer(_as_protocol_error(exception))


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The 403 of a page that is not the caller's."""
    return _answer(_as_protocol_error(exception))


def failed_view(request: HttpRequest) -> HttpResponse:
    """The 500 of a view that raised, or the 503 where the database did not answer it."""
    raised = sys.exception()
    return _answer(unanswered(raised) if isinstance(raised, UNANSWERED) else internal_error())


def _answer(error: ProtocolError) -> HttpResponse:
    return HttpResponse(encode(error.body()), status=error.status, content_type=JSON, headers=error.headers())


def _as_protocol_error(exception: Exception) -> ProtocolError:
    if isinstance(exception, ProtocolError):
        return exception
    if isinstance(exception, exceptions.MethodNotAllowed):
        return invalid_request(f"{exception.detail}", status=405)
    if isinstance(exception, Http404):
        return not_found("There is nothing at this address.")
    if isinstance(exception, UNANSWERED):
        return unanswered(exception)
    if isinstance(exception, RequestDataTooBig):
        return invalid_request("The request body is too large.", status=413)
    if isinstance(exception, DisallowedHost):
        return invalid_request("The host of this request is none of ALLOWED_HOSTS.")
    if isinstance(exception, SuspiciousOperation | BadRequest):
        return invalid_request("The request is not one that this page can make sense of.")
    if isinstance(exception, exceptions.PermissionDenied | PermissionDenied):
        return invalid_request("You may not do that.", code="permission_denied", status=403)
    if isinstance(exception, exceptions.APIException) and exception.status_code < 500:
        return invalid_request(str(exception.detail), status=exception.status_code)
    log.error("view failed", exc_info=exception)
    return internal_error()
