"""Restarts: what was stored is there afterwards, and the service goes on."""

import pytest

from tests.support.chat import chat_stream
from tests.support.checks import (
    assert_unknown_to,
    checked_response,
    checked_stream,
    output_text,
    stored_response,
)
from tests.support.client import wait_until
from tests.support.service import Service


def test_a_restarted_web_process_keeps_stored_responses_and_their_chain(service: Service) -> None:
    friend = service.friend
    first = checked_response(friend, friend.create(input="My name is Alice.").json())
    service.restart_web()
    assert friend.get(f"/responses/{first['id']}").json() == first
    assert_unknown_to(service.stranger, first["id"])
    second = friend.create(input="Who am I?", previous_response_id=first["id"])
    assert output_text(checked_response(friend, second.json())) == "You said: Who am I?"
    messages = service.upstream.requests()[-1].body["messages"]
    assert [message["content"] for message in messages][:1] == ["My name is Alice."]


def test_a_worker_stopped_in_order_ends_what_it_began_and_leaves_the_rest(service: Service) -> None:
    body = chat_stream("first", " second")
    service.upstream.reply(body=body, pause_at=body.index(b" second") - 40)
    begun = service.friend.stream(input="Hello")
    begun.read_event("response.output_text.delta")
    service.worker.ask_to_stop()
    wait_until(lambda: "Warm shutdown" in service.worker.output(), timeout=10, what="the worker's farewell")
    left = service.friend.stream(input="Is anybody there?")
    service.upstream.wait_request().resume()
    with begun, left:
        begun.read_all()
        assert output_text(checked_stream(begun, service.friend)) == "first second"
        wait_until(lambda: not service.worker.running, timeout=10, what="the worker's end")
        service.start_worker()
        left.read_all(timeout=30)
    assert output_text(checked_stream(left, service.friend)) == "You said: Is anybody there?"


def test_a_worker_that_is_stopped_ends_what_takes_too_long_and_says_so(service: Service) -> None:
    body = chat_stream("first", " second")
    service.upstream.reply(body=body, pause_at=body.index(b" second") - 40)
    with service.friend.stream(input="Hello") as begun:
        begun.read_event("response.output_text.delta")
        service.worker.ask_to_stop()
        begun.read_all(timeout=15)
    wait_until(lambda: not service.worker.running, timeout=10, what="the worker's end")
    failed = checked_stream(begun, service.friend)
    assert failed["error"]["code"] == "worker_lost"
    assert output_text(failed) == "first"
    service.start_worker()
    assert_unknown_to(service.stranger, failed["id"])


@pytest.mark.parametrize("stream", [True, False])
def test_a_web_process_that_is_stopped_tells_its_client_and_ends_what_it_asked(
    stream: bool, service: Service
) -> None:
    body = chat_stream("first", " second")
    service.upstream.reply(body=body, pause_at=body.index(b" second") - 40)
    asked = {"model": service.friend.model, "input": "Hello", "stream": stream}
    with service.friend.open("POST", "/responses", asked) as exchange:
        request = service.upstream.wait_request()
        if stream:
            exchange.read_event("response.output_text.delta")
        service.web.ask_to_stop()
        if stream:
            exchange.read_all(timeout=15)
            failed = checked_stream(exchange)
            assert failed["error"]["code"] == "overloaded"
            assert output_text(failed) == "first"
        else:
            answer = exchange.answer()
            assert (answer.status, answer.error["code"]) == (503, "overloaded")
    request.wait_closed(10)
    wait_until(lambda: not service.web.running, timeout=10, what="the web process's end")
    service.web.start()
    service.wait_ready()
    if stream:
        assert stored_response(service.friend, failed["id"]) == failed
        assert_unknown_to(service.stranger, failed["id"])
