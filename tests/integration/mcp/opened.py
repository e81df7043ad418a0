"""Providers as the worker makes them, for the tests of this folder."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID, uuid4

from responses_api.protocol.egress import read_rules
from responses_api.protocol.plain import Json
from workers.tools.mcp.connections import McpConnections
from workers.tools.mcp.limits import McpLimits
from workers.tools.mcp.provider import McpProvider
from workers.tools.provider import Ran, Setting

TENANT, STRANGER = uuid4(), uuid4()
LOOPBACK = read_rules(["127.0.0.0/8"])
LABEL = "tools"


@asynccontextmanager
async def connections(
    rules: Any = LOOPBACK, limits: McpLimits | None = None, **most: int
) -> AsyncIterator[McpConnections]:
    """Connections that are closed at the end."""
    kept = McpConnections(rules, limits or McpLimits(call_seconds=20), **most)
    try:
        yield kept
    finally:
        await kept.close()


def provider(
    kept: McpConnections, url: str, *, tenant_id: UUID = TENANT, secrets: Json | None = None, **entry: Any
) -> McpProvider:
    """A provider of an entry that names this server."""
    tool = {"type": "mcp", "server_label": LABEL, "server_url": url, "require_approval": "never", **entry}
    return McpProvider(Setting(tenant_id, uuid4(), "resp_1", tool, secrets or {}), kept)


async def listed(one: McpProvider) -> Json:
    """The receipt of its list of tools."""
    receipt = await one.open(None)
    assert receipt is not None
    return receipt


async def called(one: McpProvider, tool: str, arguments: str = "{}") -> Ran:
    """How a call of a tool of this name ends; the provider is open."""
    offered = next(offered for offered in one.offered if offered.tool.name == tool)
    return await one.run(offered, arguments, lambda step: None)
