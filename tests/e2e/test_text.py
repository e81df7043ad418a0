"""A text answer, as JSON and as a stream: what arrives, what reaches the upstream, what GET tells later."""

import pytest

from tests.support.chat import chat_json, chat_stream
from tests.support.checks import assert_unknown_to, checked_response, checked_stream, output_text
from tests.support.client import Client
from tests.support.service import UPSTREAM_KEY, UPSTREAM_MODEL
from tests.support.upstream import ScriptedUpstream

WORDS = ("Say", "  hello", "\n\n", "twice — ", "in two\u2028lines", " 🙂")


def test_json_tells_the_answer_and_get_tells_the_same(
    friend: Client, stranger: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_stream(*WORDS, usage=(11, 6)))
    answer = friend.create(input="Hello", instructions="Be kind", metadata={"a": "b"}, temperature=0.5)
    assert answer.status == 200
    response = checked_response(friend, answer.json())
    assert response["status"] == "completed"
    assert output_text(response) == "".join(WORDS)
    assert (response["usage"]["input_tokens"], response["usage"]["output_tokens"]) == (11, 6)
    assert (response["metadata"], response["temperature"]) == ({"a": "b"}, 0.5)
    assert_unknown_to(stranger, response["id"])


def test_a_stream_tells_the_answer_and_get_tells_the_same(
    friend: Client, stranger: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_stream(*WORDS, usage=(11, 6)))
    exchange = friend.read_stream(input="Hello")
    response = checked_stream(exchange, friend)
    assert output_text(response) == "".join(WORDS)
    assert "".join(e["delta"] for e in exchange.events if e["type"].endswith("text.delta")) == "".join(WORDS)
    assert response["usage"]["total_tokens"] == 17
    assert_unknown_to(stranger, response["id"])


def test_text_arrives_while_the_upstream_still_writes(friend: Client, upstream: ScriptedUpstream) -> None:
    body = chat_stream("first", " second")
    upstream.reply(body=body, pause_at=body.index(b" second") - 40)
    with friend.stream(input="Hello") as exchange:
        assert exchange.read_event("response.output_text.delta")["delta"] == "first"
        upstream.wait_request().resume()
        exchange.read_all()
    assert output_text(checked_stream(exchange, friend)) == "first second"


def test_get_finds_the_response_as_soon_as_its_end_is_told(friend: Client) -> None:
    with friend.stream(input="Hello") as exchange:
        final = exchange.read_event("response.completed")["response"]
        assert friend.get(f"/responses/{final['id']}").json() == final


@pytest.mark.parametrize("chunks", ["every-byte", None])
def test_an_upstream_may_cut_its_bytes_anywhere(
    friend: Client, upstream: ScriptedUpstream, chunks: str
) -> None:
    upstream.reply(body=chat_stream(*WORDS), chunks=chunks)  # type: ignore[arg-type]
    assert output_text(checked_stream(friend.read_stream(input="Hello"), friend)) == "".join(WORDS)


def test_an_upstream_may_answer_with_json_where_a_stream_was_asked(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_json("all at once"))
    assert output_text(checked_stream(friend.read_stream(input="Hello"), friend)) == "all at once"


def test_the_upstream_gets_its_own_model_name_and_key(friend: Client, upstream: ScriptedUpstream) -> None:
    friend.create(input=[{"role": "system", "content": "Be a pirate"}, {"role": "user", "content": "Hello"}])
    request = upstream.wait_request()
    assert request.model == UPSTREAM_MODEL
    assert request.headers["authorization"] == f"Bearer {UPSTREAM_KEY}"
    assert [message["role"] for message in request.body["messages"]] == ["system", "user"]
    assert friend.key is not None
    assert friend.key not in str(request.headers) + request.raw.decode()


def test_a_length_stop_makes_the_response_incomplete(friend: Client) -> None:
    words = " ".join(f"word{number}" for number in range(30))
    exchange = friend.read_stream(input=words, max_output_tokens=16)
    response = checked_stream(exchange, friend)
    assert exchange.types[-1] == "response.incomplete"
    assert response["incomplete_details"] == {"reason": "max_output_tokens"}
    assert len(output_text(response).split()) == 16


def test_what_is_not_stored_is_not_found(friend: Client, upstream: ScriptedUpstream) -> None:
    upstream.reply(body=chat_stream("gone"))
    response = checked_stream(friend.read_stream(input="Hello", store=False))
    assert response["store"] is False
    assert_unknown_to(friend, response["id"])


def test_images_are_passed_on(friend: Client, upstream: ScriptedUpstream) -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low"}
    text = {"type": "input_text", "text": "What is this?"}
    answer = friend.create(input=[{"role": "user", "content": [text, image]}])
    assert output_text(checked_response(friend, answer.json())).startswith("I see an image.")
    sent = upstream.wait_request().body["messages"][0]["content"][1]
    assert sent["image_url"]["url"] == image["image_url"]


def test_a_hundred_streams_at_once_all_end_well(friend: Client) -> None:
    exchanges = [friend.stream(input=f"number {index}") for index in range(100)]
    for index, exchange in enumerate(exchanges):
        with exchange:
            exchange.read_all(timeout=30)
        assert output_text(checked_stream(exchange)) == f"You said: number {index}"
