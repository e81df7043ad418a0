"""Background responses: told to be queued at once, found by their id, cancelled by it."""

from typing import Any

import pytest

from responses_api.eventlog import names
from responses_api.eventlog.connection import blocking_client
from tests.support.chat import chat_error, chat_stream
from tests.support.checks import assert_unknown_to, checked_stream, output_text, stored_response
from tests.support.client import Client, Json, wait_until
from tests.support.oracle import assert_response
from tests.support.upstream import ScriptedUpstream

BODY = chat_stream("first", " second")
PAUSE = BODY.index(b" second") - 40
BEGUN = chat_stream("Hel", "lo", finish=None, usage=None, done=False)


def ended(client: Client, response_id: str) -> Json:
    """The response once it has ended."""

    def look() -> Json | None:
        found = stored_response(client, response_id)
        return None if found["status"] in ("queued", "in_progress") else found

    found = wait_until(look, timeout=10, what="the end of the response")
    assert isinstance(found, dict)
    return found


def begun(client: Client, **body: Any) -> Json:
    """A background response as its create call answers."""
    answer = client.create(input="Hello", background=True, **body)
    assert answer.status == 200, answer.body
    response = answer.json()
    assert_response(response)
    assert isinstance(response, dict)
    return response


def test_it_is_answered_at_once_and_polled_to_its_end(
    friend: Client, stranger: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=BODY, pause_at=PAUSE)
    queued = begun(friend)
    assert (queued["status"], queued["background"], queued["output"]) == ("queued", True, [])
    request = upstream.wait_request()
    request.wait_paused()
    assert stored_response(friend, queued["id"]) == {**queued, "status": "in_progress"}
    assert_unknown_to(stranger, queued["id"])
    request.resume()
    done = ended(friend, queued["id"])
    assert (done["status"], output_text(done), done["background"]) == ("completed", "first second", True)
    items = friend.get(f"/responses/{queued['id']}/input_items").json()["data"]
    assert [item["content"][0]["text"] for item in items] == ["Hello"]
    followed = friend.create(input="And?", previous_response_id=queued["id"])
    assert followed.status == 200
    said = [message["content"] for message in upstream.requests()[-1].body["messages"]]
    assert said == ["Hello", "first second", "And?"]


def test_its_stream_begins_with_queued(friend: Client, stranger: Client, upstream: ScriptedUpstream) -> None:
    exchange = friend.read_stream(input="Hello", background=True)
    final = checked_stream(exchange, friend)
    assert exchange.types[:3] == ["response.created", "response.queued", "response.in_progress"]
    assert [event["response"]["status"] for event in exchange.events[:3]] == [
        "queued",
        "queued",
        "in_progress",
    ]
    assert output_text(final) == "You said: Hello"
    assert_unknown_to(stranger, final["id"])


def test_it_goes_on_when_its_client_leaves(friend: Client, upstream: ScriptedUpstream) -> None:
    upstream.reply(body=BODY, pause_at=PAUSE)
    exchange = friend.stream(input="Hello", background=True)
    exchange.read_event("response.output_text.delta")
    exchange.close()
    upstream.wait_request().resume()
    done = ended(friend, exchange.events[0]["response"]["id"])
    assert (done["status"], output_text(done)) == ("completed", "first second")


