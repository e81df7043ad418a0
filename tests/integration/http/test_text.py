"""A text answer, as JSON and as a stream: what arrives, what reaches the upstream, what GET tells later."""

import pytest
from pytest_django import Settings

from tests.integration.fixtures import UPSTREAM_KEY, UPSTREAM_MODEL
from tests.support.chat import chat_json, chat_stream
from tests.support.checks import assert_unknown_to, checked_response, checked_stream, output_text
from tests.support.client import Client, Json
from tests.support.upstream import ScriptedUpstream

WORDS = ("Say", "  hello", "\n\n", "twice — ", "in two\u2028lines", " 🙂", "\ufffd")
SECOND_WORD = chat_stream("first", " second").index(b" second") - 40


def test_json_tells_the_answer_and_get_tells_the_same(
    friend: Client, stranger: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_stream(*WORDS, usage=(11, 6)))
    answer = friend.create(input="Hello", instructions="Be kind", metadata={"a": "b"}, temperature=0.5)
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    response = checked_response(friend, answer.json())
    assert response["status"] == "completed"
    assert output_text(response) == "".join(WORDS)
    assert response["usage"]["total_tokens"] == 17
    assert (response["metadata"], response["temperature"]) == ({"a": "b"}, 0.5)
    assert_unknown_to(stranger, response["id"])


def test_a_stream_tells_the_answer_and_get_tells_the_same(
    friend: Client, stranger: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_stream(*WORDS, usage=(11, 6)))
    exchange = friend.read_stream(input="Hello")
    response = checked_stream(exchange, friend)
    assert output_text(response) == "".join(WORDS)
    assert response["usage"]["total_tokens"] == 17
    assert exchange.headers["cache-control"] == "no-cache"
    assert_unknown_to(stranger, response["id"])


def test_text_arrives_while_the_upstream_still_writes(friend: Client, upstream: ScriptedUpstream) -> None:
    upstream.reply(body=chat_stream("first", " second"), pause_at=SECOND_WORD)
    exchange = friend.stream(input="Hello")
    assert exchange.read_event("response.output_text.delta")["delta"] == "first"
    upstream.wait_request().resume()
    exchange.read_all()
    assert output_text(checked_stream(exchange, friend)) == "first second"


def test_silence_is_filled_with_comments(
    friend: Client, upstream: ScriptedUpstream, settings: Settings
) -> None:
    settings.KEEP_ALIVE_SECONDS = 0.05
    upstream.reply(body=chat_stream("first", " second"), pause_at=SECOND_WORD)
    exchange = friend.stream(input="Hello")
    exchange.read_until(lambda seen: seen.raw.count(b": keep-alive\n\n") >= 2)
    upstream.wait_request().resume()
    exchange.read_all()
    assert output_text(checked_stream(exchange, friend)) == "first second"


def test_a_slow_upstream_does_not_keep_the_client_without_a_sign_of_life(
    friend: Client, upstream: ScriptedUpstream, settings: Settings
) -> None:
    settings.START_SECONDS = 0.05
    upstream.reply(body=chat_stream("late"), delay_ms=300)
    exchange = friend.stream(input="Hello")
    exchange.read_event("response.in_progress")
    assert "response.output_item.added" not in exchange.types
    exchange.read_all()
    assert output_text(checked_stream(exchange, friend)) == "late"


def test_a_response_that_runs_can_be_seen_but_not_deleted_or_continued(
    friend: Client, stranger: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_stream("first", " second"), pause_at=SECOND_WORD)
    exchange = friend.stream(input="Hello")
    response_id = exchange.read_event("response.created")["response"]["id"]
    assert friend.get(f"/responses/{response_id}").json()["status"] == "in_progress"
    assert len(friend.get(f"/responses/{response_id}/input_items").json()["data"]) == 1
    assert friend.delete(f"/responses/{response_id}").status == 409
    answer = friend.create(input="Go on", previous_response_id=response_id)
    assert (answer.status, answer.error["code"]) == (409, "response_in_progress")
    assert_unknown_to(stranger, response_id)
    upstream.wait_request().resume()
    exchange.read_all()
    checked_stream(exchange, friend)
    assert friend.create(input="Go on", previous_response_id=response_id).status == 200


@pytest.mark.parametrize("stream", [False, True])
def test_an_upstream_may_answer_in_json(stream: bool, friend: Client, upstream: ScriptedUpstream) -> None:
    upstream.reply(body=chat_json("all at once", usage=(3, 4)))
    if stream:
        response = checked_stream(friend.read_stream(input="Hello"), friend)
    else:
        response = checked_response(friend, friend.create(input="Hello").json())
    assert output_text(response) == "all at once"
    assert response["usage"]["total_tokens"] == 7


def test_an_upstream_may_cut_its_bytes_anywhere(friend: Client, upstream: ScriptedUpstream) -> None:
    upstream.reply(body=chat_stream(*WORDS), chunks="every-byte")
    assert output_text(checked_stream(friend.read_stream(input="Hello"), friend)) == "".join(WORDS)


