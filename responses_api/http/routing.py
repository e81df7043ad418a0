"""Which ASGI application answers: what workers do has an endpoint outside Django's view stack, the rest are its views.

(The create endpoint does twice the requests a second of an asynchronous view: no middleware, no request object.)
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from responses_api.http.create import CreateEndpoint
from responses_api.http.files import ContentEndpoint, downloads
from responses_api.http.follow import FollowEndpoint, follows
from responses_api.http.upload import UploadEndpoint
from responses_api.protocol.files import UPLOAD_PATH
from responses_api.services.watch import start_watching

Asgi = Callable[[Any, Any, Any], Awaitable[None]]

ENDPOINTS: Final[dict[str, Asgi]] = {
    "/v1/responses": CreateEndpoint(),
    "/v1/responses/input_tokens": CreateEndpoint("count_tokens"),
    "/v1/responses/compact": CreateEndpoint("compact"),
    UPLOAD_PATH: UploadEndpoint(),
}
FOLLOW: Final[Asgi] = FollowEndpoint()
DOWNLOAD: Final[Asgi] = ContentEndpoint()


class HttpRouter:
    """The application of HTTP requests."""

    def __init__(self, django: Asgi) -> None:
        self._django = django

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Hand the connection to whoever answers it."""
        start_watching()
        # daphne takes it from a header, `Daphne-Root-Path`: any client could choose where redirects lead.
        scope = {**scope, "root_path": ""}
        endpoint = ENDPOINTS.get(scope["path"].removesuffix("/")) if scope["method"] == "POST" else None
        if endpoint is None and follows(scope):
            endpoint = FOLLOW
        if endpoint is None and downloads(scope):
            endpoint = DOWNLOAD
        await (endpoint or self._django)(scope, receive, send)
