"""What a job becomes as a generateContent request, held against the types of the provider's own SDK."""

import json
from typing import Any

import pytest

from responses_api.protocol import own_fields
from responses_api.protocol.plain import Json
from tests.unit.workers.gemini import (
    GEMINI,
    HEAR,
    LOOK,
    PNG,
    asked,
    body,
    call,
    config,
    job_for,
    output,
    refused,
    text,
    user,
)

# ---------------------------------------------------------------- the frame


def test_a_plain_request_carries_nothing_that_was_not_asked_for() -> None:
    assert body() == {"contents": [asked()]}


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("gemini-3-flash", "/models/gemini-3-flash:streamGenerateContent?alt=sse"),
        ("models/gemini-3-flash", "/models/gemini-3-flash:streamGenerateContent?alt=sse"),
        ("tunedModels/mine-1", "/tunedModels/mine-1:streamGenerateContent?alt=sse"),
        ("a b?", "/models/a%20b%3F:streamGenerateContent?alt=sse"),
    ],
)
def test_the_model_is_asked_at_its_own_address(model: str, path: str) -> None:
    assert GEMINI.path(job_for(model)) == path


def test_the_key_has_a_header_of_its_own() -> None:
    assert GEMINI.auth("secret") == {"x-goog-api-key": "secret"}


def test_every_field_of_a_body_is_the_services_own() -> None:
    whole = body(instructions="Be brief.", tools=[LOOK], temperature=1.0)
    assert set(whole) <= own_fields.GEMINI


def test_hints_and_notes_are_left_out() -> None:
    hints: Json = {
        "metadata": {"a": "b"},
        "safety_identifier": "u",
        "prompt_cache_key": "k",
        "text": {"verbosity": "low"},
    }
    assert body(**hints) == body()


def test_sampling_is_told_by_the_formats_names() -> None:
    assert config(
        temperature=0.5, top_p=0.9, presence_penalty=1.0, frequency_penalty=-1.0, max_output_tokens=99
    ) == {
        "temperature": 0.5,
        "topP": 0.9,
        "presencePenalty": 1.0,
        "frequencyPenalty": -1.0,
        "maxOutputTokens": 99,
    }


def test_log_probabilities_can_be_asked_for_in_two_ways() -> None:
    assert config(top_logprobs=3) == {"responseLogprobs": True, "logprobs": 3}
    assert config(include=["message.output_text.logprobs"]) == {"responseLogprobs": True}


# ---------------------------------------------------------------- tools


def test_functions_are_declared_with_their_json_schema() -> None:
    told = body(tools=[LOOK, HEAR])
    assert told["tools"] == [
        {
            "functionDeclarations": [
                {"name": "look", "parametersJsonSchema": LOOK["parameters"]},
                {"name": "hear", "description": "Listens."},
            ]
        }
    ]
    assert told["toolConfig"] == {"functionCallingConfig": {"mode": "AUTO"}}


@pytest.mark.parametrize(
    ("choice", "told"),
    [
        ("auto", {"mode": "AUTO"}),
        ("required", {"mode": "ANY"}),
        ("none", {"mode": "NONE"}),
        ({"type": "function", "name": "look"}, {"mode": "ANY", "allowedFunctionNames": ["look"]}),
        (
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "hear"}]},
            {"mode": "VALIDATED", "allowedFunctionNames": ["hear"]},
        ),
        (
            {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "hear"}]},
            {"mode": "ANY", "allowedFunctionNames": ["hear"]},
        ),
        (
            {"type": "allowed_tools", "mode": "none", "tools": [{"type": "function", "name": "hear"}]},
            {"mode": "NONE"},
        ),
    ],
)
def test_a_tool_choice_is_a_mode_and_names(choice: Any, told: Json) -> None:
    config = body(tools=[LOOK, HEAR], tool_choice=choice)["toolConfig"]
    assert config == {"functionCallingConfig": told}


def test_without_tools_nothing_is_said_of_their_choice() -> None:
    assert body(tool_choice="none") == body()


@pytest.mark.parametrize(
    ("tool", "param"),
    [
        ({"type": "acme:search"}, "tools[1].type"),
        ({"type": "function", "name": "3d"}, "tools[1].name"),
        ({"type": "function", "name": "a", "parameters": {"type": "array"}}, "tools[1].parameters"),
        ({"type": "function", "name": "a", "parameters": {"$ref": "#/$defs/B"}}, "tools[1].parameters"),
    ],
)
def test_a_tool_that_cannot_be_declared_is_refused_by_its_place(tool: Json, param: str) -> None:
    assert refused(tools=[LOOK, tool]) == (param, "unsupported_value")


