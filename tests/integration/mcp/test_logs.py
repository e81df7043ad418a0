"""What the log tells of MCP servers: which one failed and why; no credentials, no whole addresses, no content."""

import logging

import pytest

from config.logging import _TELLING_CONTENT
from tests.integration.mcp.opened import called, connections, listed, provider
from tests.support.mcp_server import RealMcpServer

SECRETS = {
    "authorization": "tok-secret-1",
    "headers": {"X-Api-Key": "key-secret-2"},
    "query": "token=query-secret-3",
}


async def use_and_fail(server: RealMcpServer) -> None:
    """Everything that may be logged: a connection, a list, results, errors, a refusal, and a server that is gone."""
    async with connections() as kept:
        one = provider(kept, server.url, secrets=SECRETS)
        await listed(one)
        for tool in ("headers", "fails", "dies", "echo"):
            await called(one, tool, '{"text": "what was asked"}')
        server.status = 401
        await listed(provider(kept, server.url, secrets={**SECRETS, "query": "token=query-secret-4"}))


@pytest.mark.parametrize("era", ["2026", "2025"])
async def test_no_secret_and_no_content_is_logged_at_any_level(
    era: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with RealMcpServer(era=era) as server:  # type: ignore[arg-type]
        await use_and_fail(server)
    # The server runs in this process and logs by this name what it says itself.
    ours = [record for record in caplog.records if not record.name.startswith("sse_starlette")]
    told = "".join(f"{record.getMessage()} {record.__dict__!r}" for record in ours)
    assert "an MCP server gave no result" in told
    assert f"http://127.0.0.1:{server.port}" in told
    for marker in ("secret", "token=", "what was asked", "/mcp", "backend is down"):
        assert marker not in told.replace("workers/tools/mcp/", "").replace("integration/mcp/", ""), marker


@pytest.mark.parametrize("name", _TELLING_CONTENT)
def test_a_library_that_tells_content_logs_nothing(name: str) -> None:
    assert not logging.getLogger(name).isEnabledFor(logging.CRITICAL)


async def test_the_libraries_themselves_would_tell_them(caplog: pytest.LogCaptureFixture) -> None:
    loggers = [logging.getLogger(name) for name in _TELLING_CONTENT]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.DEBUG)
        caplog.set_level(logging.DEBUG)
        with RealMcpServer() as server:
            await use_and_fail(server)
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
    assert "query-secret-3" in caplog.text
