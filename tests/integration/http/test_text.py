"""A text answer, as JSON and as a stream."""

from tests.support.chat import chat_stream
from tests.support.checks import assert_unknown_to, checked_response, checked_stream, output_text
from tests.support.client import Client
from tests.support.upstream import ScriptedUpstream

WORDS = ("Say", "  hello", "\n\n", "twice — ", "in two\u2028lines", " 🙂", "\ufffd")


def test_json_tells_the_answer_and_get_tells_the_same(
    friend: Client, stranger: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_stream(*WORDS, usage=(11, 6)))
    answer = friend.create(input="Hello", instructions="Be kind", metadata={"a": "b"}, temperature=0.5)
    assert answer.status == 200
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
    assert_unknown_to(stranger, response["id"])
