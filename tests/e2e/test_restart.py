"""Restarts: what was stored is there afterwards, and the service goes on."""

from tests.support.checks import assert_unknown_to, checked_response, output_text
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


def test_a_worker_stopped_in_order_lets_the_next_one_take_over(service: Service) -> None:
    service.worker.stop()
    waiting = service.friend.stream(input="Is anybody there?")
    service.start_worker()
    with waiting:
        waiting.read_all(timeout=30)
    assert waiting.types[-1] == "response.completed"
