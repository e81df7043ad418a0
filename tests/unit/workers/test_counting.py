"""Counting tokens here: what a model reads of a Chat Completions body, and what it costs."""

import pytest

from responses_api.protocol.plain import Json
from tests.unit.workers.builders import make_job
from workers.backends.chat_completions import reading, request
from workers.backends.counting import UPSTREAM_COUNTERS, Reading

TOOL: Json = {"type": "function", "name": "lookup", "parameters": {"type": "object", "properties": {}}}


def tokens(**fields: object) -> int:
    return reading.read(request.build(make_job(**fields))).count()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "count"),
    # As tiktoken's o200k_base has them.
    [
        ("", 0),
        ("hello world", 2),
        ("<|endoftext|>", 7),
        ("Größenwahn", 5),
        ("漢字", 2),
        ("def f(x):\n    return x", 7),
        ("🙂", 1),
    ],
)
def test_texts_are_counted_in_the_vocabulary(text: str, count: int) -> None:
    assert Reading([text]).count() == count


def test_a_request_costs_its_texts_four_for_each_message_and_three_for_the_answer() -> None:
    assert tokens(input="hello world") == 2 + 4 + 3
    assert tokens(input="hello world", instructions="hello world") == 2 * (2 + 4) + 3


def test_history_is_counted_with_the_input() -> None:
    before: list[Json] = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello world"}]},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "hello world", "annotations": []}],
        },
    ]
    assert tokens(input="hello world", history=before) == 3 * (2 + 4) + 3


def test_tools_and_an_answers_schema_are_counted_as_their_json() -> None:
    plain = tokens(input="hello")
    with_tool = tokens(input="hello", tools=[TOOL])
    longer = tokens(input="hello", tools=[{**TOOL, "description": "hello world"}])
    assert plain < with_tool < longer
    form = {"type": "json_schema", "name": "answer", "schema": {"type": "object"}}
    assert tokens(input="hello", text={"format": form}) > plain
    assert tokens(input="hello", text={"format": {"type": "json_object"}}) == plain


def test_calls_and_their_outputs_are_counted() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "lookup", "arguments": '{"a": 1}'}
    output = {"type": "function_call_output", "call_id": "c", "output": "hello world"}
    question = {"role": "user", "content": "hello world"}
    name_and_arguments = Reading(["lookup", '{"a": 1}']).count()
    assert tokens(input=[question, call, output]) == tokens(input="hello world") + (
        4 + 3 + name_and_arguments + 4 + 2
    )


@pytest.mark.parametrize(("detail", "cost"), [("low", 85), ("high", 765), (None, 765)])
def test_an_image_costs_what_its_detail_says_and_not_what_its_address_is_long(
    detail: str | None, cost: int
) -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64," + "A" * 9000, "detail": detail}
    text = {"type": "input_text", "text": "hello world"}
    with_image = tokens(input=[{"role": "user", "content": [text, image]}])
    assert with_image == tokens(input="hello world") + cost


def test_a_file_costs_a_token_for_four_bytes_and_its_name() -> None:
    file = {"type": "input_file", "filename": "hello world", "file_data": "A" * 1600}
    text = {"type": "input_text", "text": "hello world"}
    assert tokens(input=[{"role": "user", "content": [text, file]}]) == tokens(input="hello world") + 300 + 2


def test_a_refusal_of_the_model_is_read_again() -> None:
    said = {"role": "assistant", "content": [{"type": "refusal", "refusal": "hello world"}]}
    question = {"role": "user", "content": "hello world"}
    assert tokens(input=[question, said, question]) == 3 * (2 + 4) + 3


def test_a_million_characters_without_a_gap_are_counted_at_once() -> None:
    assert Reading(["a" * 1_000_000]).count() == 125_000


@pytest.mark.parametrize(
    ("name", "base_url", "url"),
    [
        ("llama_cpp", "http://h:1/v1", "http://h:1/v1/chat/completions/input_tokens"),
        ("vllm", "http://h:1/v1", "http://h:1/tokenize"),
        ("vllm", "http://h:1/models/v1", "http://h:1/models/tokenize"),
        ("vllm", "http://h:1", "http://h:1/tokenize"),
    ],
)
def test_a_backend_counts_at_an_address_of_its_own(name: str, base_url: str, url: str) -> None:
    assert UPSTREAM_COUNTERS[name].url(base_url, "sparrow") == url


@pytest.mark.parametrize("answer", [{}, [], None, {"count": "7"}, {"count": -1}, {"count": True}])
def test_an_answer_without_a_count_is_none(answer: object) -> None:
    with pytest.raises(ValueError, match="'count'"):
        UPSTREAM_COUNTERS["vllm"].count_in(answer)
