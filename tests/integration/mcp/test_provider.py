"""What becomes of the tools of a real MCP server, and of every way in which it may fail."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any, Literal

import pytest

from responses_api.protocol.egress import read_rules
from tests.integration.mcp.opened import LABEL, called, connections, listed, provider
from tests.support.mcp_server import RealMcpServer
from workers.tools.mcp.limits import McpLimits

NOBODY = "http://127.0.0.1:9/mcp"


@pytest.fixture(params=["2026", "2026-json", "2025", "2025-json"])
def server(request: pytest.FixtureRequest) -> Iterator[RealMcpServer]:
    """One of each generation, with either form of answers."""
    era: Literal["2026", "2025"] = "2026" if request.param.startswith("2026") else "2025"
    with RealMcpServer(era=era, answers_json=request.param.endswith("json")) as server:
        yield server


@pytest.fixture
def one_server() -> Iterator[RealMcpServer]:
    with RealMcpServer() as server:
        yield server


async def test_the_tools_of_a_server_are_listed_and_offered(server: RealMcpServer) -> None:
    async with connections() as kept:
        one = provider(kept, server.url)
        receipt = await listed(one)
    assert (receipt["type"], receipt["server_label"], receipt["error"]) == (
        "antiphon:mcp_list_tools",
        LABEL,
        None,
    )
    add = next(tool for tool in receipt["tools"] if tool["name"] == "add")
    assert add["description"] == "The sum of two numbers."
    assert add["input_schema"]["required"] == ["a", "b"]
    assert add["annotations"] == {"readOnlyHint": True}
    offered = next(offered for offered in one.offered if offered.tool.name == "add")
    assert offered.function["parameters"] == add["input_schema"]
    assert (offered.tool.kind, offered.tool.server_url) == ("mcp", server.url)
    assert not offered.wants_approval


async def test_a_call_has_its_result_in_the_receipt_and_for_the_model(server: RealMcpServer) -> None:
    async with connections() as kept:
        one = provider(kept, server.url)
        await listed(one)
        begun = one.begun(one.offered[0], '{"a": 1, "b": 2}')
        ran = await called(one, "add", '{"a": 1, "b": 2}')
    assert begun == {
        "type": "antiphon:mcp_call",
        "server_label": LABEL,
        "name": "add",
        "arguments": '{"a": 1, "b": 2}',
        "output": None,
        "error": None,
        "approval_request_id": None,
        "status": "in_progress",
    }
    assert ran.receipt == {**begun, "output": "3", "status": "completed"}
    assert not ran.has_failed
    assert server.arguments("add") == [{"a": 1, "b": 2}]


@pytest.mark.parametrize(
    ("tool", "said"),
    [("fails", "the backend is down"), ("raises", "Error executing tool raises")],
)
async def test_an_error_of_the_tool_is_an_error_of_the_receipt(
    server: RealMcpServer, tool: str, said: str
) -> None:
    async with connections() as kept:
        one = provider(kept, server.url)
        await listed(one)
        ran = await called(one, tool)
    assert (ran.receipt["status"], ran.receipt["output"], ran.receipt["error"]) == ("failed", None, said)
    assert ran.has_failed


async def test_other_results_than_text_are_told_in_words(server: RealMcpServer) -> None:
    async with connections() as kept:
        one = provider(kept, server.url)
        await listed(one)
        point = await called(one, "point", '{"x": 1, "y": 2}')
        picture = await called(one, "picture")
        resources = await called(one, "resources")
    assert json.loads(point.receipt["output"]) == {"x": 1, "y": 2}
    assert picture.receipt["output"] == "[an image, image/png, 69 bytes, is not shown]"
    assert [json.loads(line) for line in resources.receipt["output"].splitlines()] == [
        {"resource": "memo://1", "text": "what the memo says"},
        {"resource_link": "file:///plan.txt", "name": "plan"},
    ]


async def test_a_result_that_is_too_long_is_cut_and_says_so(server: RealMcpServer) -> None:
    async with connections(limits=McpLimits(result_bytes=1001)) as kept:
        one = provider(kept, server.url)
        await listed(one)
        ran = await called(one, "huge", '{"size": 5000}')
    assert (
        ran.receipt["output"]
        == "é" * 500 + "\n[The result was cut: of 5000 bytes, these are the first 1000.]"
    )


async def test_an_answer_beyond_all_bounds_is_an_error(server: RealMcpServer) -> None:
    async with connections() as kept:
        one = provider(kept, server.url)
        await listed(one)
        ran = await called(one, "huge", '{"size": 5000000}')
        again = await called(one, "echo", '{"text": "still here"}')
    assert ran.receipt["error"] == (
        f"The MCP server '{LABEL}' cannot be used: its address answered with more than the 4194304 bytes that may be "
        "fetched."
    )
    assert again.receipt["output"] == "still here"


async def test_a_server_that_dies_in_mid_call_is_an_error_and_asked_anew_next_time(
    server: RealMcpServer,
) -> None:
    async with connections() as kept:
        one = provider(kept, server.url)
        await listed(one)
        ran = await called(one, "dies")
        again = await called(one, "echo", '{"text": "back"}')
    assert ran.receipt["error"] == f"The MCP server '{LABEL}' closed the connection before it answered."
    assert again.receipt["output"] == "back"
    assert len(server.arguments("dies")) == 1


async def test_a_tool_that_takes_too_long_is_an_error_and_the_server_is_told(
    one_server: RealMcpServer,
) -> None:
    async with connections(limits=McpLimits(call_seconds=0.3)) as kept:
        one = provider(kept, one_server.url)
        await listed(one)
        ran = await called(one, "slow")
    assert ran.receipt["error"] == f"The MCP server '{LABEL}' did not answer within 0.3 seconds."
    assert await asyncio.to_thread(one_server.cancelled.wait, 5)


@pytest.mark.parametrize("era", ["2026", "2025"])
async def test_a_call_that_is_cancelled_is_cancelled_at_the_server(era: Any) -> None:
    with RealMcpServer(era=era) as server:
        async with connections() as kept:
            one = provider(kept, server.url)
            await listed(one)
            running = asyncio.create_task(called(one, "slow"))
            assert await asyncio.to_thread(server.began.wait, 5)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert await asyncio.to_thread(server.cancelled.wait, 5)


async def test_calls_run_side_by_side_on_one_connection(server: RealMcpServer) -> None:
    async with connections() as kept:
        one = provider(kept, server.url)
        await listed(one)
        slow = asyncio.create_task(called(one, "slow"))
        assert await asyncio.to_thread(server.began.wait, 5)
        quick = await called(one, "echo", '{"text": "first"}')
        assert not slow.done()
        server.released.set()
        assert (quick.receipt["output"], (await slow).receipt["output"]) == ("first", "done")
    assert len(server.calls("tools/list")) == 1


async def test_one_call_that_breaks_off_leaves_the_others_alone(one_server: RealMcpServer) -> None:
    # Answers of JSON break below HTTP: in the SDK alone that ends everything which shares the connection.
    one_server.answers_json = True
    async with connections() as kept:
        one = provider(kept, one_server.url)
        await listed(one)
        ran = await called(one, "huge", '{"size": 5000000}')
        slow = asyncio.create_task(called(one, "slow"))
        assert await asyncio.to_thread(one_server.began.wait, 5)
        assert (await called(one, "huge", '{"size": 5000000}')).has_failed
        one_server.released.set()
        assert (ran.has_failed, (await slow).receipt["output"]) == (True, "done")


async def test_what_a_server_asks_of_its_client_is_refused(server: RealMcpServer) -> None:
    async with connections() as kept:
        one = provider(kept, server.url)
        await listed(one)
        ran = await called(one, "asks")
    assert ran.has_failed
    assert ran.receipt["error"].startswith(f"The MCP server '{LABEL}' answered with an error: ")


@pytest.mark.parametrize("arguments", ["[1]", "{", "null", '"a"'])
async def test_arguments_that_are_no_object_reach_no_server(
    one_server: RealMcpServer, arguments: str
) -> None:
    async with connections() as kept:
        one = provider(kept, one_server.url)
        await listed(one)
        ran = await called(one, "add", arguments)
    assert ran.receipt["error"] == (
        f"The MCP server '{LABEL}' was not asked: the arguments of the call are no JSON object."
    )
    assert one_server.calls() == []


async def test_a_call_without_arguments_is_one_with_none(one_server: RealMcpServer) -> None:
    async with connections() as kept:
        one = provider(kept, one_server.url)
        await listed(one)
        ran = await called(one, "picture", "")
    assert not ran.has_failed
    assert ran.receipt["arguments"] == ""


async def test_a_server_that_is_down_is_an_item_with_an_error() -> None:
    async with connections() as kept:
        one = provider(kept, NOBODY)
        receipt = await listed(one)
    assert receipt == {
        "type": "antiphon:mcp_list_tools",
        "server_label": LABEL,
        "tools": [],
        "error": f"The MCP server '{LABEL}' could not be reached.",
    }
    assert list(one.offered) == []


async def test_an_address_that_may_not_be_reached_is_not_told() -> None:
    async with connections(rules=read_rules([])) as kept:
        receipt = await listed(provider(kept, "https://127.0.0.1:9/mcp"))
        named = await listed(provider(kept, "https://localhost:9/mcp"))
    sentence = (
        f"The MCP server '{LABEL}' cannot be used: its address leads nowhere that may be reached from here."
    )
    assert (receipt["error"], named["error"]) == (sentence, sentence)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (401, "refuses the credentials (HTTP 401): give it valid ones in 'authorization' or 'headers'."),
        (403, "refuses access (HTTP 403): give it other credentials in 'authorization' or 'headers'."),
        (404, "has nothing of MCP at this 'server_url' (HTTP 404)."),
        (429, "takes no more requests for now (HTTP 429)."),
        (500, "failed (HTTP 500)."),
        (503, "failed (HTTP 503)."),
        (599, "failed (HTTP 599)."),
    ],
)
async def test_a_status_that_refuses_says_what_would_help(
    one_server: RealMcpServer, status: int, said: str
) -> None:
    one_server.status = status
    async with connections() as kept:
        receipt = await listed(provider(kept, one_server.url))
    assert receipt["error"] == f"The MCP server '{LABEL}' {said}"


async def test_a_status_that_refuses_a_call_is_an_error_of_that_call(one_server: RealMcpServer) -> None:
    async with connections() as kept:
        one = provider(kept, one_server.url)
        await listed(one)
        one_server.status, one_server.refuses = 503, frozenset({"tools/call"})
        ran = await called(one, "add", '{"a": 1, "b": 2}')
        one_server.status = 0
        again = await called(one, "add", '{"a": 1, "b": 2}')
    assert ran.receipt["error"] == f"The MCP server '{LABEL}' failed (HTTP 503)."
    assert again.receipt["output"] == "3"


async def test_what_is_no_mcp_server_is_an_error(one_server: RealMcpServer) -> None:
    one_server.html = True
    async with connections() as kept:
        receipt = await listed(provider(kept, one_server.url))
    assert receipt["error"] == f"The MCP server '{LABEL}' answered with what is not MCP."


async def test_a_redirect_to_another_server_is_not_followed(one_server: RealMcpServer) -> None:
    with RealMcpServer() as other:
        one_server.redirect = other.url
        async with connections() as kept:
            receipt = await listed(provider(kept, one_server.url, secrets={"authorization": "tok-secret-1"}))
    assert receipt["error"] == (
        f"The MCP server '{LABEL}' sends one on to another address (HTTP 307), which is not followed: name that one as "
        "'server_url'."
    )
    assert other.asked == []


async def test_a_lost_session_is_made_anew_once() -> None:
    with RealMcpServer(era="2025") as server:
        async with connections() as kept:
            one = provider(kept, server.url)
            await listed(one)
            server.lose_sessions()
            ran = await called(one, "add", '{"a": 1, "b": 2}')
    assert ran.receipt["output"] == "3"
    assert len(server.calls("initialize")) == 2


async def test_a_server_that_loses_each_session_is_an_error() -> None:
    with RealMcpServer(era="2025") as server:
        async with connections() as kept:
            one = provider(kept, server.url)
            await listed(one)
            server.status, server.refuses = 404, frozenset({"tools/call"})
            ran = await called(one, "add", '{"a": 1, "b": 2}')
    assert ran.receipt["error"] == f"The MCP server '{LABEL}' has lost the session."
    assert len(server.calls()) == 2


async def test_credentials_go_to_the_server_and_never_come_back(server: RealMcpServer) -> None:
    server.token = "tok-secret-1"
    secrets = {
        "authorization": "tok-secret-1",
        "headers": {"X-Api-Key": "key-secret-2"},
        "query": "token=query-secret-3",
    }
    async with connections() as kept:
        one = provider(kept, server.url, secrets=secrets)
        receipt = await listed(one)
        ran = await called(one, "headers")
        echoed = await called(one, "echo", json.dumps({"text": "a query-secret-3 b"}))
    assert receipt["error"] is None
    call = server.calls()[0]
    assert (call.headers["authorization"], call.headers["x-api-key"]) == (
        "Bearer tok-secret-1",
        "key-secret-2",
    )
    assert call.query == "token=query-secret-3"
    told = json.loads(ran.receipt["output"])
    assert (told["authorization"], told["x-api-key"]) == ("[secret]", "[secret]")
    assert echoed.receipt["output"] == "a [secret] b"


async def test_wrong_credentials_are_not_quoted(one_server: RealMcpServer) -> None:
    one_server.token = "tok-secret-1"
    async with connections() as kept:
        receipt = await listed(provider(kept, one_server.url, secrets={"authorization": "another-secret"}))
    assert "HTTP 401" in receipt["error"]
    assert "secret" not in receipt["error"]


@pytest.mark.parametrize(
    "name", ["Host", "Content-Length", "Mcp-Session-Id", "Accept", "Transfer-Encoding", "a b"]
)
async def test_headers_of_our_own_cannot_be_set(one_server: RealMcpServer, name: str) -> None:
    async with connections() as kept:
        receipt = await listed(provider(kept, one_server.url, secrets={"headers": {name: "value"}}))
    assert receipt["error"] == (
        f"The MCP server '{LABEL}' cannot be asked: its 'headers' may not name '{name.lower()}'."
    )
    assert one_server.asked == []


async def test_a_header_that_would_be_two_is_not_sent(one_server: RealMcpServer) -> None:
    async with connections() as kept:
        receipt = await listed(
            provider(kept, one_server.url, secrets={"headers": {"X-Key": "very-secret\r\nHost: elsewhere"}})
        )
    assert receipt["error"] == (
        f"The MCP server '{LABEL}' cannot be asked: its header 'x-key' has no value that HTTP can carry."
    )


async def test_only_allowed_tools_are_listed_and_offered(one_server: RealMcpServer) -> None:
    async with connections() as kept:
        one = provider(kept, one_server.url, allowed_tools=["add", "nope"])
        receipt = await listed(one)
        read_only = await listed(provider(kept, one_server.url, allowed_tools={"read_only": True}))
    assert [tool["name"] for tool in receipt["tools"]] == ["add"]
    assert [offered.tool.name for offered in one.offered] == ["add"]
    assert [tool["name"] for tool in read_only["tools"]] == ["add"]


async def test_tools_that_are_known_are_not_asked_for(one_server: RealMcpServer) -> None:
    known: list[Any] = [{"name": "add", "input_schema": {"type": "object"}}, {"name": 1}, "x", {}]
    async with connections() as kept:
        one = provider(kept, one_server.url, allowed_tools=["add"], require_approval="always")
        assert await one.open(known) is None
        ran = await called(one, "add", '{"a": 1, "b": 2}')
    assert [offered.wants_approval for offered in one.offered] == [True]
    assert ran.receipt["output"] == "3"
    assert one_server.calls("tools/list") == []


async def test_a_refused_call_says_why_in_its_receipt(one_server: RealMcpServer) -> None:
    async with connections() as kept:
        one = provider(kept, one_server.url)
        await listed(one)
        ran = one.refused(one.offered[0], "{}", "The rule 'r' denies it.")
    assert (ran.receipt["status"], ran.receipt["error"]) == ("failed", "The rule 'r' denies it.")
    assert ran.has_failed
    assert one_server.calls() == []
