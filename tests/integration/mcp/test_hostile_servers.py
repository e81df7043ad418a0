"""Servers that mean harm, or break every rule: they cost a call its result, and nobody else anything."""

import asyncio
import json
from typing import Any

import pytest

from tests.integration.mcp.opened import LABEL, called, connections, listed, provider
from tests.integration.mcp.raw_server import RawServer, raw_server, result, say
from workers.tools.mcp.limits import McpLimits

TOOL = {"name": "one", "inputSchema": {"type": "object"}}


async def not_found(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n")


async def usual(server: RawServer, message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
    """A server with one tool."""
    if message["method"] == "tools/list":
        await result(writer, message, {"tools": [TOOL]})
    elif message["method"] == "tools/call":
        await result(writer, message, {"content": [{"type": "text", "text": "done"}]})
    else:
        await not_found(writer)


async def test_a_stream_that_ends_at_once_is_not_opened_for_ever() -> None:
    async def answer(server: RawServer, message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if message["method"] == "GET":
            await say(writer, b"retry: 0\n\n", "text/event-stream")
        else:
            await usual(server, message, writer)

    async with raw_server(answer) as server, connections() as kept:
        one = provider(kept, server.url)
        await listed(one)
        for _ in range(200):
            await called(one, "one")
        assert server.asked.count("GET") <= 10


async def test_an_answer_that_is_never_told_is_not_asked_for_over_and_over() -> None:
    async def answer(server: RawServer, message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if message["method"] in ("GET", "tools/call"):
            await say(writer, b"retry: 0\nid: 1\ndata:\n\n", "text/event-stream")
        else:
            await usual(server, message, writer)

    async with raw_server(answer) as server, connections() as kept:
        one = provider(kept, server.url)
        await listed(one)
        ran = await called(one, "one")
        assert server.asked.count("GET") <= 10
    assert ran.receipt["error"] == f"The MCP server '{LABEL}' closed the connection before it answered."


async def test_pages_without_end_are_not_read_to_it() -> None:
    async def answer(server: RawServer, message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if message["method"] == "tools/list":
            await result(writer, message, {"tools": [], "nextCursor": str(len(server.asked))})
        else:
            await not_found(writer)

    async with raw_server(answer) as server, connections() as kept:
        receipt = await listed(provider(kept, server.url))
        assert server.asked.count("tools/list") == 50
    assert receipt["error"] == (
        f"The MCP server '{LABEL}' lists its tools on more than 50 pages, which is more than is read."
    )


async def test_pages_of_tools_are_put_together() -> None:
    async def answer(server: RawServer, message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        cursor = (message.get("params") or {}).get("cursor")
        if message["method"] != "tools/list":
            await not_found(writer)
        elif cursor is None:
            await result(writer, message, {"tools": [{**TOOL, "name": "first"}], "nextCursor": "2"})
        else:
            await result(writer, message, {"tools": [{**TOOL, "name": f"second {cursor}"}]})

    async with raw_server(answer) as server, connections() as kept:
        one = provider(kept, server.url)
        receipt = await listed(one)
    assert [tool["name"] for tool in receipt["tools"]] == ["first", "second 2"]
    assert [offered.function["name"] for offered in one.offered] == ["first", "second_2"]


async def test_too_many_tools_are_not_read() -> None:
    async def answer(server: RawServer, message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        await result(writer, message, {"tools": [{**TOOL, "name": str(number)} for number in range(1001)]})

    async with raw_server(answer) as server, connections() as kept:
        receipt = await listed(provider(kept, server.url, allowed_tools=["1"]))
    assert "offers more than 1000 tools" in receipt["error"]


@pytest.mark.parametrize(
    "told",
    [
        b"[" * 100_000 + b"]" * 100_000,
        b'{"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":1}]}}',
        b'{"jsonrpc":"2.0","id":ID,"result":{"tools":7}}',
        b'{"jsonrpc":"2.0","id":ID,"result":[]}',
        b'{"jsonrpc":"2.0","id":999,"error":{"code":1,"message":"of another call"}}',
        b'"\\ud800"',
        b"\xff\xfe",
        b"",
    ],
)
async def test_a_list_that_is_none_is_an_error(told: bytes) -> None:
    async def answer(server: RawServer, message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        await say(writer, told.replace(b"ID", str(message.get("id")).encode()))

    async with raw_server(answer) as server, connections(limits=McpLimits(connect_seconds=0.5)) as kept:
        receipt = await listed(provider(kept, server.url))
    assert receipt["tools"] == []
    assert receipt["error"].startswith(f"The MCP server '{LABEL}' ")


async def test_a_body_that_is_cut_is_an_error_of_its_call_alone() -> None:
    async def answer(server: RawServer, message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if message["method"] == "tools/call":
            await say(writer, b'{"jsonrpc":"2.0",', of=1000)
            writer.close()
        else:
            await usual(server, message, writer)

    async with raw_server(answer) as server, connections() as kept:
        one = provider(kept, server.url)
        await listed(one)
        ran = await called(one, "one")
    assert ran.receipt["error"] == f"The MCP server '{LABEL}' closed the connection before it answered."


async def test_an_answer_that_drips_is_cut_off_in_time() -> None:
    async def answer(server: RawServer, message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if message["method"] != "tools/call":
            await usual(server, message, writer)
            return
        await say(writer, b" ", of=1_000_000)
        while True:
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.01)

    async with raw_server(answer) as server, connections(limits=McpLimits(call_seconds=0.3)) as kept:
        one = provider(kept, server.url)
        await listed(one)
        ran = await called(one, "one")
    assert ran.receipt["error"] == f"The MCP server '{LABEL}' did not answer within 0.3 seconds."


async def test_a_schema_of_results_is_never_run() -> None:
    # In a checker of schemas this pattern takes years for that text, on the loop of all responses.
    schema = {"type": "object", "properties": {"a": {"pattern": "^(a+)+$"}}}

    async def answer(server: RawServer, message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if message["method"] == "tools/list":
            await result(writer, message, {"tools": [{**TOOL, "outputSchema": schema}]})
        elif message["method"] == "tools/call":
            await result(writer, message, {"content": [], "structuredContent": {"a": "a" * 60 + "!"}})
        else:
            await not_found(writer)

    async with raw_server(answer) as server, connections() as kept:
        one = provider(kept, server.url)
        await listed(one)
        async with asyncio.timeout(5):
            ran = await called(one, "one")
    assert json.loads(ran.receipt["output"]) == {"a": "a" * 60 + "!"}


async def test_words_of_a_server_are_bounded_and_without_what_it_was_told() -> None:
    async def answer(server: RawServer, message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        error = {"code": -32000, "message": "no tok-secret-1 " + "x" * 10_000}
        await say(writer, json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}).encode())

    async with raw_server(answer) as server, connections() as kept:
        receipt = await listed(provider(kept, server.url, secrets={"authorization": "tok-secret-1"}))
    assert "tok-secret-1" not in receipt["error"]
    assert len(receipt["error"]) < 2500


async def test_a_flood_of_notifications_is_bounded() -> None:
    note = {
        "jsonrpc": "2.0",
        "method": "notifications/message",
        "params": {"level": "info", "data": "x" * 1000},
    }

    async def answer(server: RawServer, message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if message["method"] != "tools/call":
            await usual(server, message, writer)
            return
        await say(writer, b"", "text/event-stream", of=1_000_000_000)
        while True:
            writer.write(b"data: " + json.dumps(note).encode() + b"\n\n")
            await writer.drain()

    async with raw_server(answer) as server, connections() as kept:
        one = provider(kept, server.url)
        await listed(one)
        ran = await called(one, "one")
    assert ran.has_failed


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"[1, 2, 3]", "application/json"),
        (b"", "application/json"),
        (b'{"secret": "\xff\xfe"}', "application/json"),
        (b"[" * 100_000, "application/json"),
        (b"data: {\n\n", "text/event-stream"),
        (b"secret", "text/plain"),
    ],
)
async def test_an_answer_that_cannot_be_read_is_not_quoted(body: bytes, kind: str) -> None:
    async def answer(server: RawServer, message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if message["method"] == "tools/call":
            await say(writer, body, kind)
        else:
            await usual(server, message, writer)

    async with raw_server(answer) as server, connections() as kept:
        one = provider(kept, server.url)
        await listed(one)
        ran = await called(one, "one")
    assert ran.receipt["error"] == f"The MCP server '{LABEL}' answered with what is not MCP."
