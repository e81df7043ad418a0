"""Function calls: a loop of two turns, several at once, and one that is demanded by its name."""

from typing import Final

from responses_api.conformance.asking import (
    LONG,
    ask,
    ask_stream,
    completed_text,
    output_of,
    require_counted,
)
from responses_api.conformance.evidence import calls_of
from responses_api.conformance.outcomes import NotShown, require
from responses_api.conformance.prompts import TIME, WEATHER, WEATHER_QUESTION, message
from responses_api.conformance.scenario import scenario
from responses_api.conformance.server import Server
from responses_api.protocol.plain import Json

_TOOLS: Final = ("tools", "tool_choice")
_WEATHER: Final = "It is 37 degrees, with hail."
_BOTH: Final = (
    "What are the weather and the time in San Francisco? Call get_weather and get_time, both at once."
)


def _called(response: Json) -> list[Json]:
    """The calls of a response that had to make one. Raises `NotShown`, `Broken`."""
    if response["status"] != "completed":
        raise NotShown(f"the answer is {response['status']}: {response['incomplete_details']}")
    calls = calls_of(response)
    require(bool(calls), "the response is completed without the call that was demanded")
    return calls


@scenario("tool-loop", "A tool is called, what it came to goes back, and the model answers with it.")
async def tool_loop(server: Server) -> str:
    question, tools = [message(WEATHER_QUESTION)], [WEATHER]
    first = await ask_stream(server, input=question, tools=tools, tool_choice="required", optional=_TOOLS)
    calls = _called(first)

    def turn(said: str) -> Json:
        told = [output_of(call, said) for call in calls]
        return {"input": [*question, *first["output"], *told], "tools": tools, "tool_choice": "none"}

    second = await ask_stream(server, **turn(_WEATHER), optional=_TOOLS)
    require(not calls_of(second), "there is a call, although tool_choice is none")
    if "37" in completed_text(second) or "hail" in completed_text(second).lower():
        return "The model called get_weather and answered with what the tool said."
    longer, shorter = ({**turn(said), "max_output_tokens": 16} for said in (f"{_WEATHER} {LONG}", _WEATHER))
    await require_counted(server, longer, shorter, "the tool's output")


@scenario("parallel-calls", "Several calls in one answer are told apart, and are answered together.")
async def parallel_calls(server: Server) -> str:
    question, tools = [message(_BOTH)], [WEATHER, TIME]
    asked: Json = {"tools": tools, "parallel_tool_calls": True}
    first = await ask_stream(server, input=question, tool_choice="required", **asked, optional=_TOOLS)
    calls = _called(first)
    if len(calls) < 2:
        raise NotShown("the model made one call, where two were asked for")
    told = [output_of(call, _WEATHER if call["name"] == "get_weather" else "It is noon.") for call in calls]
    history = [*question, *first["output"], *told]
    second = await ask_stream(server, input=history, tool_choice="none", **asked, optional=_TOOLS)
    require(not calls_of(second), "there is a call, although tool_choice is none")
    completed_text(second)
    return f"{len(calls)} calls were made in one answer, and the model went on with their outputs."


@scenario("forced-tool", "A function that is demanded by its name is called, and no other.")
async def forced_tool(server: Server) -> str:
    choice = {"type": "function", "name": "get_time"}
    response = await ask(
        server, input=WEATHER_QUESTION, tools=[WEATHER, TIME], tool_choice=choice, optional=_TOOLS
    )
    names = {call["name"] for call in _called(response)}
    require(names == {"get_time"}, f"get_time was demanded, and called were {', '.join(sorted(names))}")
    return "The model, asked for the weather, called get_time as it was told."
