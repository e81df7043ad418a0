"""Function tools and `tool_choice`: what is really emitted counts."""

from typing import Any

from responses_api.conformance.evidence import call_response, calls_of, text_of
from responses_api.conformance.expect import refused
from responses_api.conformance.outcomes import NotShown, require
from responses_api.conformance.prompts import HELLO, TIME, TIME_QUESTION, WEATHER, WEATHER_QUESTION
from responses_api.conformance.registry import rule
from responses_api.conformance.server import Server, answered
from responses_api.protocol.plain import Json
from responses_api.protocol.sse import decode

_BOTH = [WEATHER, TIME]


async def _asked(server: Server, question: str, **fields: Any) -> Json:
    """A response, whatever it came to: where the server refuses the model's call, that is told by an error, too."""
    answer = await server.ask(input=question, tools=_BOTH, **fields)
    if answer.status >= 500 and answer.error.get("type") == "model_error":
        return {"status": "failed", "output": [], "error": answer.error}
    return answered(answer)


def _names(response: Json) -> set[str]:
    return {str(call.get("name")) for call in calls_of(response)}


def _must_have_called(response: Json) -> None:
    """A completed response has a call. Raises `NotShown` where the model failed to make one, and it is told so."""
    if response.get("status") in ("failed", "incomplete"):
        raise NotShown(f"the model did not call as it was told: {response.get('error')}")
    require(bool(calls_of(response)), "the response is completed without the call that was demanded")


@rule(
    "tools.shape",
    "A call has a call_id of 1 to 64 characters, a name and arguments of JSON.",
    section="Tools",
)
async def shape(server: Server) -> None:
    for call in calls_of(await call_response(server)):
        call_id = call.get("call_id")
        require(isinstance(call_id, str) and 1 <= len(call_id) <= 64, f"a call's call_id is {call_id!r}")
        require(
            call.get("name") == "get_weather",
            f"the call names {call.get('name')!r}, which is no tool of the request",
        )
        try:
            arguments = decode(str(call.get("arguments")))
        except ValueError:
            arguments = None
        require(isinstance(arguments, dict), f"the arguments are no JSON object: {call.get('arguments')!r}")


@rule(
    "tools.echo",
    "Tools are echoed with all fields of their schema, those left out as null.",
    section="ResponseResource",
)
async def echo(server: Server) -> None:
    bare = {"type": "function", "name": "do_nothing"}
    told = (await server.create(input=HELLO, tools=[bare], tool_choice="none")).get("tools")
    wanted = {**bare, "description": None, "parameters": None, "strict": None}
    is_full = isinstance(told, list) and [tool | wanted for tool in told] == told and len(told) == 1
    require(is_full, f"the tool is echoed as {told}")


@rule("tools.choice-echo", "Every form of tool_choice is echoed.", section="tool_choice")
async def choice_echo(server: Server) -> None:
    named = [{"type": "function", "name": "get_time"}]
    for choice in ("none", "auto", {"type": "allowed_tools", "mode": "auto", "tools": named}):
        told = (await _asked(server, HELLO, tool_choice=choice)).get("tool_choice")
        require(told in (choice, None), f"{choice} is echoed as {told}")


@rule(
    "tools.auto",
    "With auto, a call ends the turn and leaves it to the client.",
    section="Externally-hosted tools",
)
async def auto(server: Server) -> None:
    response = await _asked(server, WEATHER_QUESTION)
    if not calls_of(response):
        raise NotShown("the model called no tool")
    require(
        response.get("status") == "completed", f"a response that ends with a call is {response.get('status')}"
    )
    require(_names(response) <= {"get_weather", "get_time"}, f"calls of {_names(response)}")


@rule("tools.none", "With none, no call is made, whatever the user asks.", section="tool_choice")
async def none(server: Server) -> None:
    response = await _asked(server, WEATHER_QUESTION, tool_choice="none")
    require(not calls_of(response), f"with tool_choice none there are calls of {_names(response)}")


@rule(
    "tools.required",
    "With required, a completed response has a call, whatever the user says.",
    section="tool_choice",
)
async def required(server: Server) -> None:
    _must_have_called(await _asked(server, HELLO, tool_choice="required"))


