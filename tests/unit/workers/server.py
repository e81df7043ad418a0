"""A real HTTP server on loopback that says exactly the bytes it is told, and ends how it is told."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import orjson

from responses_api.protocol.plain import Json


@dataclass
class Upstream:
    """What a test sees of the server: where it is and what reached it."""

    url: str
    requests: list[tuple[dict[str, str], Json]] = field(default_factory=list)
    connections: int = 0
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)


class Exchange:
    """One request, and the means to answer it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def head(self, status: int = 200, **headers: str) -> None:
        """The start of an answer whose body is chunked."""
        lines = [f"HTTP/1.1 {status} X", "transfer-encoding: chunked"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.raw("\r\n".join(lines).encode() + b"\r\n\r\n")

    async def piece(self, data: bytes) -> None:
        """A part of the body, on the wire when this returns."""
        await self.raw(b"%x\r\n%b\r\n" % (len(data), data))

    async def end(self) -> None:
        """The regular end of the body; the connection stays."""
        await self.raw(b"0\r\n\r\n")

    async def raw(self, data: bytes) -> None:
        """Any bytes."""
        self._writer.write(data)
        await self._writer.drain()

    def cut(self) -> None:
        """Close without ending the body."""
        self._writer.close()

    def reset(self) -> None:
        """Break the connection (TCP RST)."""
        sock: socket.socket = self._writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    async def until_hung_up(self) -> None:
        """Wait until the client has closed its side."""
        try:
            while await self._reader.read(1024):
                pass
        except ConnectionError:
            return


Script = Callable[[Exchange], Awaitable[None]]


@asynccontextmanager
async def upstream(script: Script) -> AsyncIterator[Upstream]:
    """Answer every request by the script, until it closes the connection."""
    seen = Upstream("")
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.connections += 1
        try:
            while request := await _read_request(reader):
                seen.requests.append(request)
                await script(Exchange(reader, writer))
                if writer.transport.is_closing():
                    break
        except ConnectionError:
            pass
        finally:
            seen.hung_up.set()
            writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.ensure_future(serve(reader, writer)))

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    seen.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield seen
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _read_request(reader: asyncio.StreamReader) -> tuple[dict[str, str], Json] | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
    except asyncio.IncompleteReadError:
        return None
    request_line, *lines = head.strip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    headers["request-line"] = request_line
    body = await reader.readexactly(int(headers["content-length"]))
    return headers, orjson.loads(body)


def free_port() -> int:
    """A port where nobody listens."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port
