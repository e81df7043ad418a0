"""Tenants take turns: whoever floods a queue delays another one's next response by one of its own, in each tier.

`ANTIPHON_TEST_AMQP_URL` names a RabbitMQ to be tested, too.
"""

from contextlib import ExitStack
from functools import partial
from typing import Any

import redis

from responses_api.dispatch import QUEUES
from responses_api.eventlog import names
from tests.e2e.test_tiers import amqp_service, busy
from tests.support.chat import chat_stream
from tests.support.checks import assert_unknown_to, checked_stream
from tests.support.client import Client, Exchange, wait_until
from tests.support.service import Service

__all__ = ("amqp_service", "busy")

BACKGROUND = 60
STREAMS = 12
TIERS = ("priority", "default", "flex")
AT_ONCE = 8
"""Jobs of one ticket begin together; who is second of them may be heard last."""


def test_who_asks_after_a_flood_is_next_in_every_tier(busy: Service) -> None:
    body = chat_stream("first", " second")
    busy.upstream.reply(body=body, pause_at=body.index(b" second") - 40)
    flooding, other = busy.friend, busy.stranger
    with ExitStack() as stack:
        first = stack.enter_context(flooding.stream(input="first"))
        first.read_event("response.output_text.delta")
        for number in range(BACKGROUND):
            flooding.create(input=f"background flood {number}", background=True)
        floods = {tier: stack.enter_context(ExitStack()) for tier in TIERS}
        for tier in TIERS * STREAMS:
            ask(floods[tier], flooding, tier, f"{tier} flood")
        flooded = BACKGROUND + len(TIERS) * STREAMS
        wait_until(partial(has_waiting, busy, flooded), timeout=20, what="the flood")
        streams = {tier: ask(stack, other, tier, f"{tier} other") for tier in TIERS}
        later = other.create(input="background other", background=True).json()
        wait_until(partial(has_waiting, busy, flooded + len(streams) + 1), timeout=20, what="all that waits")
        busy.upstream.wait_request().resume()
        for tier, stream in streams.items():
            stream.read_all()
            checked_stream(stream)
            floods[tier].close()  # nobody waits for what is left of it, and it makes way for the next tier
        wait_until(partial(has_ended, other, later["id"]), timeout=30, what="the background response's end")
    served = [request.body["messages"][0]["content"] for request in busy.upstream.requests()]
    for tier in (*TIERS, "background"):
        of_tier = [text for text in served if text.startswith(tier)]
        assert of_tier.index(f"{tier} other") < AT_ONCE, f"{tier}: {of_tier[:20]}"
    assert_unknown_to(flooding, later["id"])
    busy.worker.start()  # what is left of the flood is no other test's
    wait_until(partial(has_waiting, busy, 0), timeout=60, what="the end of the flood")


def ask(stack: ExitStack, client: Client, tier: str, text: str) -> Exchange:
    """A stream that is asked for and not read yet."""
    return stack.enter_context(client.stream(input=text, service_tier=tier))


def has_ended(client: Client, response_id: str) -> bool:
    """Whether the response is complete."""
    return bool(client.get(f"/responses/{response_id}").json()["status"] == "completed")


def has_waiting(service: Service, jobs: int) -> bool:
    """Whether so many jobs wait for their tenants' turns, in all queues."""
    with redis.Redis.from_url(service.env["VALKEY_URL"]) as client:
        valkey: Any = client
        lines = [line for queue in QUEUES for line in valkey.keys(names.waiting(queue, "*"))]
        return bool(sum(valkey.zcard(line) for line in lines) == jobs)
