"""A response that leaves its way comes to an end all the same, and its siblings do not notice."""

import threading

import pytest
from django.db import connection, transaction
from pytest_django import Settings

from responses_api.eventlog import names
from responses_api.eventlog.connection import blocking_client
from tests.support.checks import assert_unknown_to, checked_stream
from tests.support.client import Client, wait_until
from tests.support.queue_worker import newest_id, take_id, take_job, ticket
from tests.support.upstream import ScriptedUpstream
from workers import writer
from workers.emitter import Emitter
from workers.runtime import process_runtime

UNSERVED = "flex"


def run_next() -> threading.Thread:
    """Let the worker of this process run the job that waits in the tier nobody serves."""
    running = threading.Thread(target=process_runtime().run, args=take_job(UNSERVED))
    running.start()
    return running


def test_a_stream_whose_end_cannot_be_made_fails_by_the_rules(
    friend: Client, upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Emitter) -> bytes:
        raise TypeError("cannot be made")

    monkeypatch.setattr(Emitter, "terminal", broken)
    exchange = friend.stream(input="Hello", service_tier=UNSERVED)
    running = run_next()
    exchange.read_all()
    running.join(10)
    assert not running.is_alive()
    assert exchange.events[-1]["type"] in ("response.failed", "response.completed")
    checked_stream(exchange)


def test_an_envelope_that_cannot_be_read_ends_its_response_and_not_its_siblings(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    client = blocking_client()
    client.set(names.job("resp_broken"), b"{}", ex=60)
    left = newest_id(UNSERVED)  # by a test whose client did not wait
    exchange = friend.stream(input="Hello", service_tier=UNSERVED)
    wait_until(lambda: newest_id(UNSERVED) != left, timeout=5, what="the job")
    both = ticket(take_id(UNSERVED), "resp_broken")
    running = threading.Thread(target=process_runtime().run, args=both)
    running.start()
    exchange.read_all()
    running.join(10)
    assert not running.is_alive()
    assert checked_stream(exchange, friend)["status"] == "completed"
    assert not client.exists(names.job("resp_broken"), names.claim("resp_broken"))
    assert not client.sismember(names.running(process_runtime().worker), "resp_broken")


@pytest.mark.parametrize("stream", [False, True])
def test_an_end_that_cannot_be_stored_is_a_failure_that_the_client_learns(
    stream: bool,
    friend: Client,
    stranger: Client,
    upstream: ScriptedUpstream,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.STATEMENT_SECONDS = 0.05
    monkeypatch.setattr(writer, "_PAUSES_SECONDS", ())
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("LOCK TABLE responses_api_response")
        body = {"model": friend.model, "input": "Hello", "stream": stream}
        exchange = friend.open("POST", "/responses", body)
        if stream:
            exchange.read_all()
        else:
            answer = exchange.answer()
            assert (answer.status, answer.error["code"]) == (500, "storage_failed")
    if stream:
        failed = checked_stream(exchange)
        assert failed["error"]["code"] == "storage_failed"
        assert_unknown_to(friend, failed["id"])
        assert_unknown_to(stranger, failed["id"])
    assert friend.get("/responses").json()["data"] == []