@pytest.mark.parametrize("parameters", [None, {}, {"type": "object", "properties": {}}, {"properties": {}}])
def test_a_function_without_parameters_has_no_schema(parameters: Json | None) -> None:
    told = body(tools=[{"type": "function", "name": "a", "parameters": parameters}])
    assert told["tools"][0]["functionDeclarations"] == [{"name": "a"}]


# ---------------------------------------------------------------- the form of the answer, and thinking


def test_structured_output_is_json_by_a_schema() -> None:
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    form = {"type": "json_schema", "name": "ans", "schema": schema}
    assert config(text={"format": form}) == {
        "responseMimeType": "application/json",
        "responseJsonSchema": schema,
    }
    assert config(text={"format": {**form, "description": "An answer."}})["responseJsonSchema"] == {
        "description": "An answer.",
        **schema,
    }
    assert config(text={"format": {"type": "json_object"}}) == {"responseMimeType": "application/json"}
    form["schema"] = {"$ref": "https://example.com/schema"}
    assert refused(text={"format": form}) == ("text.format.schema", "unsupported_value")


@pytest.mark.parametrize(
    ("model", "efforts"),
    [
        (
            "gemini-3-flash",
            {
                "none": "MINIMAL",
                "minimal": "MINIMAL",
                "low": "LOW",
                "medium": "MEDIUM",
                "high": "HIGH",
                "xhigh": "XHIGH",
            },
        ),
        (
            "gemini-3-pro-preview",
            {"minimal": "LOW", "low": "LOW", "medium": "MEDIUM", "high": "HIGH", "xhigh": "XHIGH"},
        ),
        (
            "models/gemini-2.5-flash",
            {"none": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24576, "xhigh": 24576},
        ),
        ("gemini-2.5-pro", {"minimal": 1024, "high": 24576}),
        ("gemini-flash-latest", {"none": "MINIMAL", "high": "HIGH"}),
    ],
)
def test_an_effort_is_a_level_or_a_budget_as_the_model_has_it(model: str, efforts: Json) -> None:
    for effort, told in efforts.items():
        name = "thinkingBudget" if isinstance(told, int) else "thinkingLevel"
        assert config(model, reasoning={"effort": effort}) == {"thinkingConfig": {name: told}}


@pytest.mark.parametrize("model", ["gemini-2.5-pro", "gemini-3-pro-preview", "gemini-pro-latest"])
def test_a_model_that_cannot_be_kept_from_thinking_says_so(model: str) -> None:
    assert refused(model, reasoning={"effort": "none"}) == ("reasoning.effort", "unsupported_value")


def test_a_summary_asks_for_thoughts() -> None:
    assert config(reasoning={"summary": "auto"}) == {"thinkingConfig": {"includeThoughts": True}}
    assert config(reasoning={}) == {}


# ---------------------------------------------------------------- counting


def tokens(**fields: Any) -> int:
    return GEMINI.read(body(**fields)).count()


def test_what_the_model_reads_is_counted() -> None:
    assert tokens(input="hello world") == 2 + 4 + 3
    assert tokens(input="hello world", instructions="hello world") == 2 * (2 + 4) + 3
    loop = [user(text("hello world")), call("c", arguments='{"a":1}'), output("c", "hello world")]
    assert tokens(input=loop) > tokens(input="hello world") + 4 + 3 + 4 + 2
    image = {"type": "input_image", "image_url": PNG}
    assert tokens(input=[user(text("hello world"), image)]) == tokens(input="hello world") + 765
    file = {"type": "input_file", "filename": "a.pdf", "file_data": "A" * 1600}
    assert tokens(input=[user(text("hello world"), file)]) == tokens(input="hello world") + 300
    assert tokens(input=[user(text("hello world")), call("c"), output("c", [text("a"), image])]) > 765
    assert tokens(input="hello", tools=[LOOK]) > tokens(input="hello")
    form = {"type": "json_schema", "name": "a", "schema": {"type": "object"}}
    assert tokens(input="hello", text={"format": form}) > tokens(input="hello")


def test_a_body_is_json_without_a_null() -> None:
    built = body(tools=[LOOK, HEAR], instructions="x", reasoning={"effort": "low"}, top_logprobs=2)
    assert "null" not in json.dumps(built)