@rule("tools.named", "With a named function, that one is called and no other.", section="tool_choice")
async def named(server: Server) -> None:
    response = await _asked(server, WEATHER_QUESTION, tool_choice={"type": "function", "name": "get_time"})
    require(_names(response) <= {"get_time"}, f"get_time was demanded and {_names(response)} called")
    _must_have_called(response)


@rule(
    "tools.allowed",
    "With allowed_tools, no other tool is called, even if the user asks for it.",
    section="allowed_tools",
)
async def allowed(server: Server) -> None:
    only = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "get_time"}]}
    response = await _asked(server, WEATHER_QUESTION, tool_choice=only)
    require(_names(response) <= {"get_time"}, f"only get_time was allowed and {_names(response)} called")
    served = await _asked(server, TIME_QUESTION, tool_choice=only)
    if served.get("status") == "failed":
        raise NotShown(f"the model made no allowed call: {served.get('error')}")


@rule(
    "tools.allowed-stream",
    "A call that is not allowed appears in no event of a stream.",
    section="allowed_tools",
)
async def allowed_stream(server: Server) -> None:
    only = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "get_time"}]}
    told = await server.stream(input=WEATHER_QUESTION, tools=_BOTH, tool_choice=only)
    for event in told.events:
        item = event.get("item") or {}
        require(item.get("name") != "get_weather", f"{event['type']} tells of a call that is not allowed")


@rule(
    "tools.allowed-required",
    "allowed_tools with the mode required demands one of the allowed calls.",
    section="allowed_tools",
)
async def allowed_required(server: Server) -> None:
    only = {
        "type": "allowed_tools",
        "mode": "required",
        "tools": [{"type": "function", "name": "get_weather"}],
    }
    response = await _asked(server, WEATHER_QUESTION, tool_choice=only)
    require(
        _names(response) <= {"get_weather"}, f"only get_weather was allowed and {_names(response)} called"
    )
    _must_have_called(response)


@rule(
    "tools.parallel",
    "With parallel_tool_calls false there is at most one call.",
    section="CreateResponseBody",
)
async def parallel(server: Server) -> None:
    question = "What are the weather and the time in San Francisco? Call both tools at once."
    response = await _asked(server, question, parallel_tool_calls=False)
    require(
        len(calls_of(response)) <= 1,
        f"parallel calls were switched off and there are {len(calls_of(response))}",
    )


@rule(
    "tools.max-calls",
    "There are no more calls than max_tool_calls.",
    section="CreateResponseBody",
    demand="should",
)
async def max_calls(server: Server) -> None:
    question = (
        "What is the weather in San Francisco, in Oslo and in Rome? Call the tool for all three at once."
    )
    response = await _asked(server, question, max_tool_calls=1)
    require(len(calls_of(response)) <= 1, f"one call was allowed and there are {len(calls_of(response))}")
    require(response.get("max_tool_calls", 1) == 1, "'max_tool_calls' is not echoed")


@rule(
    "tools.output-parts",
    "A call's output may be a list of content parts.",
    section="Items",
)
async def output_parts(server: Server) -> None:
    first = await call_response(server)
    outputs = [
        {
            "type": "function_call_output",
            "call_id": call["call_id"],
            "output": [{"type": "input_text", "text": "It is sunny."}],
        }
        for call in calls_of(first)
    ]
    response = await server.create(input=outputs, previous_response_id=first["id"], tools=[WEATHER])
    if response.get("status") == "completed" and not text_of(response) and not calls_of(response):
        raise NotShown("the model said nothing")


@rule(
    "tools.type-named",
    "The error for a tool type that is not served names the type's place and what is served.",
    section="Extending tools",
    demand="extension",
)
async def type_named(server: Server) -> None:
    error = refused(await server.ask(input=HELLO, tools=[WEATHER, {"type": "teleport"}]))
    require(error.get("param") == "tools[1].type", f"the error's param is {error.get('param')!r}")
    require(
        "function" in str(error.get("message")),
        "the message does not name the type 'function', which is served",
    )
