"""A request's body: read to its end, bounded, inflated, parsed."""

import io
import zlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import zstandard
from django.conf import settings

from responses_api.protocol.errors import ProtocolError, invalid_request
from responses_api.protocol.reading import LARGE_BYTES, read_json

_CHUNK: Final = 1 << 16
_MAX_WINDOW: Final = 1 << 23
"""The window that a zstd body may ask the decoder to keep: 8 MiB, as RFC 9659 says for HTTP."""


class ClientGone(Exception):
    """The client closed the connection before its request was complete."""


async def read_body(headers: Mapping[bytes, bytes], receive: Callable[[], Awaitable[Any]]) -> bytes:
    """The body as it was sent. Raises `ProtocolError` 415 and 413, `ClientGone`."""
    _check_type(headers.get(b"content-type", b"").decode("latin-1"))
    return await _read(receive)


def parse_json(headers: Mapping[bytes, bytes], raw: bytes) -> Any:
    """The JSON in a body of these headers.

    Raises `ProtocolError`: 415 for another encoding, 413 above `ANTIPHON_MAX_BODY_BYTES` after inflation, 400 for what
    is not JSON.
    """
    return read_json(_inflate(raw, headers.get(b"content-encoding", b"").decode("latin-1").strip().lower()))


def is_large(headers: Mapping[bytes, bytes], raw: bytes) -> bool:
    """Whether a body is to be parsed beside the event loop: nobody knows what a compressed one holds."""
    return len(raw) > LARGE_BYTES or bool(headers.get(b"content-encoding"))


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
            return _gunzip(raw)
        if encoding == "zstd":
            return _unzstd(raw)
    except (zlib.error, zstandard.ZstdError):
        raise invalid_request(f"The request body is not valid {encoding}.") from None
    raise invalid_request("The header Content-Encoding must be gzip, zstd or identity.", status=415)


class _Inflated:
    """What came out so far. `room` is how much a step may still produce: one byte more than is allowed, which tells."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.room = settings.MAX_BODY_BYTES + 1

    def add(self, piece: bytes) -> None:
        """Take what a step produced. Raises `ProtocolError` 413 where it is more than is allowed."""
        self.room -= len(piece)
        if self.room <= 0:
            raise _too_large()
        self._pieces.append(piece)

    def whole(self) -> bytes:
        """All of it."""
        return b"".join(self._pieces)


def _gunzip(raw: bytes) -> bytes:
    """Inflate one gzip member, no step of which produces more than there is room for."""
    inflater, inflated, at = zlib.decompressobj(wbits=31), _Inflated(), 0
    while at < len(raw) and not inflater.eof:
        inflated.add(inflater.decompress(raw[at : at + _CHUNK], inflated.room))
        at += _CHUNK
    if not inflater.eof:
        raise _cut_off()
    if inflater.unused_data or at < len(raw):
        raise _something_follows()
    return inflated.whole()


def _unzstd(raw: bytes) -> bytes:
    """Inflate one zstd frame, by a single read that produces no more than there is room for."""
    source, inflated = _ToItsLastByte(raw), _Inflated()
    reader = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW).stream_reader(source, read_size=_CHUNK)
    inflated.add(reader.read(inflated.room))
    if source.was_too_short:
        raise _cut_off()
    if not source.is_used_up:
        raise _something_follows()
    return inflated.whole()


class _ToItsLastByte(io.BytesIO):
    """A body that hands out its last byte by itself: the reader does not say where a frame ends, but a whole frame
    asks for that byte and never for another one.
    """

    def __init__(self, raw: bytes) -> None:
        super().__init__(raw)
        self._last = len(raw) - 1
        self.was_too_short = False

    @property
    def is_used_up(self) -> bool:
        """Whether every byte was asked for."""
        return self.tell() > self._last

    def read(self, size: int | None = -1) -> bytes:
        """Some of the next bytes."""
        self.was_too_short = self.is_used_up
        return super().read(min(size or _CHUNK, max(1, self._last - self.tell())))


def _cut_off() -> ProtocolError:
    return invalid_request("The compressed request body is cut off.")


def _something_follows() -> ProtocolError:
    return invalid_request(
        "Something follows the compressed request body: send one gzip member or one zstd frame."
    )


def _too_large() -> ProtocolError:
    return invalid_request(
        f"The request body is larger than the {settings.MAX_BODY_BYTES} bytes that are allowed.", status=413
    )
