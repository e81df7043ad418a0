"""Settings of a request on their way: to the upstream, through its answer, and back in the response."""

from typing import Any

import orjson
import pytest

from tests.support.chat import DONE, chat_json, chat_stream, chunk, frame
from tests.support.checks import checked_response, checked_stream, output_text
from tests.support.client import Client, Json
from tests.support.upstream import ScriptedUpstream

SCHEMA: Json = {
    "type": "object",
    "properties": {"found": {"type": "boolean"}},
    "required": ["found"],
    "additionalProperties": False,
}
STOP = frame(chunk({}, finish="stop")) + DONE


def both(client: Client, upstream: ScriptedUpstream, body: bytes, **asked: Any) -> list[Json]:
    """The response to the same request as JSON and as a stream, each checked; they tell the same output."""
    upstream.reply(body=body)
    upstream.reply(body=body)
    answer = client.create(**asked)
    assert answer.status == 200, answer.body
    return [checked_response(client, answer.json()), checked_stream(client.read_stream(**asked), client)]


# ---------------------------------------------------------------- text.format


@pytest.mark.parametrize(("strict", "told"), [(True, True), (False, False), (None, False)])
def test_a_schema_reaches_the_upstream_whole_and_is_echoed_without_itself(
    friend: Client, upstream: ScriptedUpstream, strict: bool | None, told: bool
) -> None:
    form = {"type": "json_schema", "name": "verdict", "schema": SCHEMA, "strict": strict}
    for response in both(
        friend,
        upstream,
        chat_json('{"found": true}'),
        input="Is it there?",
        text={"format": form, "verbosity": "low"},
    ):
        assert response["text"] == {
            "format": {
                "type": "json_schema",
                "name": "verdict",
                "description": None,
                "schema": None,
                "strict": told,
            },
            "verbosity": "low",
        }
        assert orjson.loads(output_text(response)) == {"found": True}
    for request in upstream.requests():
        form_sent = request.body["response_format"]
        assert form_sent == {
            "type": "json_schema",
            "json_schema": {"name": "verdict", "schema": SCHEMA, "strict": told},
        }
        assert request.body["verbosity"] == "low"


def test_any_json_object_and_plain_text_are_asked_for_as_such(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_json('{"a": 1}'))
    asked = friend.create(input="Some JSON.", text={"format": {"type": "json_object"}})
    assert checked_response(friend, asked.json())["text"] == {"format": {"type": "json_object"}}
    assert upstream.requests()[-1].body["response_format"] == {"type": "json_object"}
    upstream.reply(body=chat_stream("a"))
    response = checked_response(
        friend, friend.create(input="Text.", text={"format": {"type": "text"}}).json()
    )
    assert response["text"] == {"format": {"type": "text"}}
    assert "response_format" not in upstream.requests()[-1].body


@pytest.mark.parametrize(
    ("form", "param"),
    [
        ({"type": "json_schema", "name": "two words", "schema": SCHEMA}, "text.format.name"),
        ({"type": "json_schema", "name": "n" * 65, "schema": SCHEMA}, "text.format.name"),
        ({"type": "json_schema", "name": "n", "schema": "object"}, "text.format.schema"),
        ({"type": "json_schema", "name": "n", "schema": SCHEMA, "strict": "yes"}, "text.format.strict"),
        ({"type": "regex"}, "text.format.type"),
    ],
)
def test_a_format_that_is_none_is_refused_by_its_path(
    friend: Client, upstream: ScriptedUpstream, form: Json, param: str
) -> None:
    answer = friend.create(input="x", text={"format": form})
    assert (answer.status, answer.error["type"], answer.error["param"]) == (400, "invalid_request", param)
    assert upstream.requests() == []


# ---------------------------------------------------------------- refusals


