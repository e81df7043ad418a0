"""`POST /v1/files`: a form with a file, stored while it comes. However large it is, a piece of it is in memory."""

import asyncio
import contextlib
from functools import partial
from typing import Any, Final

from django.conf import settings

from responses_api.http.body import ClientGone
from responses_api.http.form import FileBegins, FormReader
from responses_api.http.relay import JSON, Exchange, answered, caller_of
from responses_api.protocol.errors import ProtocolError, invalid_request
from responses_api.protocol.files import described, no_file
from responses_api.protocol.plain import Json
from responses_api.protocol.sse import encode
from responses_api.services.access import Scope
from responses_api.services.database import in_database
from responses_api.services.keeping import may_keep
from responses_api.services.presence import Stay
from responses_api.services.uploads import LONGEST_SECONDS, Upload, too_large

SCOPE: Final[Scope] = "files:write"
_MOST_BESIDE: Final = 1 << 18
"""Bytes of a form that are not its file's."""


class UploadEndpoint:
    """The ASGI application of the call."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        await answered(Exchange(scope, send), partial(self._answer, receive))

    async def _answer(self, receive: Any, exchange: Exchange) -> None:
        with await caller_of(exchange, SCOPE) as stay:
            may_keep(stay.principal)
            form = FormReader(exchange.headers)
            upload = Upload(stay.principal.tenant_id, key_id=stay.principal.key_id)
            try:
                async with asyncio.timeout(LONGEST_SECONDS):
                    file = await _store(form, upload, stay, receive, exchange)
            except TimeoutError:
                await _abandon(upload)
                raise _too_slow() from None
            except BaseException:
                await _abandon(upload)
                raise
        await exchange.begin(200, (JSON,))
        await exchange.end(encode(file))


async def _store(form: FormReader, upload: Upload, stay: Stay, receive: Any, exchange: Exchange) -> Json:
    most, is_whole = _declared(exchange), False
    while not is_whole:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        is_whole = not message.get("more_body", False)
        for found in form.read(message.get("body", b"")):
            if isinstance(found, FileBegins):
                await in_database(upload.begin, found.name, found.media_type, most)
            elif upload.take(found):
                stay.check()
                await in_database(upload.store)
    form.close()
    stay.check()
    if upload.row is None:
        raise no_file()
    return await in_database(upload.finish, described(form.fields))


def _declared(exchange: Exchange) -> int | None:
    """How many bytes the body has, so the file at most, where its client says so.

    Raises `ProtocolError` 413 where no form could have so many beside a file that is allowed.
    """
    declared = exchange.headers.get(b"content-length", b"")
    if not declared.isdigit():
        return None
    if int(declared) > settings.MAX_FILE_BYTES + _MOST_BESIDE:
        raise too_large()
    return int(declared)


async def _abandon(upload: Upload) -> None:
    """Delete what came in, whatever ended it; where the database is away, beat does it."""
    if upload.row is not None:
        with contextlib.suppress(ProtocolError):
            await asyncio.shield(in_database(upload.abandon))


def _too_slow() -> ProtocolError:
    return invalid_request(
        f"'file' did not come in whole within {LONGEST_SECONDS:.0f} seconds.", param="file"
    )
