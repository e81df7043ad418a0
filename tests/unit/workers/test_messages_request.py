"""What a job becomes as a Messages request."""

from typing import Any

import pytest

from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.plain import Json
from tests.unit.workers.messages import LOOK, NEWER, OLDER, OLDEST, block, body, call, job, output, user
from workers.backends.anthropic.models import model_of
from workers.backends.anthropic.reading import read
from workers.backends.counting import UPSTREAM_COUNTERS
from workers.backends.registry import adapter_for

SCHEMA: Json = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
FORM: Json = {"format": {"type": "json_schema", "name": "ans", "schema": SCHEMA}}
MARK = {"type": "ephemeral"}


def refusal(model: str = OLDER, **fields: Any) -> ProtocolError:
    with pytest.raises(ProtocolError) as caught:
        body(model, **fields)
    assert (caught.value.status, caught.value.code) == (400, "unsupported_value")
    return caught.value


# ---------------------------------------------------------------- the frame


def test_a_plain_request_carries_nothing_that_was_not_asked_for() -> None:
    assert body() == {
        "model": OLDER,
        "max_tokens": 32_000,
        "messages": [{"role": "user", "content": [block("hello")]}],
        "stream": True,
    }


def test_the_format_is_spoken_at_its_path_with_its_headers() -> None:
    adapter = adapter_for("anthropic")
    assert adapter.path(job()) == "/messages"
    assert adapter.auth("sk") == {"x-api-key": "sk"}
    assert adapter.headers["anthropic-version"] == "2023-06-01"


@pytest.mark.parametrize(
    ("name", "version"),
    [
        (OLDEST, (3, 7)),
        ("claude-3-5-haiku-latest", (3, 5)),
        ("claude-opus-4-20250514", (4, 0)),
        ("claude-opus-4-1-20250805", (4, 1)),
        ("claude-sonnet-4-5@20250929", (4, 5)),
        ("us.anthropic.claude-opus-4-6-v1:0", (4, 6)),
        ("anthropic/claude-sonnet-4.6", (4, 6)),
        ("claude-opus-5-5", (5, 5)),
        ("claude-fable-5", (5, 0)),
        ("claude-mythos-preview", (99, 0)),
        ("qwen3-235b", None),
        ("up-model", None),
    ],
)
def test_a_model_is_known_by_its_name(name: str, version: tuple[int, int] | None) -> None:
    assert model_of(name).version == version


def test_the_length_of_an_answer_is_always_told() -> None:
    assert body(max_output_tokens=20)["max_tokens"] == 20
    assert body("qwen3")["max_tokens"] == 8_192


def test_who_asks_and_for_which_capacity() -> None:
    assert body(safety_identifier="user-7")["metadata"] == {"user_id": "user-7"}
    assert "metadata" not in body(metadata={"a": "b"})
    for tier, told in (
        ("auto", None),
        ("priority", None),
        ("default", "standard_only"),
        ("flex", "standard_only"),
    ):
        assert body(service_tier=tier).get("service_tier") == told


# ---------------------------------------------------------------- sampling


def test_sampling_goes_as_far_as_the_format_does() -> None:
    told = body(temperature=0.2, top_p=0.9)
    assert (told["temperature"], told["top_p"]) == (0.2, 0.9)
    assert refusal(temperature=1.2).param == "temperature"
    assert refusal("qwen3", temperature=1.2).param == "temperature"


def test_what_holds_anyway_is_not_told_to_a_claude() -> None:
    assert not {"temperature", "top_p"} & set(body(NEWER, temperature=1, top_p=1))
    assert body("qwen3", temperature=1)["temperature"] == 1


@pytest.mark.parametrize("field", ["temperature", "top_p"])
def test_newer_models_take_no_sampling(field: str) -> None:
    assert refusal(NEWER, **{field: 0.5}).param == field


@pytest.mark.parametrize("field", ["presence_penalty", "frequency_penalty"])
def test_penalties_are_refused_unless_they_are_none(field: str) -> None:
    something: Any = {field: 0.5}
    assert refusal(**something).param == field
    nothing: Any = {field: 0}
    assert body(**nothing) == body()