def test_a_refusal_is_told_piece_by_piece_and_never_as_text(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    said: list[Json] = [
        {"role": "assistant", "content": None, "refusal": ""},
        {"refusal": "I will "},
        {"refusal": "not."},
    ]
    upstream.reply(body=b"".join(frame(chunk(delta)) for delta in said) + STOP)
    exchange = friend.read_stream(input="x")
    response = checked_stream(exchange, friend)
    assert response["output"][0]["content"] == [{"type": "refusal", "refusal": "I will not."}]
    assert exchange.types[2:-1] == [
        "response.output_item.added",
        "response.content_part.added",
        "response.refusal.delta",
        "response.refusal.delta",
        "response.refusal.done",
        "response.content_part.done",
        "response.output_item.done",
    ]


def test_a_refusal_goes_back_to_the_model_as_one(friend: Client, upstream: ScriptedUpstream) -> None:
    upstream.reply(body=frame(chunk({"refusal": "Never."})) + STOP)
    first = friend.create(input="x").json()
    upstream.reply(body=chat_stream("Fine."))
    friend.create(input="Please.", previous_response_id=first["id"])
    assert upstream.requests()[-1].body["messages"][1] == {
        "role": "assistant",
        "content": None,
        "refusal": "Never.",
    }


# ---------------------------------------------------------------- metadata


@pytest.mark.parametrize(
    ("metadata", "param"),
    [
        ({f"k{number}": "v" for number in range(17)}, "metadata"),
        ({"k": "v" * 513}, "metadata.k"),
        ({"k" * 65: "v"}, "metadata"),
        ({"k": 1}, "metadata.k"),
        ({"k": None}, "metadata.k"),
        ({"k": {"a": "b"}}, "metadata.k"),
        ([], "metadata"),
    ],
)
def test_metadata_beyond_its_limits_is_refused(
    friend: Client, upstream: ScriptedUpstream, metadata: Any, param: str
) -> None:
    answer = friend.create(input="x", metadata=metadata)
    assert (answer.status, answer.error["type"], answer.error["param"]) == (400, "invalid_request", param)
    assert upstream.requests() == []


def test_metadata_up_to_its_limits_comes_back_as_it_was_and_the_upstream_sees_none(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    metadata = {f"{number:02}" + "ключ" * 15 + "..": "значение" * 64 for number in range(16)}
    for response in both(friend, upstream, chat_stream("a"), input="x", metadata=metadata):
        assert response["metadata"] == metadata
    assert "metadata" not in upstream.requests()[-1].body
    upstream.reply(body=chat_stream("a"))
    assert friend.create(input="x", metadata=None).json()["metadata"] == {}


# ---------------------------------------------------------------- max_output_tokens


def test_an_answer_cut_by_the_limit_of_tokens_is_incomplete_and_so_is_its_last_item(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    for response in both(
        friend, upstream, chat_stream("half", finish="length"), input="x", max_output_tokens=16
    ):
        assert (response["status"], response["max_output_tokens"]) == ("incomplete", 16)
        assert response["incomplete_details"] == {"reason": "max_output_tokens"}
        assert response["completed_at"] is None
        assert response["output"][-1]["status"] == "incomplete"
    assert upstream.requests()[0].body["max_tokens"] == 16


@pytest.mark.parametrize("limit", [15, 0, -1, 16.5, "16", True])
def test_a_limit_below_sixteen_or_that_is_no_number_is_refused(friend: Client, limit: Any) -> None:
    answer = friend.create(input="x", max_output_tokens=limit)
    assert (answer.status, answer.error["param"]) == (400, "max_output_tokens")


# ---------------------------------------------------------------- log probabilities

LOGPROB: Json = {
    "token": "Hi",
    "logprob": -0.25,
    "bytes": [72, 105],
    "top_logprobs": [{"token": "Ho", "logprob": -1.5, "bytes": [72, 111]}],
}


def test_log_probabilities_come_with_deltas_parts_and_get(friend: Client, upstream: ScriptedUpstream) -> None:
    told = chunk({"content": "Hi"})
    told["choices"][0]["logprobs"] = {"content": [LOGPROB]}
    upstream.reply(body=frame(told) + STOP)
    exchange = friend.read_stream(
        input="x",
        include=["message.output_text.logprobs"],
        top_logprobs=1,
        stream_options={"include_obfuscation": False},
    )
    response = checked_stream(exchange, friend)
    assert response["top_logprobs"] == 1
    assert response["output"][0]["content"][0]["logprobs"] == [LOGPROB]
    assert [event["logprobs"] for event in exchange.events if "logprobs" in event] == [[LOGPROB], [LOGPROB]]
    assert (upstream.requests()[0].body["logprobs"], upstream.requests()[0].body["top_logprobs"]) == (True, 1)


def test_no_log_probabilities_are_asked_for_unless_somebody_wants_them(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_stream("Hi"))
    response = friend.create(input="x", top_logprobs=0).json()
    assert response["top_logprobs"] == 0
    assert response["output"][0]["content"][0]["logprobs"] == []
    assert "logprobs" not in upstream.requests()[0].body
    for count in (21, -1, 1.5):
        assert friend.create(input="x", top_logprobs=count).error["param"] == "top_logprobs"


# ---------------------------------------------------------------- phase


def test_a_messages_phase_comes_back_where_it_was_given_and_is_nowhere_else(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_stream("Done."))
    said: list[Json] = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": "Looking.", "phase": "commentary"},
        {"role": "assistant", "content": "Found.", "phase": "final_answer"},
        {"role": "assistant", "content": "Indeed.", "phase": None},
        {"role": "user", "content": "y"},
    ]
    response = checked_response(friend, friend.create(input=said).json())
    assert "phase" not in response["output"][0]
    items = friend.get(f"/responses/{response['id']}/input_items?order=asc").json()["data"]
    assert [item.get("phase") for item in items] == [None, "commentary", "final_answer", None, None]
    assert ["phase" in item for item in items] == [False, True, True, False, False]
    assert all("phase" not in message for message in upstream.requests()[0].body["messages"])


# ---------------------------------------------------------------- service_tier


@pytest.mark.parametrize(
    ("wish", "got"),
    [(None, "default"), ("auto", "default"), ("default", "default"), ("priority", "priority")],
)
def test_the_response_tells_the_tier_it_got_everywhere(
    friend: Client, upstream: ScriptedUpstream, wish: str | None, got: str
) -> None:
    body = chat_stream("a", "b")
    upstream.reply(body=body, pause_at=body.index(b'"b"') - 40)
    exchange = friend.stream(input="x", service_tier=wish)
    exchange.read_event("response.output_text.delta")
    running = friend.get(f"/responses/{exchange.events[0]['response']['id']}").json()
    upstream.wait_request().resume()
    exchange.read_all()
    checked_stream(exchange, friend)
    told = [event["response"]["service_tier"] for event in exchange.events if "response" in event]
    assert {*told, running["service_tier"]} == {got}
    assert "service_tier" not in upstream.requests()[0].body


def test_an_unknown_tier_is_refused(friend: Client) -> None:
    answer = friend.create(input="x", service_tier="scale")
    assert (answer.status, answer.error["param"]) == (400, "service_tier")
