"""A request's id: taken from the client's `X-Request-ID` when it is a sane one, made otherwise, in every log line."""

import re
import uuid
from collections.abc import Callable
from typing import Final

import structlog
from django.http import HttpRequest, HttpResponse

HEADER: Final = "X-Request-ID"
_SANE: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")


def request_id_of(given: str | None) -> str:
    """The id to use for a request that came with `given`."""
    return given if given is not None and _SANE.fullmatch(given) else f"req_{uuid.uuid4().hex}"


class RequestIdMiddleware:
    """Gives Django's requests their id and binds it to the log context."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request with its id bound."""
        request_id = request_id_of(request.headers.get(HEADER))
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            response = self.get_response(request)
        response.headers[HEADER] = request_id
        return response