def test_the_upstream_gets_its_own_model_name_and_key_and_the_instructions_first(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    friend.create(input=[{"role": "developer", "content": "Rhyme"}, {"content": "Hi", "role": "user"}])
    friend.create(input="Hi", instructions="Be a pirate")
    first, second = upstream.requests()
    assert first.model == UPSTREAM_MODEL
    assert first.headers["authorization"] == f"Bearer {UPSTREAM_KEY}"
    assert [message["role"] for message in first.body["messages"]] == ["system", "user"]
    assert second.body["messages"][0] == {"role": "system", "content": "Be a pirate"}
    assert friend.key is not None
    assert friend.key not in str(first.headers) + first.raw.decode()


def test_the_whole_chain_reaches_the_upstream_without_old_instructions(
    friend: Client, stranger: Client, upstream: ScriptedUpstream
) -> None:
    first = friend.create(input="My name is Alice.", instructions="Be brief").json()
    second = checked_response(
        friend, friend.create(input="And I am 30.", previous_response_id=first["id"]).json()
    )
    third = friend.create(input="Who am I?", previous_response_id=second["id"])
    assert third.json()["previous_response_id"] == second["id"]
    sent = [(message["role"], message["content"]) for message in upstream.requests()[-1].body["messages"]]
    assert sent == [
        ("user", "My name is Alice."),
        ("assistant", "You said: My name is Alice."),
        ("user", "And I am 30."),
        ("assistant", "You said: And I am 30."),
        ("user", "Who am I?"),
    ]
    assert stranger.create(input="Who?", previous_response_id=second["id"]).status == 400
    assert len(upstream.requests()) == 3


def test_input_may_be_empty_where_there_is_something_to_go_on_from(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    first = friend.create(input="Hello").json()
    assert friend.create(previous_response_id=first["id"]).status == 200
    assert friend.create().error["param"] == "input"
    assert len(upstream.requests()) == 2


def test_a_length_stop_is_incomplete_and_can_be_continued(friend: Client, upstream: ScriptedUpstream) -> None:
    upstream.reply(body=chat_stream("Once upon", finish="length"))
    exchange = friend.read_stream(input="Tell")
    response = checked_stream(exchange, friend)
    assert exchange.types[-1] == "response.incomplete"
    assert response["incomplete_details"] == {"reason": "max_output_tokens"}
    assert response["output"][-1]["status"] == "incomplete"
    assert friend.create(input="Go on", previous_response_id=response["id"]).status == 200


def test_a_content_filter_stop_is_incomplete(friend: Client, upstream: ScriptedUpstream) -> None:
    upstream.reply(body=chat_stream("Once upon", finish="content_filter"))
    response = checked_response(friend, friend.create(input="Tell").json())
    assert (response["status"], response["incomplete_details"]) == (
        "incomplete",
        {"reason": "content_filter"},
    )


def test_what_is_not_stored_is_not_found_and_cannot_be_continued(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    streamed = checked_stream(friend.read_stream(input="Hello", store=False))
    whole = friend.create(input="Hello", store=False).json()
    for response in (streamed, whole):
        assert response["store"] is False
        assert_unknown_to(friend, response["id"])
    assert friend.get("/responses").json()["data"] == []


@pytest.mark.parametrize("path", ["/responses", "/responses/"])
def test_a_trailing_slash_changes_nothing(path: str, friend: Client) -> None:
    answer = friend.request("POST", path, {"model": friend.model, "input": "Hello"})
    response = checked_response(friend, answer.json())
    assert friend.get(f"/responses/{response['id']}/").json() == response
    assert friend.get(path).json()["data"] == [response]
    assert friend.get(f"/responses/{response['id']}/input_items/").status == 200


@pytest.mark.parametrize("accept", ["application/json", "*/*", "text/html", "nonsense"])
def test_what_a_client_accepts_changes_nothing(accept: str, friend: Client) -> None:
    body = {"model": friend.model, "input": "Hello", "stream": True}
    with friend.open("POST", "/responses", body, {"accept": accept}) as exchange:
        exchange.read_all()
    checked_stream(exchange)
    answer = friend.request("GET", "/responses", headers={"accept": accept})
    assert answer.status == 200


def test_many_at_once_all_end_well_each_with_its_own(friend: Client) -> None:
    exchanges = [friend.stream(input=f"number {index}") for index in range(30)]
    for index, exchange in enumerate(exchanges):
        exchange.read_all()
        assert output_text(checked_stream(exchange)) == f"You said: number {index}"


@pytest.mark.parametrize("options", [{}, {"stream_options": {"include_obfuscation": False}}])
def test_deltas_are_padded_unless_the_client_says_no(
    options: Json, friend: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_stream(*"abcdefgh"))
    exchange = friend.read_stream(input="Hello", **options)
    checked_stream(exchange, friend)
    deltas = [event for event in exchange.events if event["type"] == "response.output_text.delta"]
    assert len(deltas) == 8
    assert all(("obfuscation" in event) != bool(options) for event in deltas)
