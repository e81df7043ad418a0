"""Tools put into words: what a model without tools is asked, and what its answer is held to."""

from typing import Any

import jsonschema
import orjson
import pytest

from responses_api.protocol.backend import BackendSpec
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.job import STATE, Job
from responses_api.protocol.plain import Json
from tests.unit.workers.builders import DONE, chunk, make_job
from workers.backends.parts import CallDelta, Stop, TextDelta, UsageReport
from workers.backends.registry import Adapter, adapter_for, adapter_of

LOOK: Json = {
    "type": "function",
    "name": "look",
    "description": "Look at a place",
    "parameters": {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]},
}
WAIT: Json = {"type": "function", "name": "wait"}
CALL: Json = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"at": "sea"}'}
OUTPUT: Json = {"type": "function_call_output", "call_id": "c1", "output": "waves"}


def job(**fields: Any) -> Job:
    return make_job(row={"tools": "emulated"}, **fields)


def adapter(of: Job) -> Adapter:
    return adapter_of(BackendSpec.from_plain(of.backend))


def asked(**fields: Any) -> Json:
    """The body of a request."""
    of = job(**fields)
    return adapter(of).build(of)


def schema(**fields: Any) -> Json:
    held: Json = asked(**fields)["response_format"]["json_schema"]["schema"]
    return held


def admits(held: Json, turn: Any) -> bool:
    return jsonschema.Draft202012Validator(held).is_valid(turn)


def turn(name: str, *also: str, **arguments: Any) -> Json:
    others = [turn(other) for other in also]
    return {"tool": name, "arguments": arguments} | ({"also": others} if others else {})


def read(body: bytes, **fields: Any) -> list[Any]:
    of = job(**fields)
    stream = adapter(of).open_stream(of)
    return [*stream.feed(body), *stream.close()]


def test_a_request_without_tools_is_the_same_as_anywhere() -> None:
    plain: Json = {"input": "hello", "text": {"format": {"type": "json_object"}}, "top_logprobs": 2}
    assert asked(**plain) == adapter_for("chat_completions").build(make_job(**plain))
    said = chunk({"content": '{"answer": 1}'}) + chunk(finish="stop") + DONE
    assert read(said, **plain) == [TextDelta("content", '{"answer": 1}'), Stop("stop")]


def test_tools_become_words_and_a_schema() -> None:
    body = asked(instructions="Be kind.", tools=[LOOK, WAIT])
    assert not body.keys() & {"tools", "tool_choice", "parallel_tool_calls"}
    words = body["messages"][0]
    assert words["role"] == "system"
    assert words["content"].startswith("Be kind.\n\n")
    assert "look" in words["content"]
    assert "Look at a place" in words["content"]
    assert body["messages"][1] == {"role": "user", "content": "hello"}


@pytest.mark.parametrize(
    ("fields", "good", "bad"),
    [
        (
            {},
            [{"answer": "yes"}, turn("look", at="sea"), turn("wait"), turn("wait", "wait", "wait")],
            [{"answer": 1}, turn("run"), turn("look"), {}, {"answer": "yes", **turn("wait")}],
        ),
        ({"tool_choice": "required"}, [turn("wait")], [{"answer": "yes"}]),
        (
            {"tool_choice": {"type": "function", "name": "wait"}},
            [turn("wait")],
            [turn("look", at="sea"), {"answer": "yes"}, turn("wait", "wait")],
        ),
        (
            {"tool_choice": {"type": "allowed_tools", "tools": [{"type": "function", "name": "wait"}]}},
            [turn("wait"), {"answer": "yes"}],
            [turn("look", at="sea")],
        ),
        (
            {
                "tool_choice": {
                    "type": "allowed_tools",
                    "mode": "required",
                    "tools": [{"type": "function", "name": "wait"}],
                }
            },
            [turn("wait")],
            [turn("look", at="sea"), {"answer": "yes"}],
        ),
        ({"parallel_tool_calls": False}, [turn("wait"), {"answer": ""}], [turn("wait", "wait")]),
        ({"max_tool_calls": 2}, [turn("wait", "wait")], [turn("wait", "wait", "wait")]),
        ({"max_tool_calls": 1}, [turn("wait")], [turn("wait", "wait")]),
    ],
)
def test_the_schema_admits_what_the_request_does(fields: Json, good: list[Json], bad: list[Json]) -> None:
    held = schema(tools=[LOOK, WAIT], **fields)
    assert [turn for turn in good if not admits(held, turn)] == []
    assert [turn for turn in bad if admits(held, turn)] == []


