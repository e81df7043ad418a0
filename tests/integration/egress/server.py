"""A server on loopback that answers each request by a function, byte by byte as that wants it, with TLS or without."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.certificates import certificate


@dataclass
class Site:
    """What a test sees of the server: its port, what it was asked, and how much it sent."""

    port: int = 0
    heads: list[str] = field(default_factory=list)
    connections: int = 0
    sent: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


Send = Callable[[bytes], Awaitable[None]]
Answer = Callable[[str, Send], Awaitable[None]]
"""Answers one request, given its head; the connection is closed afterwards."""


@asynccontextmanager
async def site(
    answer: Answer, *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> AsyncIterator[Site]:
    """Serve until the block ends."""
    seen = Site()
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.connections += 1

        async def send(data: bytes) -> None:
            writer.write(data)
            await writer.drain()
            seen.sent += len(data)

        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            seen.heads.append(head)
            await answer(head, send)
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            pass
        finally:
            writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.ensure_future(serve(reader, writer)))

    server = await asyncio.start_server(accept, host, 0, ssl=tls)
    seen.port = server.sockets[0].getsockname()[1]
    try:
        yield seen
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def body(content: bytes, **headers: str) -> Answer:
    """Answers everything with this."""

    async def answer(head: str, send: Send) -> None:
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await send(
            "\r\n".join(["HTTP/1.1 200 OK", f"content-length: {len(content)}", *lines, "", ""]).encode()
        )
        await send(content)

    return answer


def redirect(*locations: str, status: int = 302) -> Answer:
    """Sends one on, each time to the next of these, and from then on to the last."""
    left = list(locations)

    async def answer(head: str, send: Send) -> None:
        location = left.pop(0) if len(left) > 1 else left[0]
        await send(f"HTTP/1.1 {status} Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n".encode())

    return answer


def tls_for(host: str, folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """What a server that is called `host` has, and what a client trusts that shall know it by that name."""
    certificate_path, key_path = certificate(host, folder)
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(certificate_path, key_path)
    return server, ssl.create_default_context(cafile=str(certificate_path))
