"""A worker that dies in the middle of its work: clients are told, nothing hangs, the next one serves."""

import time
from collections.abc import Callable

from tests.support.chat import chat_stream
from tests.support.checks import assert_unknown_to, checked_stream, output_text, stored_response
from tests.support.service import Service

BAR_SECONDS = 15.0
BEGUN = chat_stream("Hel", "lo", finish=None, usage=None, done=False)


def test_clients_are_told_and_a_new_worker_goes_on(
    service: Service, record_property: Callable[[str, object], None]
) -> None:
    friend, upstream = service.friend, service.upstream
    upstream.reply(body=BEGUN, end="hang", always=True)
    streamed = friend.stream(input="Hello")
    streamed.read_event("response.output_text.delta")
    unstored = friend.stream(input="Hello", store=False)
    unstored.read_event("response.output_text.delta")
    whole = friend.open("POST", "/responses", {"model": friend.model, "input": "Hello"})
    upstream.wait_request(count=3).wait_paused()

    service.kill_worker()
    killed_at = time.monotonic()
    upstream.clear()
    waiting = service.stranger.stream(input="Is anybody there?")
    with streamed, unstored, whole:
        streamed.read_all(timeout=30)
        record_property("told of the lost worker after", f"{time.monotonic() - killed_at:.1f} s")
        assert time.monotonic() - killed_at < BAR_SECONDS
        unstored.read_all(timeout=30)
        refused = whole.answer(timeout=30)
        assert time.monotonic() - killed_at < BAR_SECONDS

    lost = checked_stream(streamed, friend)
    assert streamed.types[-2:] == ["error", "response.failed"]
    assert streamed.events[-2]["error"]["code"] == lost["error"]["code"] == "worker_lost"
    assert output_text(lost) == "Hello"
    assert stored_response(friend, lost["id"])["status"] == "failed"
    assert_unknown_to(service.stranger, lost["id"])
    assert checked_stream(unstored)["error"]["code"] == "worker_lost"
    assert (refused.status, refused.error["type"], refused.error["code"]) == (
        500,
        "server_error",
        "worker_lost",
    )

    missing = service.root.get("/readyz")
    assert (missing.status, missing.json()["parts"]["worker"]) == (503, "missing")
    service.start_worker()
    with waiting:
        waiting.read_all(timeout=30)
    assert output_text(checked_stream(waiting, service.stranger)) == "You said: Is anybody there?"
    assert output_text(checked_stream(friend.read_stream(input="Again"), friend)) == "You said: Again"
