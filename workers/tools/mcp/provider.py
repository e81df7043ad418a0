"""Offers the tools of one MCP server to the model and runs them, for one response."""

from collections.abc import Sequence
from typing import Any, Final

import structlog

from responses_api.protocol.mcp_filters import read_filter, wants_approval
from responses_api.protocol.plain import Json
from responses_api.protocol.policy import Tool
from responses_api.protocol.receipts import mcp_call
from responses_api.protocol.server_tools import MCP_LIST_TOOLS
from responses_api.protocol.wording import quoted, safe_text
from workers.tools.arguments import read_arguments
from workers.tools.mcp.connection import Connection
from workers.tools.mcp.connections import McpConnections
from workers.tools.mcp.failures import McpFailure
from workers.tools.mcp.listing import functions, known, listed
from workers.tools.mcp.results import Told, told
from workers.tools.mcp.server import McpServer, server_of
from workers.tools.provider import Offered, Ran, Setting, Step

log = structlog.get_logger(__name__)

_UNFORESEEN: Final = McpFailure("could not be asked, for a reason of this service's own.")


class McpProvider:
    """The provider of an entry of the type `mcp`. Its connection may be another response's, too."""

    def __init__(self, setting: Setting, connections: McpConnections) -> None:
        self._setting = setting
        self._entry = setting.entry
        self._connections = connections
        self._allowed = read_filter(self._entry.get("allowed_tools"))
        self._offered: tuple[Offered, ...] = ()
        self._server: McpServer | None = None

    async def open(self, known_tools: Sequence[Json] | None) -> Json | None:
        """List the tools, unless an earlier receipt does. What goes wrong is in the receipt."""
        try:
            self._server = server_of(self._setting)
            if known_tools is not None:
                self._offer(known(known_tools, self._allowed))
                return None
            tools = await self._list(self._server)
            self._offer(tools)
            return self._listed(tools)
        except McpFailure as failure:
            return self._listed([], self._said(failure))
        except Exception:
            log.exception("the tools of an MCP server were not listed")
            return self._listed([], self._said(_UNFORESEEN))

    @property
    def offered(self) -> Sequence[Offered]:
        """What the model may call."""
        return self._offered

    def begun(self, offered: Offered, arguments: str) -> Json:
        """The receipt of a call that begins."""
        return self._receipt(offered, arguments, "in_progress")

    async def run(self, offered: Offered, arguments: str, tell: Step) -> Ran:
        """Call the tool. Whatever goes wrong is in the receipt, and the model is told of it."""
        try:
            result = await self._call(offered.tool.name, _read(arguments))
        except McpFailure as failure:
            return self.refused(offered, arguments, self._said(failure))
        except Exception:
            log.exception("a tool of an MCP server was not called")
            return self.refused(offered, arguments, self._said(_UNFORESEEN))
        if result.is_error:
            return self.refused(offered, arguments, result.text)
        receipt = self._receipt(offered, arguments, "completed", output=result.text)
        return Ran(receipt)

    def refused(self, offered: Offered, arguments: str, why: str) -> Ran:
        """The receipt of a call that came to nothing."""
        receipt = self._receipt(offered, arguments, "failed", error=why)
        return Ran(receipt, has_failed=True)

    async def close(self) -> None:
        """Nothing is held between two calls: connections are everybody's of the tenant."""

    async def _list(self, server: McpServer) -> list[Json]:
        tools = await self._connections.ask(server, Connection.tools)
        return listed(tools, self._allowed, server.without_secrets)

    async def _call(self, name: str, arguments: dict[str, Any]) -> Told:
        assert self._server is not None, "run before open"
        result = await self._connections.ask(
            self._server, lambda connection: connection.call(name, arguments)
        )
        return told(result, self._server.without_secrets, self._connections.limits.result_bytes)

    def _offer(self, tools: list[Json]) -> None:
        self._offered = tuple(
            Offered(
                function,
                Tool("mcp", tool["name"], self._entry["server_url"]),
                wants_approval(self._entry.get("require_approval"), tool),
            )
            for tool, function in zip(
                tools, functions(tools, self._entry.get("server_description")), strict=True
            )
        )

    def _listed(self, tools: list[Json], error: str | None = None) -> Json:
        label = self._entry["server_label"]
        return {"type": MCP_LIST_TOOLS, "server_label": label, "tools": tools, "error": error}

    def _receipt(
        self,
        offered: Offered,
        arguments: str,
        status: str,
        *,
        output: str | None = None,
        error: str | None = None,
    ) -> Json:
        label, name = self._entry["server_label"], offered.tool.name
        return mcp_call(label, name, arguments, status, output=output, error=error)

    def _said(self, failure: McpFailure) -> str:
        """The failure as a sentence for the client and the model; the log is told why, without content."""
        server = self._server
        log.info(
            "an MCP server gave no result",
            server=server.origin if server else None,
            reason=failure.reason,
        )
        sentence = safe_text(f"The MCP server '{quoted(self._entry['server_label'])}' {failure}")
        return server.without_secrets(sentence) if server else sentence


def _read(arguments: str) -> dict[str, Any]:
    """The arguments that a model has written. Raises `McpFailure` for what no tool could be called with."""
    read = read_arguments(arguments)
    if read is None:
        raise McpFailure("was not asked: the arguments of the call are no JSON object.")
    return read
