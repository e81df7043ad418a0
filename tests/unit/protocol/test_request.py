"""What a create request may say, and what it means."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.plain import Json
from responses_api.protocol.request import CreateRequest, parse_create

# The first values are slow to draw on a busy machine, which says nothing about the parser.
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

FUNCTION: Json = {"type": "function", "name": "f"}
CANONICAL_FUNCTION: Json = FUNCTION | {"description": None, "parameters": None, "strict": None}


def parse(**fields: Any) -> CreateRequest:
    return parse_create({"model": "m", "input": "hi", **fields})


def canonical(item: Json) -> Json:
    (parsed,) = parse(input=[item]).input
    return parsed


def user(*parts: Json) -> Json:
    return {"type": "message", "role": "user", "content": [*parts]}


def test_a_string_is_one_user_message() -> None:
    assert parse(input="hi").input == [user({"type": "input_text", "text": "hi"})]


def test_nulls_mean_the_defaults() -> None:
    fields = CreateRequest.__dataclass_fields__
    nulls = {name: None for name in fields if name not in ("model", "input")}
    assert parse(**nulls) == parse()


def test_the_defaults_are_the_published_ones() -> None:
    request = parse()
    assert request.store
    assert request.parallel_tool_calls
    assert not request.stream
    assert not request.background
    assert request.tool_choice == "auto"
    assert request.truncation == "disabled"
    assert request.service_tier == "auto"
    assert request.text == {"format": {"type": "text"}}
    assert (request.metadata, request.include, request.tools) == ({}, [], [])
    assert request.temperature is None


def test_unknown_fields_are_ignored_at_every_level() -> None:
    part = {"type": "input_text", "text": "x", "cache_control": {}}
    request = parse(
        input=[user(part) | {"extra": 1}],
        conversation=None,
        client_metadata={"a": 1},
        user=None,
        reasoning={"effort": "low", "generate_summary": "auto"},
        tools=[FUNCTION | {"defer_loading": True}],
    )
    assert request.input == [user({"type": "input_text", "text": "x"})]
    assert request.reasoning == {"effort": "low", "summary": None}
    assert request.tools == [CANONICAL_FUNCTION]


def test_a_request_crosses_as_plain_json() -> None:
    request = parse(tools=[FUNCTION], metadata={"a": "b"}, temperature=1)
    assert CreateRequest.from_plain(json.loads(json.dumps(request.to_plain()))) == request


def test_an_integer_may_be_written_with_a_fraction_of_zero() -> None:
    assert parse(max_output_tokens=16.0, top_logprobs=2.0) == parse(max_output_tokens=16, top_logprobs=2)
    assert isinstance(parse(max_output_tokens=16.0).max_output_tokens, int)


def test_only_a_continuation_may_leave_the_input_empty() -> None:
    empties: list[Any] = [None, "", []]
    for empty in empties:
        assert parse(input=empty, previous_response_id="resp_1").input == []
    assert parse_create({"model": "m", "previous_response_id": "resp_1"}).input == []


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ({"role": "user", "content": "x"}, user({"type": "input_text", "text": "x"})),
        (
            {"type": None, "role": "user", "content": [], "status": "completed", "id": "mine"},
            user(),
        ),
        (
            {"role": "developer", "content": "x"},
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "x"}]},
        ),
        (
            {"role": "assistant", "content": "x", "phase": None},
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "x", "annotations": []}],
            },
        ),
        (
            {
                "type": "message",
                "id": "msg_1",
                "status": "completed",
                "role": "assistant",
                "phase": "final_answer",
                "content": [
                    {"type": "output_text", "text": "x", "annotations": None, "logprobs": [], "parsed": None},
                    {"type": "refusal", "refusal": "no"},
                ],
            },
            {
                "type": "message",
                "role": "assistant",
                "content": [
                    {"type": "output_text", "text": "x", "annotations": []},
                    {"type": "refusal", "refusal": "no"},
                ],
                "phase": "final_answer",
            },
        ),
        (
            {"type": "reasoning", "id": "rs_1", "summary": [], "content": None, "encrypted_content": None},
            {"type": "reasoning", "summary": []},
        ),
        (
            {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "r"}]},
            {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "r"}]},
        ),
        (
            {
                "type": "function_call",
                "id": "fc_1",
                "status": "completed",
                "call_id": "c",
                "name": "f",
                "arguments": "{}",
                "parsed_arguments": {},
            },
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        ),
        ({"type": "item_reference", "id": "msg_1"}, {"type": "item_reference", "id": "msg_1"}),
        ({"id": "msg_1"}, {"type": "item_reference", "id": "msg_1"}),
        (
            {"type": "compaction", "id": "cmp_1", "encrypted_content": "x", "created_by": "me"},
            {"type": "compaction", "encrypted_content": "x"},
        ),
        (
            {"type": "acme:thing", "id": "a_1", "status": "failed", "deep": [{"null": None}]},
            {"type": "acme:thing", "status": "failed", "deep": [{"null": None}]},
        ),
    ],
)
def test_items_become_canonical(sent: Json, expected: Json) -> None:
    assert canonical(sent) == expected
    assert canonical(canonical(sent)) == expected


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (
            {"type": "input_image", "image_url": "https://h/i.png", "detail": None, "file_id": None},
            {"type": "input_image", "image_url": "https://h/i.png"},
        ),
        (
            {"type": "input_image", "image_url": {"url": "data:image/png;base64,AAAA"}, "detail": "low"},
            {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "low"},
        ),
        (
            {"type": "input_file", "filename": None, "file_url": "https://h/f.pdf"},
            {"type": "input_file", "file_url": "https://h/f.pdf"},
        ),
        (
            {"type": "input_file", "file_id": "file_1", "file_data": None},
            {"type": "input_file", "file_id": "file_1"},
        ),
        (
            {"type": "input_image", "file_id": "file_1"},
            {"type": "input_image", "file_id": "file_1", "image_url": None},
        ),
    ],
)
def test_parts_become_canonical_in_messages_and_tool_outputs(sent: Json, expected: Json) -> None:
    assert canonical(user(sent)) == user(expected)
    answer: Json = {"type": "function_call_output", "call_id": "c"}
    assert canonical(answer | {"output": [sent]}) == answer | {"output": [expected]}


def test_a_tool_may_answer_with_a_video() -> None:
    answer = {
        "type": "function_call_output",
        "call_id": "c",
        "output": [{"type": "input_video", "video_url": "https://h/v"}],
    }
    assert canonical(answer) == answer


def test_tools_and_choices_become_canonical() -> None:
    allowed = {"type": "allowed_tools", "tools": [FUNCTION]}
    assert parse(tools=[FUNCTION]).tools == [CANONICAL_FUNCTION]
    assert parse(tools=[FUNCTION], tool_choice=FUNCTION).tool_choice == FUNCTION
    assert parse(tools=[FUNCTION], tool_choice=allowed).tool_choice == allowed | {"mode": "auto"}
    assert parse(tools=[FUNCTION], tool_choice="required").tool_choice == "required"


@pytest.mark.parametrize(
    ("options", "obfuscates"),
    [
        (None, True),
        ({}, True),
        ({"include_obfuscation": None}, True),
        ({"include_obfuscation": False}, False),
        ({"include_obfuscation": True}, True),
    ],
)
def test_a_stream_is_padded_unless_the_client_says_no(options: object, obfuscates: bool) -> None:
    assert parse(stream=True, stream_options=options).obfuscates is obfuscates
    assert not parse(stream=False, stream_options=options).obfuscates


def test_a_schema_without_a_type_is_a_format_by_schema() -> None:
    form = {"name": "n", "schema": {"type": "object"}}
    for sent in (form, {**form, "type": None}, {**form, "type": "json_schema"}):
        assert parse(text={"format": sent}).text["format"] == {
            **form,
            "type": "json_schema",
            "description": None,
            "strict": False,
        }


@pytest.mark.parametrize("kind", ["acme:search", "web_search"])
def test_tools_of_other_types_are_kept_whole(kind: str) -> None:
    tool = {"type": kind, "depth": 3}
    assert parse(tools=[tool], tool_choice={"type": kind}).tools == [tool]


def test_a_schema_format_keeps_its_schema() -> None:
    form = {"type": "json_schema", "name": "n", "schema": {"type": "object"}, "strict": None}
    assert parse(text={"format": form, "verbosity": None}).text == {
        "format": form | {"description": None, "strict": False}
    }


def test_the_body_is_left_untouched() -> None:
    body = {
        "model": "m",
        "input": [
            {"type": "acme:x", "id": "1"},
            user({"type": "input_image", "image_url": "http://h", "detail": None}),
        ],
    }
    before = json.dumps(body)
    parse_create(body)
    assert json.dumps(body) == before


def parsed_or_refused(body: Json) -> CreateRequest | ProtocolError:
    try:
        return parse_create(body)
    except ProtocolError as error:
        return error


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["message", "user", "function"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["type", "role", "content", "id", "name", "format", "tools", "image_url"])
            | st.text(),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@patient
@given(st.dictionaries(st.sampled_from([*CreateRequest.__dataclass_fields__]), json_values))
def test_arbitrary_json_is_parsed_or_refused_and_nothing_else(body: Json) -> None:
    outcome = parsed_or_refused({"model": "m", "input": "hi"} | body)
    if isinstance(outcome, CreateRequest):
        assert parse_create(outcome.to_plain()) == outcome
    else:
        assert (outcome.status, outcome.type) == (400, "invalid_request")
        assert outcome.message


@patient
@given(json_values)
def test_arbitrary_bodies_never_break_the_parser(body: object) -> None:
    with pytest.raises(ProtocolError):
        parse_create(body)
