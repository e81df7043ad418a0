"""Refusals name the field by its path and say what would be right."""

from typing import Any

import pytest

from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.plain import Json
from responses_api.protocol.request import parse_create

FUNCTION: Json = {"type": "function", "name": "f"}


def refuse(**fields: Any) -> ProtocolError:
    with pytest.raises(ProtocolError) as caught:
        parse_create({"model": "m", "input": "hi", **fields})
    assert caught.value.status == 400
    assert caught.value.type == "invalid_request"
    return caught.value


def user(*parts: object) -> list[Json]:
    return [{"role": "user", "content": [*parts]}]


@pytest.mark.parametrize("body", [None, [], "x", 5, True])
def test_a_body_must_be_an_object(body: object) -> None:
    with pytest.raises(ProtocolError, match="must be a JSON object"):
        parse_create(body)


@pytest.mark.parametrize(
    ("field", "value", "param", "sentence"),
    [
        ("model", None, "model", "must be a string"),
        ("model", "", "model", "must not be empty"),
        ("previous_response_id", 5, "previous_response_id", "must be a string"),
        ("instructions", [], "instructions", "must be a string"),
        ("stream", "true", "stream", "must be true or false"),
        ("store", 1, "store", "must be true or false"),
        ("background", 0, "background", "must be true or false"),
        ("parallel_tool_calls", "no", "parallel_tool_calls", "must be true or false"),
        ("temperature", 2.1, "temperature", "must be at most 2"),
        ("temperature", True, "temperature", "must be a number"),
        ("temperature", float("nan"), "temperature", "must be a finite number"),
        ("top_p", -0.1, "top_p", "must be at least 0"),
        ("presence_penalty", 3, "presence_penalty", "must be at most 2"),
        ("frequency_penalty", -3, "frequency_penalty", "must be at least -2"),
        ("max_output_tokens", 15, "max_output_tokens", "must be at least 16"),
        ("max_output_tokens", True, "max_output_tokens", "must be an integer"),
        ("max_output_tokens", 16.5, "max_output_tokens", "must be an integer"),
        ("max_output_tokens", 1e30, "max_output_tokens", "must be an integer"),
        ("max_output_tokens", 2**53, "max_output_tokens", "must be at most 9007199254740991"),
        ("max_tool_calls", 0, "max_tool_calls", "must be at least 1"),
        ("top_logprobs", 21, "top_logprobs", "must be at most 20"),
        ("truncation", "x", "truncation", "must be 'auto' or 'disabled'"),
        ("service_tier", "x", "service_tier", "'priority'"),
        ("include", ["reasoning.encrypted_content", "x"], "include[1]", "message.output_text.logprobs"),
        ("reasoning", {"effort": "x"}, "reasoning.effort", "'xhigh'"),
        ("stream_options", {"include_obfuscation": 1}, "stream_options.include_obfuscation", "true or false"),
        ("prompt_cache_key", "x" * 65, "prompt_cache_key", "at most 64 characters"),
        ("safety_identifier", "x" * 65, "safety_identifier", "at most 64 characters"),
        ("metadata", {"a": 5}, "metadata.a", "must be a string"),
        ("metadata", {"a": "x" * 513}, "metadata.a", "at most 512 characters"),
        ("metadata", {"k" * 65: ""}, "metadata", "at most 64 characters"),
        ("metadata", {str(n): "" for n in range(17)}, "metadata", "at most 16 entries"),
        ("text", {"verbosity": "x"}, "text.verbosity", "'medium'"),
        ("text", {"format": {"type": "x"}}, "text.format.type", "'json_schema'"),
        ("text", {"format": {"type": "json_schema", "name": "n"}}, "text.format.schema", "is required"),
        ("text", {"format": {"type": "json_schema", "schema": {}}}, "text.format.name", "is required"),
    ],
)
def test_settings_are_refused_by_name(field: str, value: object, param: str, sentence: str) -> None:
    error = refuse(**{field: value})
    assert error.param == param
    assert sentence in error.message
    assert f"'{param}'" in error.message


