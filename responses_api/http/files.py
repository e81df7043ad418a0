"""Files: list, read, delete, and download. (`POST` of the list's address is the upload: `upload.py`.)"""

import asyncio
import re
from contextlib import aclosing
from functools import partial
from typing import Any, ClassVar, Final

from django.utils.http import content_disposition_header
from rest_framework.request import Request
from rest_framework.response import Response

from responses_api.http.body import ClientGone
from responses_api.http.relay import Exchange, answered, caller_of, until_left
from responses_api.http.views import ApiView, limit_of, order_of
from responses_api.http.views import caller_of as principal_of
from responses_api.protocol.errors import invalid_request
from responses_api.protocol.files import PURPOSES
from responses_api.services import stored_files
from responses_api.services.access import Scope
from responses_api.services.database import in_database
from responses_api.services.presence import Stay
from responses_api.services.stored import Page

SCOPE: Final[Scope] = "files:read"
_PATH: Final = re.compile(r"/v1/files/([^/]+)/content/?")
_FILE_ID: Final = re.compile(r"file_[0-9a-f]{44}")
_MOST_PER_PAGE: Final = 10_000
_USUAL_PER_PAGE: Final = 100


class Files(ApiView):
    """`GET /v1/files`."""

    scopes: ClassVar[dict[str, Scope]] = {"get": SCOPE}

    @property
    def allowed_methods(self) -> list[str]:
        """What `Allow` tells: what there is at this address, whoever answers it."""
        return ["GET", "POST", "HEAD"]

    def get(self, request: Request) -> Response:
        """List the tenant's files."""
        page = Page(
            limit=limit_of(request.query_params.get("limit", str(_USUAL_PER_PAGE)), _MOST_PER_PAGE),
            order=order_of(request.query_params.get("order", "desc")),
            after=_after(request),
        )
        return Response(stored_files.list_files(principal_of(request).tenant_id, page, _purpose(request)))


class OneFile(ApiView):
    """`GET` and `DELETE /v1/files/{id}`."""

    scopes: ClassVar[dict[str, Scope]] = {"get": SCOPE, "delete": "files:write"}

    def get(self, request: Request, file_id: str) -> Response:
        """The file as it is now."""
        return Response(stored_files.retrieve(principal_of(request).tenant_id, file_id))

    def delete(self, request: Request, file_id: str) -> Response:
        """Delete the file."""
        return Response(stored_files.delete(principal_of(request).tenant_id, file_id))


class Content(ApiView):
    """`/v1/files/{id}/content`, which has `GET` alone. (`routing.py` sends it to the endpoint below.)"""

    @property
    def allowed_methods(self) -> list[str]:
        """What `Allow` tells."""
        return ["GET", "HEAD"]


def downloads(scope: Any) -> bool:
    """Whether a request is for the content of a file."""
    return scope["method"] in ("GET", "HEAD") and _PATH.fullmatch(scope["path"]) is not None


class ContentEndpoint:
    """The ASGI application of `GET /v1/files/{id}/content`: sends a file as fast as its client takes it.

    What a tenant uploaded is never shown as a page of ours: browsers keep it as a file, whatever it may be.
    """

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        await answered(Exchange(scope, send), partial(self._answer, scope, receive))

    async def _answer(self, scope: Any, receive: Any, exchange: Exchange) -> None:
        path = _PATH.fullmatch(scope["path"])
        assert path is not None, "the router knows the path"
        with await caller_of(exchange, SCOPE) as stay:
            row = await in_database(stored_files.find, stay.principal.tenant_id, path[1])
            await exchange.begin(200, _headers(row))
            if scope["method"] == "GET":
                async with until_left(receive) as leaving:
                    await _send_pieces(exchange, stay, row, leaving)
            await exchange.end(b"")


async def _send_pieces(exchange: Exchange, stay: Stay, row: Any, leaving: "asyncio.Future[None]") -> None:
    async with aclosing(stored_files.streamed(row)) as pieces:
        async for piece in pieces:
            if leaving.done():
                raise ClientGone
            stay.check()
            await exchange.send(piece)


def _headers(row: Any) -> tuple[tuple[bytes, bytes], ...]:
    disposition = content_disposition_header(True, row.filename) or "attachment"
    return (
        (b"content-type", b"application/octet-stream"),
        (b"content-length", str(row.bytes).encode()),
        (b"content-disposition", disposition.encode("ascii")),
        (b"cache-control", b"no-store"),
        (b"content-security-policy", b"default-src 'none'; sandbox"),
        (b"x-content-type-options", b"nosniff"),
    )


def _purpose(request: Request) -> str | None:
    purpose = request.query_params.get("purpose")
    if purpose is not None and purpose not in PURPOSES:
        raise invalid_request(f"`purpose` must be one of: {', '.join(PURPOSES)}.", param="purpose")
    return purpose


def _after(request: Request) -> str | None:
    after = request.query_params.get("after") or None
    if after is not None and not _FILE_ID.fullmatch(after):
        raise invalid_request("`after` must be the id of an entry of this list.", param="after")
    return after
