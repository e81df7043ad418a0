"""Jobs as Responses bodies: what is sent, what is left out, what is refused."""

from typing import Any

import pytest

from responses_api.protocol import own_fields
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.job import STATE, Job
from responses_api.protocol.plain import Json
from tests.unit.workers.builders import make_job
from workers.backends.registry import adapter_for
from workers.backends.responses.chaining import shorten
from workers.backends.responses.request import build

LOOK: Json = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}}
SEARCH: Json = {"type": "web_search", "search_context_size": "low"}
SCHEMA: Json = {"type": "json_schema", "name": "place", "schema": {"type": "object"}, "strict": True}
THOUGHT: Json = {"type": "reasoning", "id": "rs_up", "summary": [], "encrypted_content": "gAAA"}


def job(*, features: list[str] | None = None, passes: list[str] | None = None, **fields: Any) -> Job:
    row = {"kind": "responses", "native_features": features or [], "passthrough_tool_types": passes or []}
    return make_job(row=row, **fields)


def body(**fields: Any) -> Json:
    return build(job(**fields))


def test_a_plain_request_says_no_more_than_it_must() -> None:
    part = {"type": "input_text", "text": "hello"}
    assert body() == {
        "model": "sparrow-7b",
        "input": [{"type": "message", "role": "user", "content": [part]}],
        "stream": True,
        "store": False,
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("instructions", "Be brief."),
        ("temperature", 0.0),
        ("top_p", 0.5),
        ("presence_penalty", 0.0),
        ("frequency_penalty", 1.0),
        ("max_output_tokens", 16),
        ("safety_identifier", "user-1"),
        ("prompt_cache_key", "cache-1"),
    ],
)
def test_settings_are_sent_under_their_names(name: str, value: Any) -> None:
    assert body(**{name: value})[name] == value


def test_the_services_own_settings_are_not_sent() -> None:
    sent = body(
        metadata={"a": "b"},
        truncation="auto",
        service_tier="flex",
        max_tool_calls=3,
        background=True,
        parallel_tool_calls=False,
        include=["reasoning.encrypted_content"],
    )
    assert set(sent) == {"model", "input", "stream", "store"}


def test_the_effort_of_reasoning_and_the_wish_for_a_summary_are_sent() -> None:
    assert body(reasoning={"effort": "high", "summary": "auto"})["reasoning"] == {
        "effort": "high",
        "summary": "auto",
    }
    assert body(reasoning={"effort": "low"})["reasoning"] == {"effort": "low"}


def test_log_probabilities_are_asked_for() -> None:
    asked = body(top_logprobs=2)
    assert (asked["include"], asked["top_logprobs"]) == (["message.output_text.logprobs"], 2)
    assert body(include=["message.output_text.logprobs"])["include"] == ["message.output_text.logprobs"]


@pytest.mark.parametrize(
    ("fields", "param"),
    [({"top_logprobs": 2}, "top_logprobs"), ({"include": ["message.output_text.logprobs"]}, "include")],
)
def test_log_probabilities_are_refused_where_none_are_told(fields: Json, param: str) -> None:
    with pytest.raises(ProtocolError) as refused:
        body(features=["response_format"], **fields)
    assert (refused.value.status, refused.value.param) == (400, param)


def test_encrypted_reasoning_is_asked_for_where_the_row_has_it() -> None:
    assert body(features=["encrypted_content"])["include"] == ["reasoning.encrypted_content"]


def test_the_form_of_the_answer_is_sent_whole() -> None:
    sent = body(text={"format": SCHEMA, "verbosity": "low"})
    assert sent["text"] == {"format": SCHEMA, "verbosity": "low"}
    assert "response_format" not in sent
    assert body(text={"format": {"type": "text"}, "verbosity": "low"})["text"] == {"verbosity": "low"}


