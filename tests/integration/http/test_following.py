"""`GET …?stream=true`: every event of a stored response can be had again, while it runs and afterwards."""

import asyncio
from typing import Any

import pytest

from responses_api.eventlog import names
from responses_api.eventlog.connection import blocking_client
from responses_api.eventlog.message import Kind, Message
from responses_api.services import following
from tenants.models import Tenant
from tests.support.chat import ToolCall, chat_calls, chat_error, chat_stream
from tests.support.checks import checked_stream, output_text, stored_response
from tests.support.client import DONE, Client, Exchange, frames
from tests.support.upstream import ScriptedUpstream

VALKEY: Any = blocking_client()
BODY = chat_stream("first", " second")
PAUSE = BODY.index(b" second") - 40
CALLS = chat_calls(ToolCall("look", '{"a": 1}'), ToolCall("look", '{"b": 2}', "call_2"), text="See")
LOOK = {"type": "function", "name": "look", "parameters": {"type": "object"}}


def follow(client: Client, response_id: str, query: str = "") -> Exchange:
    return client.open("GET", f"/responses/{response_id}?stream=true{query}")


def followed(client: Client, response_id: str, query: str = "") -> bytes:
    """The whole stream that a client gets."""
    with follow(client, response_id, query) as exchange:
        exchange.read_all()
    assert exchange.status == 200, exchange.raw
    assert exchange.headers["content-type"].startswith("text/event-stream")
    return exchange.raw


def forget_journal(response_id: str) -> None:
    VALKEY.delete(names.journal(response_id))


def newest_job() -> str:
    """The response that was begun last: ids are ordered by time, and what other tests began may be there still."""
    newest: bytes = max(VALKEY.keys(names.job("*")))
    return newest.decode().rpartition(":")[2]


@pytest.mark.parametrize(
    "asked",
    [
        {"input": "Hello there"},
        {"input": "Hello there", "background": True},
        {"input": "Hello there", "stream_options": {"include_obfuscation": False}},
        {"input": "Hello there", "instructions": "Be brief.", "metadata": {"b": "1", "a": "2"}},
    ],
)
def test_a_stream_that_has_ended_is_told_again_byte_by_byte(
    asked: dict[str, Any], friend: Client, upstream: ScriptedUpstream
) -> None:
    exchange = friend.read_stream(**asked)
    final = checked_stream(exchange, friend)
    assert followed(friend, final["id"]) == exchange.raw
    forget_journal(final["id"])
    assert followed(friend, final["id"]) == exchange.raw


def test_calls_side_by_side_come_back_as_they_were(friend: Client, upstream: ScriptedUpstream) -> None:
    upstream.reply(body=CALLS)
    exchange = friend.read_stream(input="Look", tools=[LOOK])
    final = checked_stream(exchange, friend)
    assert [item["type"] for item in final["output"]] == ["message", "function_call", "function_call"]
    assert followed(friend, final["id"]) == exchange.raw


def test_a_stream_is_resumed_after_any_event(friend: Client, upstream: ScriptedUpstream) -> None:
    exchange = friend.read_stream(input="one two three")
    response_id = checked_stream(exchange, friend)["id"]
    told = frames(exchange.raw)
    for number in range(len(told) + 2):
        left = b"".join(told[number + 1 : -1]) + told[-1]
        assert followed(friend, response_id, f"&starting_after={number}") == left