@pytest.mark.parametrize("empty", [None, "", []])
def test_an_empty_input_needs_a_previous_response(empty: object) -> None:
    assert refuse(input=empty).param == "input"


@pytest.mark.parametrize(
    ("value", "param"),
    [
        (5, "input"),
        ([5], "input[0]"),
        ([{}], "input[0].type"),
        ([{"role": "user", "content": "x"}, {"type": ""}], "input[1].type"),
        ([{"type": ["message"]}], "input[0].type"),
        ([{"role": "tool", "content": "x"}], "input[0].role"),
        ([{"role": {}, "content": "x"}], "input[0].role"),
        ([{"type": "message", "content": "x"}], "input[0].role"),
        ([{"role": "user"}], "input[0].content"),
        ([{"role": "user", "content": None}], "input[0].content"),
        ([{"role": "assistant", "content": "x", "phase": "x"}], "input[0].phase"),
        ([{"type": "function_call", "name": "f", "arguments": "{}"}], "input[0].call_id"),
        ([{"type": "function_call", "call_id": "c" * 65, "name": "f", "arguments": ""}], "input[0].call_id"),
        ([{"type": "function_call", "call_id": "c", "name": "a b", "arguments": ""}], "input[0].name"),
        ([{"type": "function_call", "call_id": "c", "name": "f", "arguments": {}}], "input[0].arguments"),
        ([{"type": "function_call_output", "call_id": "c", "output": 5}], "input[0].output"),
        (
            [{"type": "function_call_output", "call_id": "c", "output": [{"type": "refusal"}]}],
            "input[0].output[0].type",
        ),
        ([{"type": "reasoning", "summary": [{"type": "x"}]}], "input[0].summary[0].type"),
        ([{"type": "compaction"}], "input[0].encrypted_content"),
        ([{"type": "item_reference"}], "input[0].id"),
        (user(5), "input[0].content[0]"),
        (user({"type": "input_text"}), "input[0].content[0].text"),
        (user({"type": "input_text", "text": None}), "input[0].content[0].text"),
        (user({"type": "output_text", "text": "x"}), "input[0].content[0].type"),
        (user({"type": "input_video", "video_url": "x"}), "input[0].content[0].type"),
        (user({"text": "x"}), "input[0].content[0].type"),
        (user({"type": "input_image"}), "input[0].content[0].image_url"),
        (user({"type": "input_image", "image_url": "ftp://h"}), "input[0].content[0].image_url"),
        (user({"type": "input_image", "image_url": "data:text/plain,x"}), "input[0].content[0].image_url"),
        (user({"type": "input_image", "file_id": 5}), "input[0].content[0].file_id"),
        (user({"type": "input_file", "file_id": ""}), "input[0].content[0].file_id"),
        (
            user({"type": "input_image", "file_id": "f", "image_url": "https://h/i.png"}),
            "input[0].content[0].file_id",
        ),
        (
            user({"type": "input_file", "file_id": "f", "file_url": "https://h/f"}),
            "input[0].content[0].file_id",
        ),
        (user({"type": "input_file", "filename": "f"}), "input[0].content[0].file_data"),
        (user({"type": "input_file", "file_url": "f"}), "input[0].content[0].file_url"),
        ([{"role": "system", "content": [{"type": "input_image"}]}], "input[0].content[0].type"),
    ],
)
def test_items_are_refused_by_path(value: object, param: str) -> None:
    error = refuse(input=value)
    assert error.param == param
    assert f"'{param}'" in error.message


def test_too_long_text_is_refused() -> None:
    assert refuse(input="x" * 10_485_761).param == "input"
    assert (
        refuse(input=user({"type": "input_text", "text": "x" * 10_485_761})).param
        == "input[0].content[0].text"
    )


