"""The connections to MCP servers that this process has: kept for who asks the same server with the same credentials,
for the same tenant; never for anybody else.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, TypeVar

from responses_api.protocol.egress import EgressRules
from workers.tools.mcp.connection import Connection
from workers.tools.mcp.failures import McpFailure
from workers.tools.mcp.limits import McpLimits
from workers.tools.mcp.server import McpServer, ServerKey

_T = TypeVar("_T")

MOST: Final = 500
MOST_OF_TENANT: Final = 100


class McpConnections:
    """Opens connections when they are wanted, and closes those that nobody has used for a while, or that take the place
    of others. Used in one event loop.
    """

    def __init__(
        self,
        rules: EgressRules,
        limits: McpLimits | None = None,
        *,
        most: int = MOST,
        most_of_tenant: int = MOST_OF_TENANT,
    ) -> None:
        self.limits: Final = limits or McpLimits.of_settings()
        self._rules = rules
        self._most = most
        self._most_of_tenant = most_of_tenant
        self._kept: dict[ServerKey, Connection] = {}
        self._open: set[Connection] = set()
        self._timers: dict[Connection, asyncio.TimerHandle] = {}
        self._closing: set[asyncio.Task[None]] = set()

    async def ask(self, server: McpServer, ask: Callable[[Connection], Awaitable[_T]]) -> _T:
        """What `ask` gets from a connection to this server. Raises `McpFailure`."""
        try:
            async with self._lent(server) as connection:
                return await ask(connection)
        except McpFailure as failure:
            if not failure.may_ask_anew:
                raise
        async with self._lent(server) as connection:
            return await ask(connection)

    async def close(self) -> None:
        """Close all of them, whoever uses them."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        await asyncio.gather(*(connection.close() for connection in self._open), *self._closing)
        self._kept.clear()
        self._open.clear()

    @asynccontextmanager
    async def _lent(self, server: McpServer) -> AsyncIterator[Connection]:
        connection = self._kept.get(server.key)
        if connection is None or not connection.is_usable:
            connection = self._begin(server)
        if timer := self._timers.pop(connection, None):
            timer.cancel()
        # The last of those that are used is the last to make room.
        self._kept[server.key] = self._kept.pop(server.key)
        connection.users += 1
        try:
            yield connection
        finally:
            connection.users -= 1
            if not connection.users:
                self._rest(connection)

    def _begin(self, server: McpServer) -> Connection:
        self._make_room(server)
        connection = Connection(server, self._rules, self.limits)
        self._kept[server.key] = connection
        self._open.add(connection)
        return connection

    def _make_room(self, server: McpServer) -> None:
        """Close what rests. Raises `McpFailure` where nothing does and there is no room."""
        of_tenants = Counter(connection.server.tenant_id for connection in self._open)
        tenants = of_tenants[server.tenant_id]
        if tenants < self._most_of_tenant and len(self._open) < self._most:
            return
        resting = [connection for connection in self._kept.values() if connection in self._timers]
        own = [connection for connection in resting if connection.server.tenant_id == server.tenant_id]
        candidates = own if tenants >= self._most_of_tenant else own or resting
        if not candidates:
            raise McpFailure("cannot be asked now: too many connections to MCP servers are in use.")
        self._end(candidates[0])

    def _rest(self, connection: Connection) -> None:
        """Nobody uses it at the moment."""
        if not connection.is_usable:
            self._end(connection)
            return
        loop = asyncio.get_running_loop()
        self._timers[connection] = loop.call_later(self.limits.idle_seconds, self._end, connection)

    def _end(self, connection: Connection) -> None:
        if timer := self._timers.pop(connection, None):
            timer.cancel()
        if self._kept.get(connection.server.key) is connection:
            del self._kept[connection.server.key]
        self._open.discard(connection)
        task = asyncio.create_task(connection.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
