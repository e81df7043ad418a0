"""A WebSocket client on a bare socket: it reads when a test says so, and answers no ping by itself."""

import base64
import os
import socket
import struct
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

from tests.support.client import Deadline

TEXT: Final = 1
CLOSE: Final = 8
PING: Final = 9
PONG: Final = 10


class RawSocket:
    """One open WebSocket. `receive_buffer` bounds what the kernel keeps for a client that does not read."""

    def __init__(self, base_url: str, key: str | None, receive_buffer: int | None = None) -> None:
        url = urlsplit(base_url)
        self._peer = socket.socket()
        if receive_buffer is not None:
            self._peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self._peer.settimeout(10)
        self._peer.connect((url.hostname or "", url.port or 80))
        lines = [
            f"GET {url.path}/responses HTTP/1.1",
            f"Host: {url.netloc}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}",
            f"Authorization: Bearer {key}",
        ]
        self._peer.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self._buffer = b""
        head = self._read_to(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101 "), head

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._peer.close()

    def send(self, text: str) -> None:
        """Send a text frame."""
        head, body = frame(TEXT, text.encode())
        self.send_raw(head + body)

    def pong(self, payload: bytes) -> None:
        """Answer a ping."""
        head, body = frame(PONG, payload)
        self.send_raw(head + body)

    def send_raw(self, data: bytes) -> None:
        """Send bytes, which may be a part of a frame."""
        self._peer.sendall(data)

    def read(self, timeout: float = 20.0) -> tuple[int, bytes]:
        """The next frame: opcode and payload. ConnectionError where the connection ends instead."""
        deadline = Deadline(timeout)
        first, second = self._exactly(2, deadline)
        size = second & 127
        if size == 126:
            (size,) = struct.unpack("!H", self._exactly(2, deadline))
        elif size == 127:
            (size,) = struct.unpack("!Q", self._exactly(8, deadline))
        return first & 15, self._exactly(size, deadline)

    def read_until(self, opcode: int) -> bytes:
        """Read on until a frame of this kind has come; its payload."""
        while (found := self.read())[0] != opcode:
            pass
        return found[1]

    def close(self) -> None:
        """Leave without a close frame."""
        self._peer.close()

    def abort(self) -> None:
        """Leave as a client does that is killed: with a reset."""
        self._peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._peer.close()

    def say_goodbye(self) -> None:
        """Send a close frame."""
        head, body = frame(CLOSE, struct.pack("!H", 1000))
        self.send_raw(head + body)

    def wait_ended(self, timeout: float = 20.0) -> None:
        """Read on until the server has ended the connection."""
        deadline = Deadline(timeout)
        try:
            while self._receive(deadline):
                pass
        except ConnectionError:
            pass

    def _read_to(self, mark: bytes) -> bytes:
        while mark not in self._buffer:
            assert self._receive(Deadline(10)), self._buffer
        found, _, self._buffer = self._buffer.partition(mark)
        return found

    def _exactly(self, size: int, deadline: Deadline) -> bytes:
        while len(self._buffer) < size:
            if not self._receive(deadline):
                raise ConnectionError("the server has closed the connection")
        found, self._buffer = self._buffer[:size], self._buffer[size:]
        return found

    def _receive(self, deadline: Deadline) -> bool:
        self._peer.settimeout(deadline.left())
        data = self._peer.recv(65536)
        self._buffer += data
        return bool(data)


def frame(opcode: int, payload: bytes) -> tuple[bytes, bytes]:
    """The head and the masked payload of a whole frame from a client. (The mask is zeros, which changes nothing.)"""
    size = len(payload)
    if size < 126:
        length = bytes([128 | size])
    elif size < 1 << 16:
        length = bytes([128 | 126]) + struct.pack("!H", size)
    else:
        length = bytes([128 | 127]) + struct.pack("!Q", size)
    return bytes([128 | opcode]) + length + bytes(4), payload