def test_a_response_that_nobody_streamed_has_a_stream_all_the_same(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    answer = friend.create(input="Hello there").json()
    with follow(friend, answer["id"]) as exchange:
        exchange.read_all()
    assert checked_stream(exchange, friend) == answer
    assert exchange.types.count("response.output_text.delta") == 4


def test_padding_is_as_the_reader_wants_it(friend: Client, upstream: ScriptedUpstream) -> None:
    exchange = friend.read_stream(input="Hello there")
    response_id = checked_stream(exchange)["id"]
    bare = followed(friend, response_id, "&include_obfuscation=false")
    assert b"obfuscation" in exchange.raw
    assert b"obfuscation" not in bare
    assert followed(friend, response_id, "&include_obfuscation=true") == exchange.raw
    plain = friend.create(input="Hello there").json()["id"]
    assert b"obfuscation" not in followed(friend, plain)
    assert b"obfuscation" in followed(friend, plain, "&include_obfuscation=true&starting_after=1")


def test_a_failed_and_a_cancelled_stream_are_told_as_they_ended(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_stream("Hel", finish=None, usage=None, done=False), end="cut")
    broken = friend.read_stream(input="Hello")
    assert broken.types[-2:] == ["error", "response.failed"]
    assert followed(friend, checked_stream(broken, friend)["id"]) == broken.raw
    upstream.reply(body=BODY, pause_at=PAUSE)
    with friend.stream(input="Hello", background=True) as stopped:
        stopped.read_event("response.output_text.delta")
        response_id = stopped.events[0]["response"]["id"]
        assert friend.request("POST", f"/responses/{response_id}/cancel").json()["status"] == "cancelled"
        stopped.read_all()
    assert followed(friend, response_id) == stopped.raw


@pytest.mark.parametrize("background", [True, False])
def test_a_running_stream_is_followed_to_its_end_by_several(
    background: bool, friend: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=BODY, pause_at=PAUSE)
    with friend.stream(input="Hello", background=background) as asked:
        asked.read_event("response.output_text.delta")
        response_id = asked.events[0]["response"]["id"]
        with follow(friend, response_id) as first, follow(friend, response_id, "&starting_after=2") as second:
            first.read_event("response.output_text.delta")
            second.read_event("response.output_text.delta")
            upstream.wait_request().resume()
            for exchange in (asked, first, second):
                exchange.read_all()
    checked_stream(asked, friend)
    assert first.raw == asked.raw
    assert frames(second.raw) == frames(asked.raw)[3:]


def test_a_follower_that_leaves_changes_nothing(friend: Client, upstream: ScriptedUpstream) -> None:
    upstream.reply(body=BODY, pause_at=PAUSE)
    with friend.stream(input="Hello", background=True) as asked:
        asked.read_event("response.output_text.delta")
        response_id = asked.events[0]["response"]["id"]
        left = follow(friend, response_id)
        left.read_event("response.output_text.delta")
        left.close()
        upstream.wait_request().resume()
        asked.read_all()
    assert output_text(checked_stream(asked, friend)) == "first second"


def test_a_running_answer_in_json_is_told_when_it_has_ended(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=BODY, pause_at=PAUSE)
    with friend.open("POST", "/responses", {"model": friend.model, "input": "Hello"}) as asked:
        upstream.wait_request().wait_paused()
        response_id = newest_job()
        with follow(friend, response_id) as exchange:
            upstream.wait_request().resume()
            answer = asked.answer().json()
            exchange.read_all()
    assert answer["id"] == response_id
    assert checked_stream(exchange, friend) == answer


def test_what_was_refused_before_it_began_is_not_there(friend: Client, upstream: ScriptedUpstream) -> None:
    upstream.reply(body=chat_error("no"), status=429, delay_ms=300)
    with friend.open("POST", "/responses", {"model": friend.model, "input": "Hello"}) as asked:
        upstream.wait_request()
        answer = friend.get(f"/responses/{newest_job()}?stream=true")
        assert asked.answer().status == 429
    assert (answer.status, answer.error["type"]) == (404, "not_found")


def test_others_find_nothing(friend: Client, stranger: Client, upstream: ScriptedUpstream) -> None:
    never = f"/responses/resp_{'0' * 44}?stream=true"
    mine = friend.create(input="Hello").json()["id"]
    unstored = checked_stream(friend.read_stream(input="Hello", store=False))["id"]
    upstream.reply(body=BODY, pause_at=PAUSE)
    with friend.stream(input="Hello", background=True) as asked:
        asked.read_event("response.output_text.delta")
        running = asked.events[0]["response"]["id"]
        for client, response_id in ((stranger, mine), (stranger, running), (friend, unstored)):
            found = client.get(f"/responses/{response_id}?stream=true")
            expected = client.get(never)
            assert found.status == expected.status == 404
            assert found.body == expected.body.replace(b"0" * 44, response_id[5:].encode())
        upstream.wait_request(count=3).resume()
        asked.read_all()
    assert friend.delete(f"/responses/{mine}").status == 200
    assert friend.get(f"/responses/{mine}?stream=true").status == 404


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("stream=maybe", "stream"),
        ("stream=true&starting_after=-1", "starting_after"),
        ("stream=true&starting_after=x", "starting_after"),
        ("stream=true&starting_after=", "starting_after"),
        ("stream=true&starting_after=1e9", "starting_after"),
        ("stream=true&starting_after=" + "9" * 30, "starting_after"),
        ("stream=true&include_obfuscation=perhaps", "include_obfuscation"),
        ("include_obfuscation=perhaps", "include_obfuscation"),
        ("starting_after=1", "starting_after"),
        ("stream=false&starting_after=1", "starting_after"),
    ],
)
def test_a_parameter_that_means_nothing_is_named(
    query: str, param: str, friend: Client, upstream: ScriptedUpstream
) -> None:
    mine = friend.create(input="Hello").json()["id"]
    answer = friend.get(f"/responses/{mine}?{query}")
    assert (answer.status, answer.error["type"], answer.error["param"]) == (400, "invalid_request", param)


