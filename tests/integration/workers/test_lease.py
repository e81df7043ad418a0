"""What a worker finds out at its beats: a lost lease, a missed cancel, a web process that is gone."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import Settings

from responses_api.eventlog import names
from responses_api.eventlog.connection import blocking_client
from responses_api.eventlog.follow import Inbox
from responses_api.services.reap import reap
from tests.support.chat import chat_stream
from tests.support.checks import assert_unknown_to, checked_stream, stored_response
from tests.support.client import Client, Exchange, wait_until
from tests.support.queue_worker import take_job
from tests.support.upstream import ScriptedUpstream
from workers.runtime import Runtime

VALKEY: Any = blocking_client()
UNSERVED = "flex"
TEXT = chat_stream("Hel", "lo")
PAUSE = TEXT.index(b'"lo"') - 60


@pytest.fixture
def runtime(settings: Settings) -> Iterator[Runtime]:
    """The inside of a worker of the test's own, which beats every twentieth of a second."""
    settings.LEASE_SECONDS = 0.2
    runtime = Runtime()
    runtime.wait_until_started()
    yield runtime
    runtime.close()


def begin(friend: Client, runtime: Runtime) -> tuple[Exchange, threading.Thread]:
    """A stream that has told its first text and whose upstream pauses; the worker of the test runs it."""
    exchange = friend.stream(input="Hello", service_tier=UNSERVED)
    running = threading.Thread(target=runtime.run, args=take_job(UNSERVED))
    running.start()
    exchange.read_event("response.output_text.delta")
    return exchange, running


def end(running: threading.Thread) -> None:
    running.join(10)
    assert not running.is_alive()


def test_a_worker_that_lost_its_lease_leaves_what_it_ran_and_goes_on_under_another_name(
    friend: Client, stranger: Client, upstream: ScriptedUpstream, runtime: Runtime
) -> None:
    lost = runtime.worker
    upstream.reply(body=TEXT, pause_at=PAUSE)
    first, first_thread = begin(friend, runtime)
    upstream.reply(body=TEXT, pause_at=PAUSE)
    # Claimed under the old name after the reapers had looked: they must come to it, too.
    second, second_thread = begin(friend, runtime)
    VALKEY.set(names.lost(lost), b"1", px=60_000)
    wait_until(lambda: runtime.worker != lost, timeout=5, what="another name", every=0.005)
    end(first_thread)
    end(second_thread)
    wait_until(lambda: not VALKEY.exists(names.beat(lost)), timeout=5, what="no beat", every=0.005)
    assert reap() == 2
    for exchange in (first, second):
        exchange.read_all()
        failed = checked_stream(exchange, friend)
        assert failed["error"]["code"] == "worker_lost"
        assert_unknown_to(stranger, failed["id"])
    third = friend.stream(input="Hello", service_tier=UNSERVED)
    threading.Thread(target=runtime.run, args=take_job(UNSERVED)).start()
    third.read_all()
    assert checked_stream(third, friend)["status"] == "completed"


def test_a_cancel_that_was_missed_on_the_bus_is_found_at_the_next_beat(
    friend: Client, upstream: ScriptedUpstream, runtime: Runtime
) -> None:
    upstream.reply(body=TEXT, pause_at=PAUSE)
    exchange, running = begin(friend, runtime)
    response_id = exchange.events[0]["response"]["id"]
    VALKEY.set(names.cancel(response_id), b"1", ex=60)
    upstream.wait_request().wait_closed(5)
    end(running)
    assert stored_response(friend, response_id)["status"] == "cancelled"


def test_an_inbox_that_stays_away_cancels_what_was_told_there(
    friend: Client, upstream: ScriptedUpstream, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def do_nothing(self: Inbox) -> None:
        return

    upstream.reply(body=TEXT, pause_at=PAUSE)
    exchange, running = begin(friend, runtime)
    # Its reader does not make it anew, as a process that is gone would not.
    monkeypatch.setattr(Inbox, "_recover", do_nothing)
    for inbox in VALKEY.keys("antiphon:inbox:*"):
        VALKEY.delete(inbox)
    upstream.wait_request().wait_closed(5)
    end(running)
    monkeypatch.undo()
    exchange.read_all()
