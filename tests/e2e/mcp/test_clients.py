"""The clients of OpenAI's family and the tools of an MCP server: they know the items by their own names."""

from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
from agents import (
    Agent,
    HostedMCPTool,
    MCPToolApprovalFunctionResult,
    MCPToolApprovalRequest,
    RunConfig,
    Runner,
)
from agents.models.openai_provider import OpenAIProvider
from openai.types.responses.response_output_item import McpCall, McpListTools

from tests.support.mcp_server import RealMcpServer
from tests.support.service import MODEL, Service


@pytest.fixture
async def over_http(service: Service) -> AsyncIterator[RunConfig]:
    """Runs that go to the service, with the friend's key."""
    async with openai.AsyncOpenAI(
        base_url=service.base_url, api_key=service.friend.key, max_retries=0, timeout=20
    ) as client:
        yield RunConfig(model_provider=OpenAIProvider(openai_client=client), tracing_disabled=True)


def hosted(server: RealMcpServer, approval: Any = "never", **more: Any) -> HostedMCPTool:
    return HostedMCPTool(
        tool_config={
            "type": "mcp",
            "server_label": "tools",
            "server_url": server.url,
            "require_approval": approval,
        },
        **more,
    )


def test_the_official_client_knows_the_items(app: openai.OpenAI, server: RealMcpServer) -> None:
    server.token = "tok-secret-1"
    response = app.responses.create(
        model=MODEL,
        input="Please add.",
        tools=[
            {
                "type": "mcp",
                "server_label": "tools",
                "server_url": server.url,
                "authorization": "tok-secret-1",
                "require_approval": "never",
            }
        ],
    )
    listed, called, _ = response.output
    assert isinstance(listed, McpListTools)
    assert isinstance(called, McpCall)
    assert (called.name, called.output, called.status) == ("add", "6", "completed")
    assert response.output_text == "The tool returned: 6"


def test_the_official_client_knows_the_events(app: openai.OpenAI, server: RealMcpServer) -> None:
    with app.responses.stream(
        model=MODEL,
        input="Please add.",
        tools=[
            {"type": "mcp", "server_label": "tools", "server_url": server.url, "require_approval": "never"}
        ],
    ) as stream:
        types = [event.type for event in stream]
        final = stream.get_final_response()
    for step in (
        "response.mcp_list_tools.in_progress",
        "response.mcp_list_tools.completed",
        "response.mcp_call.in_progress",
        "response.mcp_call_arguments.delta",
        "response.mcp_call_arguments.done",
        "response.mcp_call.completed",
    ):
        assert types.count(step) == 1, step
    assert final.output_text == "The tool returned: 6"


async def test_an_agent_with_a_hosted_server(over_http: RunConfig, server: RealMcpServer) -> None:
    agent = Agent(name="Adder", model=MODEL, tools=[hosted(server)])
    done = await Runner.run(agent, "Please add.", run_config=over_http)
    assert done.final_output == "The tool returned: 6"
    assert server.arguments("add") == [{"a": 3, "b": 3}]


async def test_a_streamed_agent_with_a_hosted_server(over_http: RunConfig, server: RealMcpServer) -> None:
    agent = Agent(name="Adder", model=MODEL, tools=[hosted(server)])
    run = Runner.run_streamed(agent, "Please add.", run_config=over_http)
    async for _ in run.stream_events():
        pass
    assert run.final_output == "The tool returned: 6"


@pytest.mark.parametrize("approve", [True, False])
async def test_an_agent_that_asks_before_each_call(
    over_http: RunConfig, server: RealMcpServer, approve: bool
) -> None:
    asked: list[str] = []

    def decide(request: MCPToolApprovalRequest) -> MCPToolApprovalFunctionResult:
        asked.append(request.data.name)
        return {"approve": approve} if approve else {"approve": False, "reason": "not today"}

    agent = Agent(name="Adder", model=MODEL, tools=[hosted(server, "always", on_approval_request=decide)])
    done = await Runner.run(agent, "Please add.", run_config=over_http)
    assert asked == ["add"]
    if approve:
        assert done.final_output == "The tool returned: 6"
    else:
        assert "not today" in done.final_output
    assert len(server.calls()) == int(approve)


async def test_an_agent_that_goes_on_with_the_history_of_its_calls(
    over_http: RunConfig, server: RealMcpServer
) -> None:
    agent = Agent(name="Adder", model=MODEL, tools=[hosted(server)])
    first = await Runner.run(agent, "Please add.", run_config=over_http)
    again: list[Any] = [*first.to_input_list(), {"role": "user", "content": "Please echo."}]
    second = await Runner.run(agent, again, run_config=over_http)
    assert second.final_output == "The tool returned: San Francisco"
    assert len(server.calls("tools/list")) == 1