def test_log_probabilities_are_refused() -> None:
    assert refusal(top_logprobs=2).param == "top_logprobs"
    assert refusal(include=["message.output_text.logprobs"]).param == "include"


# ---------------------------------------------------------------- tools


def test_every_tool_has_a_schema_of_an_object() -> None:
    tools: list[Json] = [
        {"type": "function", "name": "a", "description": None, "parameters": None, "strict": None},
        {"type": "function", "name": "b", "parameters": {}},
        {"type": "function", "name": "c", "description": "Does.", "strict": True},
        {"type": "function", "name": "d", "parameters": {"properties": {"x": {}}}},
        {"type": "function", "name": "e", "parameters": {"type": ["object", "null"]}},
    ]
    empty = {"type": "object", "properties": {}}
    assert body(tools=tools)["tools"] == [
        {"name": "a", "input_schema": empty},
        {"name": "b", "input_schema": empty},
        {
            "name": "c",
            "input_schema": {**empty, "additionalProperties": False},
            "description": "Does.",
            "strict": True,
        },
        {"name": "d", "input_schema": {"type": "object", "properties": {"x": {}}}},
        {"name": "e", "input_schema": empty},
    ]
    assert body("qwen3", tools=tools)["tools"][2] == {
        "name": "c",
        "input_schema": empty,
        "description": "Does.",
    }
    tools[0]["parameters"] = {"type": "array"}
    assert refusal(tools=tools).param == "tools[0].parameters"


def test_tools_of_other_types_are_refused_by_their_type() -> None:
    error = refusal(tools=[LOOK, {"type": "acme:search"}])
    assert error.param == "tools[1].type"
    assert "acme:search" in error.message


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", {"type": "auto"}),
        ("required", {"type": "any"}),
        ("none", {"type": "none"}),
        ({"type": "function", "name": "look"}, {"type": "tool", "name": "look"}),
        ({"type": "allowed_tools", "mode": "required", "tools": [LOOK]}, {"type": "any"}),
    ],
)
def test_the_choice_among_tools(choice: Any, expected: Json) -> None:
    assert body(tools=[LOOK], tool_choice=choice)["tool_choice"] == expected
    told = body(tools=[LOOK], tool_choice=choice, parallel_tool_calls=False)["tool_choice"]
    limited = {} if choice == "none" else {"disable_parallel_tool_use": True}
    assert told == expected | limited
    assert "tool_choice" not in body()


# ---------------------------------------------------------------- the form of the answer


def test_a_schema_is_told_with_every_object_closed() -> None:
    inner = {"type": ["object", "null"], "properties": {"enum": {"type": "string"}}}
    schema = {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"$ref": "#/$defs/b"}}, "c": {"anyOf": [inner]}},
        "$defs": {"b": {"properties": {}, "additionalProperties": True, "default": {"properties": 1}}},
    }
    form = {"format": {"type": "json_schema", "name": "ans", "schema": schema}}
    assert body(text=form)["output_config"] == {
        "format": {
            "type": "json_schema",
            "schema": {
                "type": "object",
                "properties": {
                    "a": {"type": "array", "items": {"$ref": "#/$defs/b"}},
                    "c": {"anyOf": [{**inner, "additionalProperties": False}]},
                },
                "$defs": {
                    "b": {"properties": {}, "additionalProperties": True, "default": {"properties": 1}}
                },
                "additionalProperties": False,
            },
        }
    }
    assert "additionalProperties" not in schema


def test_objects_that_are_made_of_others_stay_open() -> None:
    closed = {"type": "object", "properties": {}, "additionalProperties": False}
    schema = {
        "type": "object",
        "anyOf": [{"type": "object", "properties": {}}, {"$ref": "#/$defs/a"}],
        "$defs": {"a": {"type": "object", "allOf": [{"type": "object"}]}},
    }
    form = {"format": {"type": "json_schema", "name": "ans", "schema": schema}}
    assert body(text=form)["output_config"]["format"]["schema"] == {
        **schema,
        "anyOf": [closed, {"$ref": "#/$defs/a"}],
    }


