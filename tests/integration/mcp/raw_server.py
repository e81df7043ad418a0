"""An MCP server of the older generation made of bare bytes: it says what no SDK would let one say."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

Answer = Callable[["RawServer", dict[str, Any], asyncio.StreamWriter], Awaitable[None]]


@dataclass
class RawServer:
    """What a test sees of it. `asked` are the methods of HTTP, and of JSON-RPC where there was one."""

    answer: Answer
    url: str = ""
    asked: list[str] = field(default_factory=list)


@asynccontextmanager
async def raw_server(answer: Answer) -> AsyncIterator[RawServer]:
    """A server that shakes hands properly and leaves all else to `answer`, a GET (`{"method": "GET"}`) included."""
    seen = RawServer(answer)
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.ensure_future(_serve(seen, reader, writer)))

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    seen.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    try:
        yield seen
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def say(
    writer: asyncio.StreamWriter, body: bytes, kind: str = "application/json", *, of: int = 0
) -> None:
    """An answer with this body; `of` is the length that it claims to have."""
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nmcp-session-id: s\r\ncontent-length: {of or len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()


async def result(writer: asyncio.StreamWriter, message: dict[str, Any], told: Any) -> None:
    """The result of a call of JSON-RPC."""
    await say(writer, json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": told}).encode())


async def _serve(seen: RawServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while message := await _read(reader):
            seen.asked.append(message["method"])
            if message["method"] == "initialize":
                await result(
                    writer,
                    message,
                    {
                        "protocolVersion": "2025-06-18",
                        "capabilities": {"tools": {}},
                        "serverInfo": {"name": "raw", "version": "1"},
                    },
                )
            elif message["method"] == "server/discover":
                await say(
                    writer,
                    b'{"jsonrpc":"2.0","id":%d,"error":{"code":-32601,"message":"no"}}' % message["id"],
                )
            elif "id" not in message and message["method"] != "GET":
                writer.write(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")
            else:
                await seen.answer(seen, message, writer)
            if writer.is_closing():
                return
    except (ConnectionError, asyncio.IncompleteReadError):
        return
    finally:
        writer.close()


async def _read(reader: asyncio.StreamReader) -> dict[str, Any]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    lines = [line.partition(":") for line in head.lower().split("\r\n")[1:]]
    headers = {name: value.strip() for name, _, value in lines}
    method = head.split(" ")[0]
    if method != "POST":
        return {"method": method}
    message: dict[str, Any] = json.loads(await reader.readexactly(int(headers["content-length"])))
    return message
