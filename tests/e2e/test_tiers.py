"""Service tiers: a busy worker serves `priority` before `default` before `flex`, on each broker.

`ANTIPHON_TEST_AMQP_URL` names a RabbitMQ to be tested, too.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import pytest
import redis
from kombu import Connection

from responses_api.dispatch import AMQP_QUEUE, QUEUES
from tests.support.chat import chat_stream
from tests.support.checks import assert_unknown_to, checked_stream, output_text
from tests.support.client import wait_until
from tests.support.service import Service

AMQP_VARIABLE = "ANTIPHON_TEST_AMQP_URL"

needs_amqp = pytest.mark.skipif(AMQP_VARIABLE not in os.environ, reason=f"{AMQP_VARIABLE} is not set")


@pytest.fixture(params=["embedded", pytest.param("amqp", marks=needs_amqp)])
def busy(request: pytest.FixtureRequest) -> Iterator[Service]:
    """A service whose one worker does one thing at a time."""
    service: Service = request.getfixturevalue("service" if request.param == "embedded" else "amqp_service")
    service.worker.stop()
    service.beat.stop()  # what it sends waits with the other messages
    worker = service.another_worker(ANTIPHON_WORKER_SLOTS="1")
    worker.start()
    yield service
    worker.stop()


@pytest.fixture
def amqp_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with RabbitMQ as its broker."""
    settings = {"CELERY_BROKER_URL": os.environ[AMQP_VARIABLE]}
    with Service("amqp", tmp_path_factory.mktemp("amqp"), settings) as service:
        yield service


def test_a_busy_worker_serves_the_tiers_in_their_order_and_the_background_last(busy: Service) -> None:
    body = chat_stream("first", " second")
    busy.upstream.reply(body=body, pause_at=body.index(b" second") - 40)
    asked = ["flex 1", "default 1", "priority 1", "flex 2", "auto 2", "priority 2"]
    with ExitStack() as open_streams:
        first = open_streams.enter_context(busy.friend.stream(input="first"))
        first.read_event("response.output_text.delta")
        later = busy.friend.create(input="later", background=True, service_tier="priority").json()
        streams = []
        for place, text in enumerate(asked, 1):
            wait_until(partial(has_waiting, busy, place), timeout=10, what="the message in the broker")
            tier = text.split()[0]
            stream = busy.friend.stream(input=text, service_tier=tier)
            streams.append((tier, open_streams.enter_context(stream)))
        wait_until(partial(has_waiting, busy, 7), timeout=10, what="the message in the broker")
        busy.upstream.wait_request().resume()
        for tier, stream in streams:
            stream.read_all()
            response = checked_stream(stream, busy.friend)
            assert response["service_tier"] == ("default" if tier == "auto" else tier)
        first.read_all()
        assert output_text(checked_stream(first, busy.friend)) == "first second"
    busy.upstream.wait_request(count=8)
    wait_until(lambda: ended(busy, later["id"]), timeout=10, what="the background's end")
    served = [request.body["messages"][0]["content"] for request in busy.upstream.requests()]
    assert served == ["first", "priority 1", "priority 2", "default 1", "auto 2", "flex 1", "flex 2", "later"]
    assert_unknown_to(busy.stranger, later["id"])


def ended(service: Service, response_id: str) -> bool:
    """Whether the response is complete."""
    return bool(service.friend.get(f"/responses/{response_id}").json()["status"] == "completed")


def has_waiting(service: Service, messages: int) -> bool:
    """Whether so many messages wait in the broker."""
    return in_broker(service) == messages


def in_broker(service: Service) -> int:
    """How many messages wait in the broker, in all queues."""
    broker_url = service.env.get("CELERY_BROKER_URL")
    if broker_url is not None:
        with Connection(broker_url) as broker:
            channel: Any = broker.default_channel
            return int(channel.queue_declare(AMQP_QUEUE, passive=True).message_count)
    with redis.Redis.from_url(service.env["VALKEY_URL"]) as client:
        lengths: list[Any] = [client.llen(queue) for queue in QUEUES]
    return sum(lengths)
