"""Which ASGI application answers: create has an endpoint outside Django's view stack, the rest are Django's views.

(The create endpoint does twice the requests a second of an asynchronous view: no middleware, no request object.)
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from responses_api.http.create import CreateEndpoint
from responses_api.services.watch import start_watching

Asgi = Callable[[Any, Any, Any], Awaitable[None]]

_CREATE: Final = frozenset({"/v1/responses", "/v1/responses/"})


class HttpRouter:
    """The root application."""

    def __init__(self, django: Asgi) -> None:
        self._django = django
        self._create = CreateEndpoint()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Hand the connection to whoever answers it."""
        start_watching()
        if scope["type"] == "http":
            # daphne takes it from a header, `Daphne-Root-Path`: any client could choose where redirects lead.
            scope = {**scope, "root_path": ""}
            is_create = scope["method"] == "POST" and scope["path"] in _CREATE
            await (self._create if is_create else self._django)(scope, receive, send)
        elif scope["type"] == "websocket":
            await _refuse_websocket(receive, send)
        else:
            raise ValueError(f"unknown connection type {scope['type']}")


async def _refuse_websocket(receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "websocket.close"})
