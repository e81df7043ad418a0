"""A real MCP server, made with the official SDK: what a client of Antiphon's may name in a tool of the type `mcp`.

It runs in a thread of its own, on loopback, and speaks streamable HTTP as the SDK's servers do. What it was asked is
kept for the test to read; how it fails is switched on by attributes. A server of an earlier generation (`era="2025"`)
knows the handshake with sessions only.
"""

import asyncio
import json
import socket
import threading
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Annotated, Any, Literal, Self, TypedDict

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Image
from mcp_types import (
    CallToolResult,
    EmbeddedResource,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from pydantic import BaseModel, Field

_Scope = MutableMapping[str, Any]
_Message = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_Message]]
_Send = Callable[[_Message], Awaitable[None]]

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154"
    "08d763f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)
HTML = b"<!doctype html><title>Welcome</title>"


class Point(TypedDict):
    """A structured result."""

    x: int
    y: int


class Confirmed(BaseModel):
    """What a server may ask its client's user."""

    sure: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """One HTTP request that the server got: the call of JSON-RPC in it, if there was one."""

    http_method: str
    path: str
    query: str
    headers: dict[str, str]
    method: str
    params: dict[str, Any]


@dataclass(eq=False)
class RealMcpServer:
    """The server. `with RealMcpServer() as server:` starts it; `server.url` is its address.

    `token`: requests must carry `Authorization: Bearer …` with it. `status`: every request is answered with this
    status and no more; with `redirect`, to that place. `html`: every answer is a web page. `answers_json`: results come
    as JSON, not as a stream of events. `refuses`: methods of JSON-RPC that are answered by `status` alone.
    """

    era: Literal["2026", "2025"] = "2026"
    answers_json: bool = False
    token: str = ""
    status: int = 0
    redirect: str = ""
    html: bool = False
    refuses: frozenset[str] = frozenset()
    asked: list[Asked] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)
    began: threading.Event = field(default_factory=threading.Event)
    cancelled: threading.Event = field(default_factory=threading.Event)
    _lost: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.mcp = _server(self)
        self._thread: threading.Thread | None = None
        # Named as one of TCP, or asyncio lets its writes wait for each other's receipt.
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/mcp"

    def __enter__(self) -> Self:
        app = self.mcp.streamable_http_app(json_response=self.answers_json)
        config = uvicorn.Config(
            _Door(self, app),
            log_config=None,
            log_level="critical",
            access_log=False,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="MCP server", daemon=True)
        self._started = threading.Event()
        self._thread.start()
        assert self._started.wait(20), "the MCP server did not start"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End it; what it still answers is cut off."""
        if self._thread is None:
            return
        self.released.set()
        self._server.should_exit = True
        self._server.force_exit = True
        self.hang_up()
        self._thread.join(10)
        self._thread = None

    def hang_up(self) -> None:
        """Close every connection in the middle of whatever it carries."""
        self._on_loop(self._abort_all)

    def lose_sessions(self) -> None:
        """Forget all sessions, as a server does that was started anew: their ids are answered with 404 from now on."""
        self._lost.update(
            asked.headers["mcp-session-id"] for asked in self.asked if "mcp-session-id" in asked.headers
        )

    def calls(self, method: str = "tools/call") -> list[Asked]:
        """What it was asked of one method of JSON-RPC."""
        return [asked for asked in self.asked if asked.method == method]

    def arguments(self, tool: str) -> list[dict[str, Any]]:
        """The arguments of each call of a tool."""
        return [call.params.get("arguments") or {} for call in self.calls() if call.params["name"] == tool]

    def is_lost(self, session: str) -> bool:
        """Whether a session was forgotten."""
        return session in self._lost

    def _run(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        serving = asyncio.create_task(self._server.serve([self._socket]))
        while not self._server.started and not serving.done():
            await asyncio.sleep(0.005)
        self._started.set()
        await serving

    def _on_loop(self, act: Callable[[], None]) -> None:
        done = threading.Event()

        def run() -> None:
            act()
            done.set()

        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(run)
            done.wait(5)

    def _abort_all(self) -> None:
        for connection in list(self._server.server_state.connections):
            connection.transport.abort()


class _Door:
    """What every request passes: it is written down, and may be refused before the SDK sees it."""

    def __init__(self, server: RealMcpServer, app: Any) -> None:
        self._server = server
        self._app = app

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = await _read(receive)
        asked = _asked(scope, body)
        self._server.asked.append(asked)
        if not await self._refuse(asked, body, send):
            await self._app(scope, _replay(body, receive), send)

    async def _refuse(self, asked: Asked, body: bytes, send: _Send) -> bool:
        """Answer what the SDK is not to see."""
        server = self._server
        if server.token and asked.headers.get("authorization") != f"Bearer {server.token}":
            await _answer(send, 401, b'{"error":"unauthorized"}')
        elif server.html:
            await _answer(send, 200, HTML, "text/html")
        elif server.redirect:
            await _answer(send, 307, b"", location=server.redirect)
        elif server.status and (not server.refuses or asked.method in server.refuses):
            await _answer(send, server.status, b"{}")
        elif server.is_lost(asked.headers.get("mcp-session-id", "")):
            await _answer(send, 404, _error(body, -32600, "Session not found"))
        elif server.era == "2025" and asked.method == "server/discover":
            await _answer(send, 400, _error(body, -32600, "Bad Request: Missing session ID"))
        else:
            return False
        return True


async def _read(receive: _Receive) -> bytes:
    body = b""
    while True:
        message = await receive()
        body += bytes(message.get("body", b""))
        if not message.get("more_body"):
            return body


def _replay(body: bytes, receive: _Receive) -> _Receive:
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> _Message:
        return messages.pop() if messages else await receive()

    return again


def _asked(scope: _Scope, body: bytes) -> Asked:
    called = json.loads(body) if body else {}
    return Asked(
        http_method=scope["method"],
        path=scope["path"],
        query=scope["query_string"].decode(),
        headers={name.decode().lower(): value.decode("latin-1") for name, value in scope["headers"]},
        method=called.get("method", ""),
        params=called.get("params") or {},
    )


def _error(body: bytes, code: int, message: str) -> bytes:
    called = json.loads(body) if body else {}
    return json.dumps(
        {"jsonrpc": "2.0", "id": called.get("id"), "error": {"code": code, "message": message}}
    ).encode()


async def _answer(
    send: _Send, status: int, body: bytes, kind: str = "application/json", location: str = ""
) -> None:
    headers = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode())]
    if location:
        headers.append((b"location", location.encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _server(server: RealMcpServer) -> MCPServer:
    mcp = MCPServer("tools for tests", log_level="CRITICAL")
    _add_plain_tools(mcp)
    _add_failing_tools(mcp, server)
    _add_other_contents(mcp)
    _add_asking_tools(mcp)
    return mcp


def _add_plain_tools(mcp: MCPServer) -> None:
    @mcp.tool(description="The sum of two numbers.", annotations=ToolAnnotations(read_only_hint=True))
    def add(a: int, b: int) -> int:
        return a + b

    @mcp.tool(description="The text, as it came.", structured_output=False)
    def echo(text: str) -> str:
        return text

    @mcp.tool(structured_output=False, description="The headers of the call.")
    def headers(ctx: Context[Any, Any]) -> str:
        return json.dumps(dict(ctx.headers or {}))

    @mcp.tool(structured_output=False, description="So many letters.")
    def huge(size: Annotated[int, Field(ge=0)]) -> str:
        return "é" * (size // 2) + "x" * (size % 2)


def _add_failing_tools(mcp: MCPServer, server: RealMcpServer) -> None:
    @mcp.tool(structured_output=False)
    async def slow(ctx: Context[Any, Any]) -> str:
        """Wait until the test lets it go on."""
        server.began.set()
        try:
            while not server.released.is_set():
                await ctx.report_progress(1, 2, "still at it")
                await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            server.cancelled.set()
            raise
        return "done"

    @mcp.tool(structured_output=False)
    def fails() -> CallToolResult:
        """Say that it failed."""
        return CallToolResult(content=[TextContent(type="text", text="the backend is down")], is_error=True)

    @mcp.tool()
    def raises() -> str:
        """Raise an error that nobody foresaw."""
        raise RuntimeError("nobody foresaw this")

    @mcp.tool(structured_output=False)
    async def dies() -> str:
        """Lose every connection before the answer."""
        server.began.set()
        asyncio.get_running_loop().call_soon(server._abort_all)
        await asyncio.sleep(30)
        return "never told"


def _add_other_contents(mcp: MCPServer) -> None:
    @mcp.tool()
    def point(x: int, y: int) -> Point:
        """A structured result."""
        return {"x": x, "y": y}

    @mcp.tool(structured_output=False)
    def picture() -> Image:
        """An image."""
        return Image(data=PIXEL, format="png")

    @mcp.tool(structured_output=False)
    def resources() -> CallToolResult:
        """A resource with its text, and a link to another one."""
        inside = TextResourceContents(uri="memo://1", mime_type="text/plain", text="what the memo says")
        return CallToolResult(
            content=[
                EmbeddedResource(type="resource", resource=inside),
                ResourceLink(
                    type="resource_link", name="plan", uri="file:///plan.txt", mime_type="text/plain"
                ),
            ]
        )


def _add_asking_tools(mcp: MCPServer) -> None:
    @mcp.tool(structured_output=False)
    async def asks(ctx: Context[Any, Any]) -> str:
        """Ask the client's user something."""
        answer = await ctx.elicit("Are you sure?", schema=Confirmed)
        return answer.action

    @mcp.tool(structured_output=False)
    async def grows(ctx: Context[Any, Any]) -> str:
        """Offer one tool more from now on, and say so."""

        def another() -> str:
            return "new"

        mcp.add_tool(another, name="another", structured_output=False)
        await ctx.request_context.session.send_tool_list_changed()
        await ctx.notify_tools_changed()
        return "grown"
