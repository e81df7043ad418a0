"""Faults of tools, and of what is forced and forbidden."""

from collections.abc import Callable
from typing import Any

from responses_api.conformance.prompts import HELLO, WEATHER_QUESTION
from responses_api.protocol.plain import Json
from tests.support.faults.changes import (
    asking,
    creates,
    echo,
    in_body,
    says,
    status,
)
from tests.support.faults.fault import Call, Fault

_WEATHER = {"type": "function", "name": "get_weather"}
_TIME = {"type": "function", "name": "get_time"}
_BARE = {"type": "function", "name": "do_nothing"}


def _twice(response: Json) -> Json:
    return {**response, "output": [*response["output"], *response["output"]]}


def _with_call(**fields: Any) -> Callable[[Json], Json]:
    def change(response: Json) -> Json:
        output = [
            {**item, **fields} if item["type"] == "function_call" else item for item in response["output"]
        ]
        return {**response, "output": output}

    return change


def _may_choose(call: Call) -> bool:
    choice = call.body.get("tool_choice")
    allows = (
        isinstance(choice, dict) and choice.get("type") == "allowed_tools" and choice.get("mode") == "auto"
    )
    return allows and call.body["input"] == WEATHER_QUESTION


TOOLS = [
    Fault(
        "none is not heeded",
        ("tools.none",),
        creates(input=WEATHER_QUESTION, tool_choice="none"),
        call=asking(tool_choice="required"),
    ),
    Fault(
        "required is not heeded",
        ("tools.required",),
        creates(input=HELLO, tool_choice="required"),
        call=asking(tool_choice="none"),
    ),
    Fault(
        "another function is called",
        ("tools.named",),
        creates(input=WEATHER_QUESTION, tool_choice=_TIME),
        call=asking(tool_choice=_WEATHER),
    ),
    Fault(
        "a call that is not allowed",
        ("tools.allowed",),
        lambda call: _may_choose(call) and not call.body.get("stream"),
        call=asking(tool_choice=_WEATHER),
    ),
    Fault(
        "a call that is not allowed, streamed",
        ("tools.allowed-stream",),
        lambda call: _may_choose(call) and bool(call.body.get("stream")),
        call=asking(tool_choice=_WEATHER),
    ),
    Fault(
        "two calls instead of one",
        ("tools.parallel",),
        creates(parallel_tool_calls=False, tool_choice=None),
        response=_twice,
    ),
    Fault(
        "a turn with a call is not completed",
        ("tools.auto",),
        creates(input=WEATHER_QUESTION, tool_choice=None),
        response=echo("status", "incomplete"),
    ),
    Fault(
        "another call than the allowed one",
        ("tools.allowed-required",),
        lambda call: (
            isinstance(call.body.get("tool_choice"), dict)
            and call.body["tool_choice"].get("mode") == "required"
        ),
        call=asking(tool_choice=_TIME),
    ),
    Fault(
        "an output in parts is refused",
        ("tools.output-parts",),
        says(b'"input_text","text":"It is sunny."'),
        reply=status(400),
    ),
    Fault("more calls than allowed", ("tools.max-calls",), creates(max_tool_calls=1), response=_twice),
    Fault(
        "arguments that are no JSON",
        ("tools.shape",),
        creates(input=WEATHER_QUESTION, tool_choice="required", stream=None),
        response=_with_call(arguments="{"),
    ),
    Fault("a tool is echoed in part", ("tools.echo",), says(b"do_nothing"), response=echo("tools", [_BARE])),
    Fault(
        "a choice is echoed as another",
        ("tools.choice-echo",),
        creates(input=HELLO, tool_choice="auto"),
        response=echo("tool_choice", "required"),
    ),
    Fault(
        "a tool type is refused without its place",
        ("tools.type-named",),
        lambda call: says(b"teleport")(call) and len(call.body["tools"]) == 2,
        reply=in_body("error", "param", value="tools"),
    ),
]