def test_models_of_other_makers_are_held_to_a_schema_by_the_format() -> None:
    told = body("qwen3", text=FORM)
    assert told["output_config"]["format"]["type"] == "json_schema"
    assert "tools" not in told


def test_older_claudes_are_made_to_call_a_tool_that_takes_the_answer() -> None:
    model = OLDEST
    told = body(model, text=FORM)
    assert "output_config" not in told
    (tool,) = told["tools"]
    assert tool["input_schema"] == SCHEMA
    assert told["tool_choice"] == {"type": "tool", "name": tool["name"]}
    named = {**LOOK, "name": tool["name"]}
    beside = body(model, text=FORM, tools=[named])
    assert [each["name"] for each in beside["tools"]] == [tool["name"], tool["name"] + "_"]
    assert beside["tool_choice"] == {"type": "any"}
    alone = body(model, text=FORM, tools=[LOOK], tool_choice="none")
    assert [each["name"] for each in alone["tools"]] == [tool["name"]]


@pytest.mark.parametrize("choice", ["required", {"type": "function", "name": "look"}])
def test_where_a_function_must_be_called_there_is_no_answer_to_give_a_form(choice: Any) -> None:
    told = body(OLDEST, text=FORM, tools=[LOOK], tool_choice=choice)
    assert [each["name"] for each in told["tools"]] == ["look"]


def test_forms_that_cannot_be_held_to_are_refused() -> None:
    assert refusal(text={"format": {"type": "json_object"}}).param == "text.format.type"
    form = {"format": {"type": "json_schema", "name": "ans", "schema": {"type": "array"}}}
    assert refusal(OLDEST, text=form).param == "text.format.schema"


# ---------------------------------------------------------------- the cache


def test_a_cache_key_marks_what_stays() -> None:
    told = body(
        instructions="Be kind.",
        tools=[LOOK, {**LOOK, "name": "hear"}],
        prompt_cache_key="k",
        input=[user("x"), call("a"), output("a"), user("y", "z")],
    )
    marked = [
        *told["system"],
        *told["tools"],
        *(each for message in told["messages"] for each in message["content"]),
    ]
    assert [each.get("name") or each.get("text") for each in marked if "cache_control" in each] == [
        "Be kind.",
        "hear",
        "z",
    ]
    assert all(each.get("cache_control", MARK) == MARK for each in marked)
    assert "k" not in told.values()
    assert "cache_control" not in str(body(instructions="Be kind.", tools=[LOOK]))


# ---------------------------------------------------------------- counting


def test_everything_that_a_model_reads_is_counted() -> None:
    def tokens(**fields: Any) -> int:
        return read(body(**fields)).count()

    plain = tokens(input="hello world")
    assert plain == 2 + 4 + 3
    assert tokens(input="hello world", instructions="hello world") == plain + 2 + 4
    assert tokens(input="hello world", tools=[LOOK]) > plain
    assert tokens(input="hello world", text=FORM) > plain
    image = {"type": "input_image", "image_url": "https://a.test/b.png"}
    assert tokens(input=[user("hello world", image)]) == plain + 765
    document = {"type": "input_file", "file_data": "JVBERi0" + "A" * 393, "filename": "hello world"}
    assert tokens(input=[user("hello world", document)]) == plain + 2 + 75
    talk = [user("hello world"), call("a"), output("a", "hello world")]
    assert tokens(input=talk) == plain + 4 + 3 + 1 + 1 + 4 + 2


def test_the_backend_counts_what_it_would_read() -> None:
    counter = UPSTREAM_COUNTERS["anthropic"]
    assert counter.url("https://a.test/v1", "m") == "https://a.test/v1/messages/count_tokens"
    sent = counter.body(body(instructions="x", tools=[LOOK], temperature=0.2, safety_identifier="u"), "m")
    assert set(sent) == {"model", "messages", "system", "tools", "tool_choice"}
    assert counter.count_in({"input_tokens": 14}) == 14
