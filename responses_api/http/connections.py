"""Gives a request's database connection back to the pool, whatever became of the request."""

from collections.abc import Callable

from django.db import close_old_connections, connection
from django.http import HttpRequest, HttpResponse


class ReturnConnectionMiddleware:
    """Returns the connection in the very thread that took it, as soon as the answer is made.

    Django does so by a signal of its event loop, after the answer is sent: a client that reads slowly would hold a
    connection meanwhile, and a request that the server cancels in between would take one out of the pool for good.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        try:
            return self.get_response(request)
        finally:
            # A transaction from before the request, as tests have it, goes on.
            if not connection.in_atomic_block:
                close_old_connections()