def test_a_server_that_reads_response_format_gets_it_too() -> None:
    schema = {"name": "place", "schema": {"type": "object"}, "strict": True}
    sent = body(text={"format": SCHEMA}, features=["response_format"])
    assert sent["response_format"] == {"type": "json_schema", "json_schema": schema}
    assert sent["text"] == {"format": SCHEMA}
    sent = body(text={"format": {"type": "json_object"}}, features=["response_format"])
    assert sent["response_format"] == {"type": "json_object"}
    assert "response_format" not in body(features=["response_format"])


def test_functions_are_sent_without_what_is_unset() -> None:
    sent = body(tools=[LOOK], parallel_tool_calls=False, max_tool_calls=2)
    assert sent["tools"] == [LOOK]
    assert (sent["tool_choice"], sent["parallel_tool_calls"]) == ("auto", False)
    assert "max_tool_calls" not in sent


def test_tools_of_other_types_are_sent_as_they_are_where_the_row_names_them() -> None:
    sent = body(
        tools=[LOOK, SEARCH], passes=["web_search"], max_tool_calls=2, tool_choice={"type": "web_search"}
    )
    assert sent["tools"] == [LOOK, SEARCH]
    assert (sent["tool_choice"], sent["max_tool_calls"]) == ({"type": "web_search"}, 2)
    with pytest.raises(ProtocolError) as refused:
        body(tools=[LOOK, SEARCH])
    assert (refused.value.status, refused.value.param) == (400, "tools[1].type")


@pytest.mark.parametrize("choice", ["none", "required", {"type": "function", "name": "look"}])
def test_choices_are_sent_as_they_are(choice: Any) -> None:
    assert body(tools=[LOOK], tool_choice=choice)["tool_choice"] == choice


def test_allowed_tools_become_their_mode_where_the_row_does_not_have_them() -> None:
    allowed = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "look"}]}
    assert body(tools=[LOOK], tool_choice=allowed)["tool_choice"] == "required"
    assert body(tools=[LOOK], tool_choice=allowed, features=["allowed_tools"])["tool_choice"] == allowed


# ---------------------------------------------------------------------- items


def test_a_conversation_is_sent_item_by_item() -> None:
    image = {"type": "input_image", "image_url": "https://example.org/a.png", "detail": "low"}
    given: list[Json] = [
        {"role": "developer", "content": "Be kind."},
        {"role": "user", "content": [{"type": "input_text", "text": "See"}, image]},
        {"role": "assistant", "content": "I see.", "phase": "commentary"},
        {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "4C"}]},
    ]
    sent = body(input=given)["input"]
    assert sent[0] == {
        "type": "message",
        "role": "developer",
        "content": [{"type": "input_text", "text": "Be kind."}],
    }
    assert sent[1]["content"] == [{"type": "input_text", "text": "See"}, image]
    assert sent[2] == {
        "type": "message",
        "id": "in_2",
        "status": "completed",
        "role": "assistant",
        "phase": "commentary",
        "content": [{"type": "output_text", "text": "I see.", "annotations": []}],
    }
    assert sent[3:] == given[3:]


def test_an_answer_that_says_nothing_and_log_probabilities_are_left_out() -> None:
    parts = [{"type": "output_text", "text": "Hi", "annotations": [], "logprobs": [{"token": "Hi"}]}]
    history: list[Json] = [
        {"type": "message", "id": "m", "role": "assistant", "content": []},
        {"type": "message", "id": "m", "role": "assistant", "content": parts},
    ]
    first, _ = body(history=history)["input"]
    assert first["content"] == [{"type": "output_text", "text": "Hi", "annotations": []}]


@pytest.mark.parametrize("id", [{}, {"id": None}])
def test_a_message_that_the_service_wrote_has_no_id(id: Json) -> None:
    written = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "A summary."}],
    }
    sent, _ = body(history=[{**written, **id}])["input"]
    assert sent == {**written, "status": "completed"}


def test_only_the_reasoning_of_the_same_backend_is_sent_as_it_was() -> None:
    told = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]}
    assert body(history=[told])["input"][0]["type"] == "message"
    assert body(history=[{**told, STATE: [{"item": THOUGHT}, {"item": {**THOUGHT, "id": "rs_2"}}]}])["input"][
        :2
    ] == [
        THOUGHT,
        {**THOUGHT, "id": "rs_2"},
    ]