def test_one_that_waits_is_found_and_cannot_be_continued_or_deleted(
    friend: Client, stranger: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(end="hang")
    waiting = begun(friend)
    listed = friend.get("/responses").json()["data"]
    assert [response["id"] for response in listed] == [waiting["id"]]
    assert listed[0]["status"] in ("queued", "in_progress")
    assert stranger.get("/responses").json()["data"] == []
    continued = friend.create(input="And?", previous_response_id=waiting["id"])
    assert (continued.status, continued.error["code"]) == (409, "response_in_progress")
    deleted = friend.delete(f"/responses/{waiting['id']}")
    assert (deleted.status, deleted.error["code"]) == (409, "response_in_progress")
    assert "cancelled" in deleted.error["message"]
    cancel(friend, waiting["id"])
    assert friend.delete(f"/responses/{waiting['id']}").status == 200
    assert_unknown_to(friend, waiting["id"])


def test_a_refusal_of_the_backend_is_its_end(friend: Client, upstream: ScriptedUpstream) -> None:
    upstream.reply(body=chat_error("Too much"), status=429, always=True)
    exchange = friend.read_stream(input="Hello", background=True)
    failed = checked_stream(exchange, friend)
    assert failed["status"] == "failed"
    assert failed["error"]["code"] == "rate_limit_exceeded"
    polled = ended(friend, begun(friend)["id"])
    assert (polled["status"], polled["error"]["code"]) == ("failed", "rate_limit_exceeded")


def test_it_needs_to_be_stored(friend: Client, upstream: ScriptedUpstream) -> None:
    answer = friend.create(input="Hello", background=True, store=False)
    assert (answer.status, answer.error["param"]) == (400, "background")
    assert upstream.requests() == []


# ---------------------------------------------------------------- cancel


def cancel(client: Client, response_id: str) -> Json:
    answer = client.request("POST", f"/responses/{response_id}/cancel")
    assert answer.status == 200, answer.body
    response = answer.json()
    assert_response(response)
    assert isinstance(response, dict)
    return response


def test_a_running_one_is_cancelled_with_its_upstream_and_stays_so(
    friend: Client, stranger: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=BEGUN, end="drip", gap_ms=1)
    with friend.stream(input="Hello", background=True) as exchange:
        exchange.read_event("response.output_text.delta")
        response_id = exchange.events[0]["response"]["id"]
        foreign = stranger.request("POST", f"/responses/{response_id}/cancel")
        never = stranger.request("POST", f"/responses/resp_{'0' * 44}/cancel")
        assert foreign.status == never.status == 404
        assert foreign.body == never.body.replace(b"0" * 44, response_id[5:].encode())
        cancelled = cancel(friend, response_id)
        exchange.read_all()
    upstream.wait_request().wait_closed(5)
    assert cancelled["status"] == "cancelled"
    assert checked_stream(exchange, friend) == cancelled
    assert output_text(cancelled) == "Hello"
    assert cancel(friend, response_id) == cancelled == stored_response(friend, response_id)


def test_one_that_has_ended_stays_as_it_is(friend: Client, upstream: ScriptedUpstream) -> None:
    done = ended(friend, begun(friend)["id"])
    assert cancel(friend, done["id"]) == done


@pytest.mark.parametrize("still_runs", [True, False])
def test_only_background_responses_are_cancelled(
    still_runs: bool, friend: Client, stranger: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=BODY, pause_at=PAUSE)
    with friend.stream(input="Hello") as exchange:
        exchange.read_event("response.output_text.delta")
        response_id = exchange.events[0]["response"]["id"]
        if not still_runs:
            upstream.wait_request().resume()
            exchange.read_all()
        path = f"/responses/{response_id}/cancel"
        refused = friend.request("POST", path)
        assert (refused.status, refused.error["type"]) == (400, "invalid_request")
        assert "background" in refused.error["message"]
        assert stranger.request("POST", path).status == 404
        upstream.wait_request().resume()
        exchange.read_all()
    assert checked_stream(exchange, friend)["status"] == "completed"


@pytest.mark.parametrize("stream", [True, False])
def test_nothing_is_left_in_valkey_after_its_end_but_its_journal(
    stream: bool, friend: Client, stranger: Client
) -> None:
    if stream:
        response_id = friend.read_stream(input="Hello", background=True).events[0]["response"]["id"]
    else:
        response_id = ended(friend, begun(friend)["id"])["id"]
    assert_unknown_to(stranger, response_id)

    def kept() -> list[bytes]:
        keys: Any = blocking_client().keys(f"*{response_id}*")
        return list(keys)

    wait_until(lambda: kept() == [names.journal(response_id).encode()], timeout=5, what="the journal alone")
