"""One connection to a server. The contexts of the SDK must be left by the task that entered them, so a connection has a
task of its own, from its opening to its end; whoever asks something only waits for it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from typing import Any, Final, TypeVar

import httpx2
import structlog
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import listen
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolResult,
    Implementation,
    InputRequiredResult,
    PaginatedRequestParams,
    Tool,
    ToolListChangedNotification,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from responses_api.protocol.egress import EgressError, EgressRules
from workers.egress.client import guarded_client
from workers.egress.limits import Limits
from workers.tools.mcp.exchange import Exchange, watched
from workers.tools.mcp.failures import McpFailure, failure_of, is_final, late
from workers.tools.mcp.limits import McpLimits
from workers.tools.mcp.server import McpServer
from workers.tools.mcp.transport import ContainedTransport

log = structlog.get_logger(__name__)

_T = TypeVar("_T")

MOST_TOOLS: Final = 1000
_MOST_PAGES: Final = 50
_CLOSING_SECONDS: Final = 2.0
_CLIENT: Final = Implementation(name="antiphon", version="1")
_REFUSED: Final = (MCPError, ValidationError, RuntimeError)


class _Session(ClientSession):
    """The SDK's session. Whether results keep to the schema that their server gave is the server's business: a pattern
    in that schema, on the loop that all responses share, could be made to take for ever.
    """

    async def validate_tool_result(self, name: str, result: CallToolResult) -> None:
        return


class Connection:
    """A connection that is being opened, is open, or has ended. `users` is how many are asking something."""

    def __init__(self, server: McpServer, rules: EgressRules, limits: McpLimits) -> None:
        self.server = server
        self.users = 0
        self._rules = rules
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._is_retired = False
        self._opened: asyncio.Future[ClientSession] = self._loop.create_future()
        self._enough = asyncio.Event()
        self._listing = asyncio.Lock()
        self._tools: list[Tool] | None = None
        self._tools_until = 0.0
        self._changes = 0
        self._has_session = False
        self._task = asyncio.create_task(self._own(), name="MCP connection")

    @property
    def is_usable(self) -> bool:
        """Whether it may be given to one more."""
        return not self._is_retired and not self._task.done()

    def retire(self) -> None:
        """Give it to nobody else."""
        self._is_retired = True

    async def close(self) -> None:
        """End it, in order where the server lets that happen soon."""
        self.retire()
        self._enough.set()
        done, _ = await asyncio.wait([self._task], timeout=_CLOSING_SECONDS)
        if not done:
            self._task.cancel()
            await asyncio.wait([self._task], timeout=_CLOSING_SECONDS)

    async def tools(self) -> list[Tool]:
        """All tools of the server, as it told them last. Raises `McpFailure`."""
        async with self._listing:
            if self._tools is not None and self._loop.time() < self._tools_until:
                return self._tools
            changes = self._changes
            tools, seconds = await self._ask(self._list, self._limits.connect_seconds)
            if changes == self._changes:
                self._tools, self._tools_until = tools, self._loop.time() + seconds
            return tools

    async def call(self, name: str, arguments: dict[str, Any]) -> CallToolResult:
        """The result of a call. Raises `McpFailure`; when it is cancelled, the server is told."""

        async def call(session: ClientSession) -> CallToolResult | InputRequiredResult:
            return await session.call_tool(name, arguments, allow_input_required=True)

        result = await self._ask(call, self._limits.call_seconds)
        if isinstance(result, InputRequiredResult):
            raise McpFailure("asks for input of its own in the course of a call, which nobody gives here.")
        return result

    async def _ask(self, ask: Callable[[ClientSession], Awaitable[_T]], seconds: float) -> _T:
        session = await asyncio.shield(self._opened)
        with watched() as exchange:
            try:
                async with asyncio.timeout(seconds):
                    return await ask(session)
            except TimeoutError:
                failure = late(seconds)
            except McpFailure as own:
                failure = own
            except Exception as error:
                failure = failure_of(error, exchange, has_session=self._has_session)
        if failure.ends_connection:
            self.retire()
        raise failure

    async def _list(self, session: ClientSession) -> tuple[list[Tool], float]:
        """All pages, and for how many seconds they hold: none, where the server neither tells of changes nor says."""
        tools: list[Tool] = []
        longest, cursor = self._limits.list_seconds, None
        seconds = longest if _tells_changes(session) else 0.0
        for _ in range(_MOST_PAGES):
            page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor) if cursor else None)
            tools += page.tools
            if page.ttl_ms:
                seconds = min(longest, page.ttl_ms / 1000)
            cursor = page.next_cursor
            if len(tools) > MOST_TOOLS:
                raise McpFailure(f"offers more than {MOST_TOOLS} tools, which is more than is read.")
            if not cursor:
                return tools, seconds
        raise McpFailure(f"lists its tools on more than {_MOST_PAGES} pages, which is more than is read.")

    async def _own(self) -> None:
        """Open it, keep it open until it is closed or fails, and end it."""
        try:
            async with AsyncExitStack() as stack:
                session = await self._open(stack)
                stack.callback(asyncio.create_task(self._hear_changes(session)).cancel)
                self._opened.set_result(session)
                await self._enough.wait()
        except Exception as error:
            self._ended_by(error)
        finally:
            self.retire()
            if not self._opened.done():
                self._fail(McpFailure("cannot be asked any more: this worker is being stopped."))

    def _ended_by(self, error: Exception) -> None:
        failure = _leaf(error)
        if not isinstance(failure, McpFailure):
            failure = late(self._limits.connect_seconds) if isinstance(failure, TimeoutError) else failure
        if self._opened.done():
            log.warning("a connection to an MCP server broke", server=self.server.origin, kind=_kind(failure))
            return
        if not isinstance(failure, McpFailure):
            log.exception("a connection to an MCP server was not made", server=self.server.origin)
            failure = failure_of(failure, Exchange())
        self._fail(failure)

    def _fail(self, failure: McpFailure) -> None:
        self._opened.set_exception(failure)
        self._opened.exception()  # whoever waited may be gone

    async def _open(self, stack: AsyncExitStack) -> ClientSession:
        async with asyncio.timeout(self._limits.connect_seconds):
            client = await stack.enter_async_context(self._client())
            streams = await stack.enter_async_context(
                # One bound for every kind of answer: the transport's.
                streamable_http_client(self.server.url, http_client=client, max_sse_event_size=None)
            )
            session = _Session(*streams, message_handler=self._hear, client_info=_CLIENT)
            await stack.enter_async_context(session)
            await self._negotiate(session)
            return session

    def _client(self) -> httpx2.AsyncClient:
        limits = Limits(
            seconds=None,  # a stream may stay open; each call has its own limit
            most_bytes=self._limits.answer_bytes,
            idle_seconds=max(self._limits.call_seconds, self._limits.idle_seconds),
            connect_seconds=self._limits.connect_seconds,
        )
        try:
            return guarded_client(
                self._rules,
                limits,
                only=self.server.url,
                headers=self.server.headers,
                around=ContainedTransport,
            )
        except EgressError as error:
            raise failure_of(error, Exchange(failure=error)) from None

    async def _negotiate(self, session: ClientSession) -> None:
        """Agree on a version: the newest way of doing that first, then the handshake that older servers know."""
        with watched() as exchange:
            try:
                await session.discover()
                return
            except _REFUSED as error:
                if is_final(exchange):
                    raise failure_of(error, exchange) from None
        with watched() as exchange:
            try:
                await session.initialize()
            except _REFUSED as error:
                raise failure_of(error, exchange) from None
        self._has_session = True

    async def _hear(self, message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._changes += 1
            self._tools = None

    async def _hear_changes(self, session: ClientSession) -> None:
        """Newer servers tell that their tools have changed only to who asks for it; `_hear` is told."""
        if session.protocol_version not in MODERN_PROTOCOL_VERSIONS or not _tells_changes(session):
            return
        with suppress(Exception):  # the list is asked for again after a while without it, too
            async with listen(session, tools_list_changed=True) as changes:
                async for _ in changes:
                    pass


def _tells_changes(session: ClientSession) -> bool:
    """Whether the server has promised to tell when its tools change."""
    tools = session.server_capabilities.tools if session.server_capabilities else None
    return tools is not None and bool(tools.list_changed)


def _leaf(error: BaseException) -> BaseException:
    """What really happened, within the groups that task groups make of it."""
    while isinstance(error, BaseExceptionGroup):
        error = next((one for one in error.exceptions if isinstance(one, McpFailure)), error.exceptions[0])
    return error


def _kind(error: BaseException) -> str:
    return error.reason if isinstance(error, McpFailure) else type(error).__name__