@pytest.mark.parametrize("query", ["?stream=false", "?stream=0", "?stream=", ""])
def test_without_a_stream_it_is_the_response(query: str, friend: Client, upstream: ScriptedUpstream) -> None:
    mine = friend.create(input="Hello").json()
    assert friend.get(f"/responses/{mine['id']}{query}").json() == mine == stored_response(friend, mine["id"])
    assert DONE not in friend.get(f"/responses/{mine['id']}{query}").body.decode()


# ---------------------------------------------------------------- what it costs


@pytest.mark.parametrize("most", [1, 700, 5_000])
def test_a_long_stream_is_told_again_in_pieces_of_the_same_bytes(
    most: int, friend: Client, upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.reply(body=chat_stream(*("word " for _ in range(30))))
    exchange = friend.read_stream(input="Hello", stream_options={"include_obfuscation": False})
    final = checked_stream(exchange, friend)
    monkeypatch.setattr(following, "_PIECE_BYTES", most)
    assert followed(friend, final["id"]) == exchange.raw
    for number in (0, 7, len(exchange.events) - 2, len(exchange.events) - 1):
        rest = b"".join(frames(exchange.raw)[number + 1 :])
        assert followed(friend, final["id"], f"&starting_after={number}") == rest
    padded = followed(friend, final["id"], "&include_obfuscation=true")
    assert padded.count(b"obfuscation") == sum(event["type"].endswith(".delta") for event in exchange.events)


def test_no_more_than_a_piece_of_a_long_stream_waits_for_its_client(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.reply(body=chat_stream(*("word " for _ in range(30))))
    final = checked_stream(friend.read_stream(input="Hello"), friend)
    monkeypatch.setattr(following, "_PIECE_BYTES", 1_000)

    async def pieces() -> list[Message]:
        ear = await following.follow(friend_tenant.id, final["id"], following.Place())
        told = list[Message]()
        while not told or told[-1].kind is Kind.EVENTS:
            message = await ear.next_message()
            assert message is not None
            told.append(message)
        return told

    told = asyncio.run(pieces())
    assert len(told) > 10
    for message in told:
        assert sum(map(len, frames(message.body)[:-1])) < 1_000
