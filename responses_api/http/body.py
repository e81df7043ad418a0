"""A request's body: read to its end, bounded, inflated, parsed."""

import zlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import zstandard
from django.conf import settings

from responses_api.protocol.errors import ProtocolError, invalid_request
from responses_api.protocol.sse import decode

_CHUNK: Final = 1 << 16


class ClientGone(Exception):
    """The client closed the connection before its request was complete."""


async def read_json(headers: Mapping[bytes, bytes], receive: Callable[[], Awaitable[Any]]) -> Any:
    """The parsed JSON body.

    Raises `ProtocolError`: 415 for another content type or encoding, 413 above `ANTIPHON_MAX_BODY_BYTES` (before or
    after inflation), 400 for what is not JSON. Raises `ClientGone`.
    """
    _check_type(headers.get(b"content-type", b"").decode("latin-1"))
    raw = await _read(receive)
    return parse(_inflate(raw, headers.get(b"content-encoding", b"").decode("latin-1").strip().lower()))


def parse(raw: bytes | str) -> Any:
    """The JSON in `raw`. Raises `ProtocolError` 400."""
    try:
        return decode(raw)
    except ValueError as error:
        raise invalid_request(f"The request body is not valid JSON: {error}.") from None
    except RecursionError:
        raise invalid_request("The request body is nested too deeply.") from None


async def _read(receive: Callable[[], Awaitable[Any]]) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > settings.MAX_BODY_BYTES:
            raise _too_large()
        chunks.append(chunk)
        if not message.get("more_body", False):
            return b"".join(chunks)


def _check_type(content_type: str) -> None:
    if content_type.partition(";")[0].strip().lower() != "application/json":
        raise invalid_request("The header Content-Type must be application/json.", status=415)


def _inflate(raw: bytes, encoding: str) -> bytes:
    try:
        if encoding in ("", "identity"):
            return raw
        if encoding in ("gzip", "x-gzip"):
            return _bounded(zlib.decompressobj(wbits=31), raw)
        if encoding == "zstd":
            return _bounded(zstandard.ZstdDecompressor().decompressobj(), raw)
    except (zlib.error, zstandard.ZstdError):
        raise invalid_request(f"The request body is not valid {encoding}.") from None
    raise invalid_request("The header Content-Encoding must be gzip, zstd or identity.", status=415)


def _bounded(inflater: Any, raw: bytes) -> bytes:
    """Inflate piece by piece, so that a bomb is refused before it has gone off."""
    size, pieces = 0, []
    for start in range(0, len(raw), _CHUNK):
        piece = inflater.decompress(raw[start : start + _CHUNK])
        size += len(piece)
        if size > settings.MAX_BODY_BYTES:
            raise _too_large()
        pieces.append(piece)
    if not inflater.eof:
        raise invalid_request("The compressed request body is cut off.")
    return b"".join(pieces)


def _too_large() -> ProtocolError:
    return invalid_request(
        f"The request body is larger than the {settings.MAX_BODY_BYTES} bytes that are allowed.", status=413
    )