def test_an_answer_of_the_requests_own_form_is_a_branch_beside_the_calls() -> None:
    form = {
        "type": "json_schema",
        "name": "city",
        "schema": {
            "type": "object",
            "properties": {"city": {"$ref": "#/$defs/name"}},
            "$defs": {"name": {"type": "string"}},
        },
    }
    held = schema(tools=[WAIT], text={"format": form})
    assert admits(held, {"answer": {"city": "Oslo"}})
    assert admits(held, turn("wait"))
    assert not admits(held, {"answer": {"city": 1}})
    assert not admits(held, {"answer": "Oslo"})
    said = chunk({"content": '{"answer": {"city": "Oslo"}}'}) + chunk(finish="stop") + DONE
    parts = read(said, tools=[WAIT], text={"format": form})
    assert [part.text for part in parts if isinstance(part, TextDelta)] == ['{"city": "Oslo"}']


def test_parameters_that_refer_to_themselves_are_still_found() -> None:
    tree = {
        "type": "object",
        "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}, "n": {"$ref": "#/$defs/n"}},
        "required": ["n"],
        "$defs": {"n": {"type": "integer"}},
    }
    held = schema(tools=[{"type": "function", "name": "grow", "parameters": tree}, WAIT])
    assert admits(held, turn("grow", n=1, next={"n": 2, "next": None}))
    assert not admits(held, turn("grow", n=1, next={"n": "two"}))


def test_calls_and_their_outputs_are_told_as_who_wrote_and_who_knows_them() -> None:
    second = {**CALL, "call_id": "c2", "name": "wait", "arguments": ""}
    body = asked(
        tools=[LOOK, WAIT],
        input=[
            {"role": "user", "content": "What is there?"},
            CALL,
            second,
            OUTPUT,
            {**OUTPUT, "call_id": "c2", "output": [{"type": "input_text", "text": "an hour"}]},
        ],
    )
    assert body["messages"][1:3] == [
        {"role": "user", "content": "What is there?"},
        {
            "role": "assistant",
            "content": 'I call look with {"at": "sea"}.\nI call wait with {}.',
        },
    ]
    told = body["messages"][3]
    assert told["role"] == "user"
    assert told["content"].startswith("Result of look: waves\nResult of wait: an hour\n")
    assert len(body["messages"]) == 4


def test_what_is_told_of_an_output_is_one_text_in_a_format_that_has_parts() -> None:
    row = {"kind": "responses", "native_features": ["response_format"]}
    look = {"role": "user", "content": "look"}
    of = job(**row, input=[look, CALL, OUTPUT], tools=[LOOK])
    (text,) = adapter(of).build(of)["input"][-1]["content"]
    assert text["text"].startswith("Result of look: waves\n")
    image = {"type": "input_image", "image_url": "https://example.com/a.png", "detail": "auto"}
    seen = {
        **OUTPUT,
        "output": [{"type": "input_text", "text": "a"}, image, {"type": "input_text", "text": "b"}],
    }
    of = job(**row, input=[look, CALL, seen], tools=[LOOK])
    before, between, after = adapter(of).build(of)["input"][-1]["content"]
    assert before["text"] == "Result of look: a"
    assert between["image_url"] == image["image_url"]
    assert after["text"].startswith("b\n")


def test_what_follows_the_outputs_is_what_the_model_goes_on_with() -> None:
    history = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look."}]},
        CALL,
        OUTPUT,
    ]
    body = asked(tools=[LOOK], history=history, input="And now?")
    assert body["messages"][-2:] == [
        {"role": "user", "content": "Result of look: waves"},
        {"role": "user", "content": "And now?"},
    ]


