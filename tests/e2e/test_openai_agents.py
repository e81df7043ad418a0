"""The OpenAI Agents SDK, pointed at the service, as an app would use it."""

from collections.abc import AsyncIterator

import openai
import pytest
from agents import (
    Agent,
    ModelSettings,
    RunConfig,
    Runner,
    SQLiteSession,
    function_tool,
    set_tracing_disabled,
)
from agents.models.openai_provider import OpenAIProvider
from agents.responses_websocket_session import ResponsesWebSocketSession, responses_websocket_session
from openai.types.responses import ResponseTextDeltaEvent

from tests.support.service import Service
from tests.support.upstream import ScriptedUpstream

set_tracing_disabled(True)  # traces would go to OpenAI


@function_tool
def get_weather(location: str) -> str:
    """The weather of a place."""
    return f"12 degrees in {location}"


@pytest.fixture
async def over_http(service: Service) -> AsyncIterator[RunConfig]:
    """Runs that go to the service, with the friend's key."""
    async with openai.AsyncOpenAI(
        base_url=service.base_url, api_key=service.friend.key, max_retries=0, timeout=20
    ) as client:
        yield RunConfig(model_provider=OpenAIProvider(openai_client=client))


@pytest.fixture
async def over_websocket(service: Service) -> AsyncIterator[ResponsesWebSocketSession]:
    """Runs that share one WebSocket to the service, with the friend's key."""
    async with responses_websocket_session(base_url=service.base_url, api_key=service.friend.key) as session:
        yield session


@pytest.fixture
def poet(model: str) -> Agent[None]:
    """An agent without tools."""
    return Agent(name="Poet", instructions="Be brief.", model=model)


@pytest.fixture
def forecaster(model: str) -> Agent[None]:
    """An agent that has to look at the weather."""
    return Agent(
        name="Forecaster",
        model=model,
        tools=[get_weather],
        model_settings=ModelSettings(parallel_tool_calls=False),
    )


async def test_tool_loop(over_http: RunConfig, forecaster: Agent[None]) -> None:
    done = await Runner.run(forecaster, "How is the weather?", run_config=over_http)
    assert done.final_output == "The tool returned: 12 degrees in San Francisco"
    assert done.context_wrapper.usage.requests == 2
    assert done.context_wrapper.usage.total_tokens > 0


async def test_streamed_tool_loop(over_http: RunConfig, forecaster: Agent[None]) -> None:
    run = Runner.run_streamed(forecaster, "How is the weather?", run_config=over_http)
    deltas = [
        event.data.delta
        async for event in run.stream_events()
        if event.type == "raw_response_event" and isinstance(event.data, ResponseTextDeltaEvent)
    ]
    assert "".join(deltas) == run.final_output == "The tool returned: 12 degrees in San Francisco"


async def test_turns_continued_by_previous_response_id(
    over_http: RunConfig, forecaster: Agent[None], upstream: ScriptedUpstream
) -> None:
    first = await Runner.run(
        forecaster, "How is the weather?", run_config=over_http, auto_previous_response_id=True
    )
    second = await Runner.run(
        forecaster, "How is it now?", run_config=over_http, previous_response_id=first.last_response_id
    )
    assert second.final_output == "The tool returned: 12 degrees in San Francisco"
    roles = [message["role"] for message in upstream.requests()[-1].body["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant", "tool"]


async def test_a_session_sends_its_whole_history(
    over_http: RunConfig, forecaster: Agent[None], upstream: ScriptedUpstream
) -> None:
    session = SQLiteSession("a conversation")
    await Runner.run(forecaster, "How is the weather?", run_config=over_http, session=session)
    done = await Runner.run(forecaster, "How is it now?", run_config=over_http, session=session)
    assert done.final_output == "The tool returned: 12 degrees in San Francisco"
    roles = [message["role"] for message in upstream.requests()[-1].body["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant", "tool"]


async def test_instructions_reach_the_model(
    over_http: RunConfig, poet: Agent[None], upstream: ScriptedUpstream
) -> None:
    done = await Runner.run(poet, "Hello", run_config=over_http)
    assert done.final_output == "You said: Hello"
    assert upstream.requests()[-1].body["messages"][0]["content"] == "Be brief."


async def test_another_tenants_response_cannot_be_continued(
    over_http: RunConfig, poet: Agent[None], stranger_app: openai.OpenAI, model: str
) -> None:
    foreign = stranger_app.responses.create(model=model, input="A secret")
    with pytest.raises(openai.BadRequestError) as refused:
        await Runner.run(poet, "Go on", run_config=over_http, previous_response_id=foreign.id)
    assert refused.value.code == "previous_response_not_found"


async def test_streamed_tool_loop_over_one_websocket(
    over_websocket: ResponsesWebSocketSession, forecaster: Agent[None]
) -> None:
    run = over_websocket.run_streamed(forecaster, "How is the weather?")
    deltas = [
        event.data.delta
        async for event in run.stream_events()
        if event.type == "raw_response_event" and isinstance(event.data, ResponseTextDeltaEvent)
    ]
    assert "".join(deltas) == run.final_output == "The tool returned: 12 degrees in San Francisco"


async def test_unstored_turns_are_continued_over_one_websocket(
    over_websocket: ResponsesWebSocketSession, model: str, upstream: ScriptedUpstream
) -> None:
    agent = Agent[None](
        name="Forecaster", model=model, tools=[get_weather], model_settings=ModelSettings(store=False)
    )
    first = await over_websocket.run(agent, "How is the weather?", auto_previous_response_id=True)
    second = await over_websocket.run(agent, "And now?", previous_response_id=first.last_response_id)
    assert second.final_output == "The tool returned: 12 degrees in San Francisco"
    roles = [message["role"] for message in upstream.requests()[-1].body["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant", "tool"]