@pytest.mark.parametrize(
    ("tools", "param"),
    [
        ({}, "tools"),
        ([5], "tools[0]"),
        ([{}], "tools[0].type"),
        ([FUNCTION, {"type": ""}], "tools[1].type"),
        ([{"type": ["function"]}], "tools[0].type"),
        ([{"type": "function", "name": "a b"}], "tools[0].name"),
        ([{"type": "function", "name": "x" * 65}], "tools[0].name"),
        ([{"type": "function", "function": {"name": "f"}}], "tools[0].name"),
        ([FUNCTION | {"parameters": []}], "tools[0].parameters"),
        ([FUNCTION | {"strict": "true"}], "tools[0].strict"),
        ([FUNCTION | {"description": 1}], "tools[0].description"),
    ],
)
def test_tools_are_refused_by_path(tools: object, param: str) -> None:
    assert refuse(tools=tools).param == param


def test_a_tool_of_no_type_is_told_what_is_supported() -> None:
    error = refuse(tools=[{"type": None}])
    assert error.code == "unsupported_value"
    assert "'function'" in error.message


@pytest.mark.parametrize(
    ("choice", "param"),
    [
        ("any", "tool_choice"),
        (5, "tool_choice"),
        ({"type": "mcp"}, "tool_choice.server_label"),
        ({"type": "mcp", "server_label": "a"}, "tool_choice"),
        ({"type": 5}, "tool_choice.type"),
        ({"type": "function"}, "tool_choice.name"),
        ({"type": "function", "name": "g"}, "tool_choice"),
        ({"type": "acme:search"}, "tool_choice"),
        ({"type": "allowed_tools", "tools": []}, "tool_choice.tools"),
        ({"type": "allowed_tools", "tools": [FUNCTION], "mode": "x"}, "tool_choice.mode"),
        ({"type": "allowed_tools", "tools": [FUNCTION, {"type": "function", "name": "g"}]}, "tool_choice"),
    ],
)
def test_choices_are_refused_by_path(choice: object, param: str) -> None:
    assert refuse(tools=[FUNCTION], tool_choice=choice).param == param


def test_a_tool_cannot_be_required_without_tools() -> None:
    assert refuse(tool_choice="required").param == "tool_choice"
    assert refuse(tool_choice=FUNCTION).param == "tool_choice"


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"instructions": "a\0"}, "instructions"),
        ({"input": user({"type": "input_text", "text": "\0"})}, "input[0].content[0].text"),
        ({"metadata": {"\0": ""}}, "metadata"),
        ({"ignored": {"deep": ["\0"]}}, "ignored.deep[0]"),
        ({"instructions": "\ud800"}, "instructions"),
        ({"tools": [FUNCTION | {"parameters": {"a": 2**70}}]}, "tools[0].parameters.a"),
        ({"\0": 1}, None),
    ],
)
def test_what_cannot_be_stored_is_refused_by_path(fields: Json, param: str | None) -> None:
    assert refuse(**fields).param == param


LONG = "k" * 10_000


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"metadata": {"a\nb": 1}}, "metadata.a\ufffdb"),
        ({"ignored": {LONG: "\0"}}, f"ignored.{LONG[:63]}…"),
        ({LONG: ["\0"]}, f"{LONG[:63]}…[0]"),
        ({"ignored": {"\u202e": {"\r": "\0"}}}, "ignored.\ufffd.\ufffd"),
        ({"tools": [FUNCTION | {"parameters": {LONG: 2**70}}]}, f"tools[0].parameters.{LONG[:63]}…"),
    ],
)
def test_keys_of_the_clients_own_choice_are_quoted_in_a_path(fields: Json, param: str) -> None:
    error = refuse(**fields)
    assert error.param == param
    assert f"'{param}'" in error.message


def test_a_choice_of_an_unknown_tool_quotes_its_name() -> None:
    error = refuse(tools=[FUNCTION], tool_choice={"type": "function", "name": LONG})
    assert f"'{LONG[:63]}…'" in error.message


def test_the_words_for_a_nul_are_not_a_nul() -> None:
    parse_create({"model": "m", "input": "\\u0000"})


def test_bottomless_nesting_is_refused() -> None:
    body: Any = "x"
    for _ in range(100_000):
        body = [body]
    assert "nested too deeply" in refuse(ignored=body).message
