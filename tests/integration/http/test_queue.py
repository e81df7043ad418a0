"""Between the edge and a worker: nobody takes the job, or who took it is lost; and what stays behind in Valkey."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import Settings

from responses_api.dispatch import QUEUES
from responses_api.eventlog import names
from responses_api.eventlog.connection import blocking_client
from responses_api.services.reap import reap
from tests.support.chat import chat_stream
from tests.support.checks import (
    assert_unknown_to,
    checked_response,
    checked_stream,
    output_text,
    stored_response,
)
from tests.support.client import Client
from tests.support.queue_worker import claim, newest_id, take_job, take_ticket
from tests.support.upstream import ScriptedUpstream
from workers.runtime import Runtime

VALKEY: Any = blocking_client()
UNSERVED = "flex"
TEXT = chat_stream("Hel", "lo")
PAUSE = TEXT.index(b'"lo"') - 60


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    """The inside of a worker of the test's own."""
    runtime = Runtime()
    runtime.wait_until_started()
    yield runtime
    runtime.close()


@pytest.mark.parametrize("stream", [False, True])
def test_a_job_that_nobody_takes_is_refused_and_never_run_later(
    stream: bool, friend: Client, stranger: Client, upstream: ScriptedUpstream, settings: Settings
) -> None:
    settings.QUEUE_SECONDS = 0.2
    with friend.open(
        "POST",
        "/responses",
        {"model": friend.model, "input": "Hello", "service_tier": UNSERVED, "stream": stream},
    ) as exchange:
        answer = exchange.answer()
    assert (answer.status, answer.error["type"], answer.error["code"]) == (503, "server_error", "overloaded")
    assert int(answer.headers["retry-after"]) > 0
    take_ticket(UNSERVED)
    response_id = newest_id(UNSERVED)
    assert response_id is not None
    assert claim([response_id], "late") == []
    assert VALKEY.keys(f"*{response_id}*") == [names.cancel(response_id).encode()]
    for client in (friend, stranger):
        assert_unknown_to(client, response_id)
    assert upstream.requests() == []


def test_a_job_that_was_taken_may_take_longer_than_the_queue(
    friend: Client, upstream: ScriptedUpstream, settings: Settings
) -> None:
    settings.QUEUE_SECONDS = settings.KEEP_ALIVE_SECONDS = 0.1
    upstream.reply(body=TEXT, delay_ms=400)
    assert output_text(checked_response(friend, friend.create(input="Hello").json())) == "Hello"


def test_a_worker_that_is_lost_and_comes_back_changes_nothing_that_was_told(
    friend: Client, stranger: Client, upstream: ScriptedUpstream, runtime: Runtime
) -> None:
    upstream.reply(body=TEXT, pause_at=PAUSE)
    exchange = friend.stream(input="Hello", service_tier=UNSERVED)
    running = threading.Thread(target=runtime.run, args=take_job(UNSERVED))
    running.start()
    exchange.read_event("response.output_text.delta")
    VALKEY.delete(names.beat(runtime.worker))
    assert reap() == 1
    exchange.read_all()
    lost = checked_stream(exchange, friend)
    assert exchange.events[-2]["error"]["code"] == "worker_lost"
    assert output_text(lost) == "Hel"
    upstream.wait_request().resume()
    running.join(10)
    assert not running.is_alive()
    assert stored_response(friend, lost["id"]) == lost
    assert_unknown_to(stranger, lost["id"])


def test_json_that_a_lost_worker_generated_is_a_500(
    friend: Client, upstream: ScriptedUpstream, runtime: Runtime
) -> None:
    upstream.reply(body=TEXT, pause_at=PAUSE)
    body = {"model": friend.model, "input": "Hello", "service_tier": UNSERVED}
    exchange = friend.open("POST", "/responses", body)
    running = threading.Thread(target=runtime.run, args=take_job(UNSERVED))
    running.start()
    upstream.wait_request().wait_paused()
    VALKEY.delete(names.beat(runtime.worker))
    assert reap() == 1
    answer = exchange.answer()
    assert (answer.status, answer.error["code"]) == (500, "worker_lost")
    upstream.wait_request().resume()
    running.join(10)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("store", [False, True])
def test_after_the_end_only_the_journal_of_a_stored_stream_is_left_and_it_expires(
    store: bool, stream: bool, friend: Client, upstream: ScriptedUpstream
) -> None:
    secret = f"periwinkle {store} {stream}"
    if stream:
        response = checked_stream(friend.read_stream(input=secret, store=store))
    else:
        response = friend.create(input=secret, store=store).json()
    left = [key.decode() for key in VALKEY.keys(f"*{response['id']}*")]
    assert left == ([names.journal(response["id"])] if store and stream else [])
    lasting = [key for key in VALKEY.keys("*") if VALKEY.ttl(key) == -1]
    # The list of workers, and the broker's own: bindings, which name queues, and tickets, which name nobody.
    assert {key for key in lasting if not key.startswith(b"_kombu.")} <= {
        names.WORKERS.encode(),
        *(queue.encode() for queue in QUEUES),
        *(key for key in lasting if key.startswith(b"antiphon:running:")),
    }
