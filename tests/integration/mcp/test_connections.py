"""Which connections to MCP servers are kept, for whom, and for how long."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from responses_api.protocol.plain import Json
from tests.integration.mcp.opened import LABEL, STRANGER, TENANT, called, connections, listed, provider
from tests.support.mcp_server import RealMcpServer
from workers.tools.mcp.limits import McpLimits


@pytest.fixture
def server() -> Iterator[RealMcpServer]:
    with RealMcpServer() as server:
        yield server


async def test_a_second_response_uses_the_connection_and_the_list_of_the_first(server: RealMcpServer) -> None:
    async with connections() as kept:
        first = await listed(provider(kept, server.url))
        second = await listed(provider(kept, server.url))
    assert first == second
    assert len(server.calls("server/discover")) == 1
    assert len(server.calls("tools/list")) == 1


async def test_responses_at_the_same_time_open_one_connection(server: RealMcpServer) -> None:
    async with connections() as kept:
        receipts = await asyncio.gather(*(listed(provider(kept, server.url)) for _ in range(10)))
    assert {receipt["error"] for receipt in receipts} == {None}
    assert len(server.calls("server/discover")) == 1
    assert len(server.calls("tools/list")) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"tenant_id": STRANGER},
        {"secrets": {"authorization": "another-token"}},
        {"secrets": {"headers": {"X-Key": "a"}}},
        {"secrets": {"query": "token=1"}},
    ],
)
async def test_another_tenant_or_other_credentials_never_share_a_connection(
    server: RealMcpServer, other: dict[str, Any]
) -> None:
    async with connections() as kept:
        await listed(provider(kept, server.url, tenant_id=TENANT, secrets={"authorization": "own-token-1"}))
        await listed(provider(kept, server.url, **{"tenant_id": TENANT, **other}))
    assert len(server.calls("server/discover")) == 2
    tokens = {asked.headers.get("authorization") for asked in server.calls("tools/list")}
    assert len(tokens) == 2


async def test_a_stranger_with_the_same_token_has_a_connection_of_its_own(server: RealMcpServer) -> None:
    secrets: Json = {"authorization": "the-same-token"}
    async with connections() as kept:
        await listed(provider(kept, server.url, tenant_id=TENANT, secrets=secrets))
        await listed(provider(kept, server.url, tenant_id=STRANGER, secrets=secrets))
    assert len(server.calls("server/discover")) == 2


@pytest.mark.parametrize("era", ["2026", "2025"])
async def test_a_list_that_changes_is_asked_for_again(era: Any) -> None:
    with RealMcpServer(era=era) as server:
        async with connections() as kept:
            one = provider(kept, server.url)
            before = await listed(one)
            await called(one, "grows")
            names: set[str] = set()
            async with asyncio.timeout(5):
                while "another" not in names:
                    await asyncio.sleep(0.01)
                    names = {tool["name"] for tool in (await listed(one))["tools"]}
    assert "another" not in {tool["name"] for tool in before["tools"]}


async def test_a_server_that_tells_no_changes_is_asked_for_its_list_each_time_on_one_connection() -> None:
    with RealMcpServer(era="2025") as server:
        async with connections() as kept:
            await listed(provider(kept, server.url))
            await listed(provider(kept, server.url))
    assert len(server.calls("tools/list")) == 2
    assert len(server.calls("initialize")) == 1


async def test_a_list_is_not_kept_for_longer_than_its_time(server: RealMcpServer) -> None:
    async with connections(limits=McpLimits(list_seconds=0.0)) as kept:
        await listed(provider(kept, server.url))
        await listed(provider(kept, server.url))
    assert len(server.calls("tools/list")) == 2
    assert len(server.calls("server/discover")) == 1


async def test_a_connection_that_nobody_uses_is_closed() -> None:
    with RealMcpServer(era="2025") as server:
        async with connections(limits=McpLimits(idle_seconds=0.05)) as kept:
            await listed(provider(kept, server.url))
            async with asyncio.timeout(5):
                while not any(asked.http_method == "DELETE" for asked in server.asked):
                    await asyncio.sleep(0.01)
            await listed(provider(kept, server.url))
    assert len(server.calls("initialize")) == 2


async def test_the_connection_that_rests_longest_makes_room(server: RealMcpServer) -> None:
    def of(token: str) -> Json:
        return {"authorization": token}

    async with connections(most_of_tenant=2) as kept:
        for token in ("first", "second", "third", "second"):
            await listed(provider(kept, server.url, secrets=of(token)))
        await listed(provider(kept, server.url, secrets=of("first")))
    asked = [call.headers["authorization"] for call in server.calls("server/discover")]
    assert asked == ["Bearer first", "Bearer second", "Bearer third", "Bearer first"]


async def test_a_tenant_that_uses_all_its_connections_is_told_and_others_are_not(
    server: RealMcpServer,
) -> None:
    async with connections(most_of_tenant=1) as kept:
        one = provider(kept, server.url)
        await listed(one)
        slow = asyncio.create_task(called(one, "slow"))
        assert await asyncio.to_thread(server.began.wait, 5)
        refused = await listed(provider(kept, server.url, secrets={"authorization": "another"}))
        others = await listed(provider(kept, server.url, tenant_id=STRANGER))
        server.released.set()
        assert not (await slow).has_failed
    assert refused["error"] == (
        f"The MCP server '{LABEL}' cannot be asked now: too many connections to MCP servers are in use."
    )
    assert others["error"] is None


async def test_who_waits_for_a_connection_may_leave_without_ending_it_for_others(
    server: RealMcpServer,
) -> None:
    async with connections() as kept:
        leaving = asyncio.create_task(listed(provider(kept, server.url)))
        staying = asyncio.create_task(listed(provider(kept, server.url)))
        await asyncio.sleep(0)
        leaving.cancel()
        assert (await staying)["error"] is None
        with pytest.raises(asyncio.CancelledError):
            await leaving


async def test_a_server_that_does_not_answer_costs_no_more_than_its_time() -> None:
    silent = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{silent.sockets[0].getsockname()[1]}/mcp"
    async with silent, connections(limits=McpLimits(connect_seconds=0.2)) as kept:
        receipt = await listed(provider(kept, url))
    assert receipt["error"] == f"The MCP server '{LABEL}' did not answer within 0.2 seconds."


async def test_closing_ends_what_is_being_opened_and_what_runs(server: RealMcpServer) -> None:
    silent = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{silent.sockets[0].getsockname()[1]}/mcp"
    async with silent:
        async with connections() as kept:
            one = provider(kept, server.url)
            await listed(one)
            slow = asyncio.create_task(called(one, "slow"))
            opening = asyncio.create_task(listed(provider(kept, url)))
            assert await asyncio.to_thread(server.began.wait, 5)
        assert (await slow).has_failed
        assert (await opening)["error"] is not None