def test_items_of_other_types_are_sent_under_the_id_of_their_backend() -> None:
    searched = {"type": "web_search_call", "id": "item_1", "status": "completed", "action": {"query": "x"}}
    known = {**searched, STATE: {"id": "ws_up"}}
    other = {"type": "acme:note", "id": "item_2"}
    sent = body(history=[searched, known, other], passes=["web_search"])["input"]
    assert sent[0] == {"type": "web_search_call", "status": "completed", "action": {"query": "x"}}
    assert sent[1] == {**sent[0], "id": "ws_up"}
    assert len(sent) == 3


def test_a_conversation_with_nothing_to_say_is_refused() -> None:
    with pytest.raises(ProtocolError) as refused:
        body(input=[{"type": "acme:note"}])
    assert (refused.value.status, refused.value.param) == (400, "input")


# ---------------------------------------------------------------------- what the backend stores


def kept(place: int) -> Json:
    return {"type": "reasoning", "id": "rs", "summary": [], STATE: [{"response": "resp_up", "items": place}]}


USER: Json = {"type": "message", "id": "u", "role": "user", "content": [{"type": "input_text", "text": "1"}]}
SAID: Json = {
    "type": "message",
    "id": "m",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "One.", "annotations": []}],
}
STORES = ["previous_response_id"]


def shortened(history: list[Json], **fields: Any) -> Json | None:
    asked = job(history=history, **{"features": STORES, **fields})
    return shorten(asked, build(asked))


def test_only_what_is_new_is_sent_to_who_knows_the_rest() -> None:
    short = shortened([USER, kept(1), SAID])
    assert short is not None
    assert (short["previous_response_id"], short["store"]) == ("resp_up", True)
    assert [item["role"] for item in short["input"]] == ["user"]


@pytest.mark.parametrize(
    "history",
    [
        [],
        [USER, SAID],
        [USER, kept(2), SAID],  # something before it is not there any more
        [USER, kept(1), SAID, USER, SAID],  # another backend has answered since
    ],
)
def test_all_is_sent_where_it_is_not_certainly_the_same_conversation(history: list[Json]) -> None:
    assert shortened(history) is None


def test_a_row_without_it_and_a_request_that_is_not_stored_know_no_such_thing() -> None:
    history = [USER, kept(1), SAID]
    assert shortened(history, features=[]) is None
    assert shortened(history, store=False) is None
    assert body(features=STORES, store=False)["store"] is False


# ---------------------------------------------------------------------- the rest


def test_what_a_model_reads_is_counted() -> None:
    adapter = adapter_for("responses")
    little = adapter.read(body(input="Hello there")).count()
    more = adapter.read(
        body(
            input=[
                {
                    "role": "user",
                    "content": [{"type": "input_image", "image_url": "https://a.test/", "detail": "low"}],
                },
                {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c", "output": "4C"},
                {"type": "acme:note", "text": "A long note of a vendor."},
            ],
            history=[{"type": "reasoning", "summary": [], STATE: [{"item": {**THOUGHT, "content": []}}]}],
            instructions="Be brief.",
            tools=[LOOK],
            text={"format": SCHEMA},
            passes=["acme:*"],
        )
    ).count()
    assert 5 < little < more
    assert more > 85


def test_clients_cannot_set_what_the_service_decides() -> None:
    assert set(body(features=STORES, tools=[LOOK], text={"format": SCHEMA})) <= own_fields.RESPONSES


@pytest.mark.parametrize("state", [{"id": "ws_of_another"}, "an id", ["id"], None])
def test_no_client_says_under_which_id_a_backend_knows_an_item(state: Any) -> None:
    given = {"type": "acme:thing", "state": state, STATE: state, "id": "mine"}
    sent = body(input=[given], passes=["acme:*"])["input"]
    assert sent == [{"type": "acme:thing", "state": state}]