@pytest.mark.parametrize("fields", [{}, {"tools": [LOOK], "tool_choice": "none"}])
def test_with_calls_behind_it_and_none_to_make_the_model_can_only_answer(fields: Json) -> None:
    held = schema(input=[CALL, OUTPUT], **fields)
    assert admits(held, {"answer": "waves"})
    assert not admits(held, turn("look", at="sea"))


def test_tools_that_may_not_be_called_are_not_told_of() -> None:
    assert asked(tools=[LOOK], tool_choice="none") == adapter_for("chat_completions").build(make_job())
    said = chunk({"content": '{"tool": "look"}'}) + chunk(finish="stop") + DONE
    parts = read(said, tools=[LOOK], tool_choice="none")
    assert parts == [TextDelta("content", '{"tool": "look"}'), Stop("stop")]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"tools": [LOOK, {"type": "acme:search"}]}, "tools[1].type"),
        ({"tools": [LOOK], "top_logprobs": 3}, "top_logprobs"),
        ({"tools": [LOOK], "include": ["message.output_text.logprobs"]}, "include"),
        (
            {
                "tools": [LOOK],
                "input": [
                    CALL,
                    {**CALL, "call_id": "c2"},
                    OUTPUT,
                    {**OUTPUT, "call_id": "c2"},
                    {
                        "role": "user",
                        "content": [{"type": "input_file", "file_url": "https://example.com/a"}],
                    },
                ],
            },
            "input[4].content[0].file_url",
        ),
    ],
)
def test_what_cannot_be_put_into_words_is_refused_where_it_stands(fields: Json, param: str) -> None:
    with pytest.raises(ProtocolError) as refused:
        asked(**fields)
    assert (refused.value.status, refused.value.param) == (400, param)
    assert refused.value.code == "unsupported_value"


def test_a_call_is_told_with_the_upstreams_usage_and_ids_that_a_second_attempt_makes_again() -> None:
    usage = {"prompt_tokens": 30, "completion_tokens": 9, "total_tokens": 39}
    said = (
        chunk({"content": '{"tool": "look", "arguments": {"at": "sea"}}'})
        + chunk(finish="stop", usage=usage)
        + DONE
    )
    parts = read(said, tools=[LOOK])
    calls = [part for part in parts if isinstance(part, CallDelta)]
    assert [call.name for call in calls if call.name] == ["look"]
    assert "".join(call.arguments for call in calls) == '{"at": "sea"}'
    assert len({call.call_id for call in calls}) == 1
    assert [part for part in parts if isinstance(part, UsageReport)] == [UsageReport(30, 9, total_tokens=39)]
    assert parts[-1] == Stop("tool_calls")
    assert read(said, tools=[LOOK]) == parts


@pytest.mark.parametrize("kind", ["chat_completions", "openai_chat_completions", "anthropic", "gemini"])
def test_any_kind_can_be_asked_so(kind: str) -> None:
    of = make_job(row={"tools": "emulated", "kind": kind}, tools=[LOOK], max_output_tokens=99)
    body = adapter(of).build(of)
    assert any('"answer"' in text for text in adapter(of).read(body).texts)


@pytest.mark.parametrize("kind", ["chat_completions", "responses", "anthropic", "gemini"])
def test_calls_that_were_answered_are_told_to_a_backend_of_any_kind(kind: str) -> None:
    of = job(kind=kind, input=[{"role": "user", "content": "look"}, CALL, OUTPUT], tools=[LOOK])
    told = orjson.dumps(adapter(of).build(of)).decode()
    assert "waves" in told
    assert "function_call" not in told


def test_what_is_told_in_words_is_told_whole() -> None:
    row = {"kind": "responses", "native_features": ["previous_response_id"]}
    state = {"response": "resp_upstream", "items": 1}
    history = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
        {"type": "reasoning", "summary": [], STATE: [state]},
        CALL,
    ]
    for tools, is_shorter in (("native", True), ("emulated", False)):
        of = make_job(row={**row, "tools": tools}, history=history, input=[OUTPUT], tools=[LOOK])
        shorter = adapter(of).shorten(of, adapter(of).build(of))
        assert (shorter is not None) is is_shorter
