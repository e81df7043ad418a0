"""One HTTP request of daphne's, whose body is bounded; that of an upload reaches its application while it comes.

daphne by itself gives an application the whole body at once, once it is there, however large it is: in a file on the
disk, and then in memory.
"""

import asyncio
from io import BytesIO
from typing import Any, Final

from daphne.http_protocol import WebRequest
from django.conf import settings

from responses_api.protocol.files import UPLOAD_PATH

_ENOUGH_WAITING: Final = 16
"""Pieces of a body (64 KiB each, mostly) that wait for the application; then the client waits, too."""
_LOOK_SECONDS: Final = 0.002
_LINGER_SECONDS: Final = 5.0
"""How long the rest of a body is read, and dropped, that was answered before its end: many clients read an answer only
when they have sent everything, and closing the connection on what they send would lose it.
"""


class Request(WebRequest):  # type: ignore[misc]  # daphne has no types
    """One HTTP request. Its body is the application's alone: Twisted would read forms, and answer one that it cannot
    read with a bare 400.
    """

    _is_streamed = False
    _is_whole = False
    _is_answered = False
    _received = 0
    _lingering: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, parsePOSTFormSubmission=False, **options)

    def gotLength(self, length: int | None) -> None:
        """The headers are there; the body is still to come."""
        channel = self.channel
        if not self._is_upload(channel._command, channel._path):
            super().gotLength(length)
            return
        self._is_streamed, self.content = True, BytesIO()
        super().requestReceived(channel._command, channel._path, channel._version)
        if self.application_queue is not None:
            self.application_queue.get_nowait()  # what daphne took for the body

    def handleContentChunk(self, data: bytes) -> None:
        """Some of the body has come."""
        self._received += len(data)
        if not self._is_streamed:
            # What is over the service's own limit is answered with an error; what is far over it is not even kept.
            if self._received <= 2 * settings.MAX_BODY_BYTES:
                super().handleContentChunk(data)
        elif self.application_queue is not None and not self._is_answered:
            self.application_queue.put_nowait({"type": "http.request", "body": data, "more_body": True})
            if self.application_queue.qsize() >= _ENOUGH_WAITING:
                self.channel._networkProducer.pauseProducing()
                self._listen_later()

    def requestReceived(self, command: bytes, path: bytes, version: bytes) -> None:
        """The whole body has come."""
        self._is_whole = True
        if not self._is_streamed:
            super().requestReceived(command, path, version)
        elif self._is_answered:
            self._end()
        elif self.application_queue is not None:
            self.application_queue.put_nowait({"type": "http.request", "body": b"", "more_body": False})

    def handle_reply(self, message: Any) -> None:
        """Do what the application says."""
        if message["type"] == "http.response.start" and self._is_early():
            self.responseHeaders.setRawHeaders(b"connection", [b"close"])
            if self.channel is not None:
                self.channel.persistent = False
        super().handle_reply(message)

    def finish(self) -> None:
        """The answer is whole."""
        if self._is_early() and not self._is_answered:
            self._linger()
            return
        if self._is_cut_short():
            self.channel.persistent = (
                False  # else the client would read the next answer as the rest of this one
            )
        super().finish()

    def connectionLost(self, reason: Any) -> None:
        """The client is gone."""
        if self._lingering is not None:
            self._lingering.cancel()
        super().connectionLost(reason)

    def _is_upload(self, command: bytes, path: bytes) -> bool:
        is_asked = command == b"POST" and path.partition(b"?")[0].removesuffix(b"/") == UPLOAD_PATH.encode()
        return is_asked and not self.requestHeaders.hasHeader(b"upgrade")

    def _is_early(self) -> bool:
        """Whether it is answered before its body has come."""
        return self._is_streamed and not self._is_whole

    def _is_cut_short(self) -> bool:
        """Whether the answer has fewer bytes than it said it would have."""
        (told,) = self.responseHeaders.getRawHeaders(b"content-length", [b""])[:1]
        return bool(self.method != b"HEAD" and told.isdigit() and self.sentLength < int(told))

    def _linger(self) -> None:
        if not self.startedWriting:
            self.write(b"")
        if self.chunked:
            self.channel.write(b"0\r\n\r\n")
            self.chunked: Any = 0
        self._is_answered, self.channel.persistent = True, False
        self._lingering = asyncio.get_running_loop().call_later(_LINGER_SECONDS, self._end)

    def _end(self) -> None:
        if self._lingering is not None:
            self._lingering.cancel()
        super().finish()

    def _listen_later(self) -> None:
        asyncio.get_running_loop().call_later(_LOOK_SECONDS, self._listen)

    def _listen(self) -> None:
        """Read on, if the application has taken enough of what came."""
        if self.channel is None:
            return
        if self._is_answered or self.application_queue.qsize() < _ENOUGH_WAITING:
            self.channel._networkProducer.resumeProducing()
        else:
            self._listen_later()
