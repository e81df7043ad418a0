"""A listener always hears an end, and a response that nobody hears is cancelled."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pytest_django import Settings

from responses_api.conformance.stream import assert_stream
from responses_api.eventlog import names
from responses_api.eventlog.connection import asyncio_client
from responses_api.eventlog.follow import Follower, Inbox
from responses_api.eventlog.message import Kind, Message
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.ids import build_id
from responses_api.protocol.request import parse_create
from responses_api.protocol.response import snapshot
from responses_api.protocol.sse import DONE, decode
from responses_api.services.listening import Listener
from tests.support.oracle import event_faults
from workers.backends.parts import TextDelta
from workers.emitter import Emitter


@pytest.fixture(autouse=True)
def short_silences(settings: Settings) -> None:
    """Silence is over soon."""
    settings.QUEUE_SECONDS = settings.KEEP_ALIVE_SECONDS = 0.05


@pytest.fixture
async def client() -> AsyncIterator[Any]:
    """A client of the test's loop."""
    async with asyncio_client() as client:
        yield client


@pytest.fixture
async def inbox() -> AsyncIterator[Inbox]:
    """An inbox whose messages the tests push themselves."""
    inbox = Inbox()
    yield inbox
    await inbox.close()


class Response:
    """A response that is claimed and running, as far as Valkey knows."""

    def __init__(self, inbox: Inbox) -> None:
        self.id = f"resp_{uuid.uuid4().hex}"
        self.follower: Follower = inbox.follow(self.id)
        self.listener = Listener(self.follower, "open")

    async def begin(self, client: Any) -> None:
        """A worker has it."""
        await client.set(names.job(self.id), b"{}", ex=60)
        await client.set(names.claim(self.id), b"somebody", ex=60)

    async def end(self, client: Any) -> None:
        """Its worker is done with it."""
        await client.delete(names.job(self.id), names.claim(self.id))


def emitter_of(response_id: str) -> Emitter:
    """The emitter of this response, begun."""
    base = snapshot(
        response_id=response_id,
        created_at=1,
        request=parse_create({"model": "m", "input": "x"}),
        status="in_progress",
    )
    numbers = iter(range(1_000_000))
    emitter = Emitter(base, new_id=lambda prefix: build_id(prefix, next(numbers), bytes(16)), clock=lambda: 2)
    emitter.start()
    return emitter


def told(emitter: Emitter, first: int) -> Message:
    """What the emitter has to tell now."""
    return Message(Kind.EVENTS, first, emitter.next_sequence, emitter.drain())


async def test_a_job_that_nobody_takes_is_refused_and_withdrawn(client: Any, inbox: Inbox) -> None:
    response = Response(inbox)
    await client.set(names.job(response.id), b"content", ex=60)
    message = await response.listener.next_message()
    assert message is not None
    assert ProtocolError.from_plain(decode(message.body)).code == "overloaded"
    await response.listener.close()
    assert not await client.exists(names.job(response.id))


async def test_an_end_that_never_came_is_found_out_before_anything_was_told(
    client: Any, inbox: Inbox
) -> None:
    response = Response(inbox)
    await client.set(names.claim(response.id), b"somebody", ex=60)
    message = await response.listener.next_message()
    assert message is not None
    assert ProtocolError.from_plain(decode(message.body)).code == "events_lost"


async def test_an_end_that_never_came_ends_the_stream_by_the_rules(client: Any, inbox: Inbox) -> None:
    response, emitter = Response(inbox), emitter_of(f"resp_{uuid.uuid4().hex}")
    await response.begin(client)
    emitter.feed(TextDelta("t", "Hel"))
    first = told(emitter, 0)
    assert response.follower.push(first)
    assert await response.listener.next_message() == first
    assert await response.listener.next_message() is None, "silence while it runs wants a sign of life"
    await response.end(client)
    message = await response.listener.next_message()
    message = message or await response.listener.next_message()
    assert message is not None
    assert message.kind is Kind.END
    stream = assert_stream(first.body + message.body + DONE, validate=lambda event: list(event_faults(event)))
    assert stream.final is not None
    assert stream.final["error"]["code"] == "events_lost"
    assert stream.final["output"][0]["content"][0]["text"] == "Hel"
    assert stream.final["output"][0]["status"] == "incomplete"


async def test_messages_that_are_missing_are_noticed(inbox: Inbox) -> None:
    response, emitter = Response(inbox), emitter_of(f"resp_{uuid.uuid4().hex}")
    first = told(emitter, 0)
    emitter.feed(TextDelta("t", "Hel"))
    second = told(emitter, first.next)
    emitter.feed(TextDelta("t", "lo"))
    third = told(emitter, second.next)
    assert response.follower.push(first)
    assert not response.follower.push(third)
    assert response.follower.push(second)
    assert response.follower.push(second), "what was seen already is left out without a word"
    assert response.follower.push(third)
    heard = [await response.follower.next_message(1) for _ in range(3)]
    assert heard == [first, second, third]


@pytest.mark.parametrize("has_ended", [True, False])
async def test_closing_cancels_what_has_not_ended_and_nothing_else(
    has_ended: bool, client: Any, inbox: Inbox
) -> None:
    response, stranger = Response(inbox), Response(inbox)
    await response.begin(client)
    if has_ended:
        response.follower.push(Message(Kind.ANSWER, 0, 0, b"{}"))
    await response.listener.close()
    assert bool(await client.exists(names.cancel(response.id))) is not has_ended
    assert not await client.exists(names.cancel(stranger.id))


async def test_an_end_that_was_lost_before_anything_was_told_is_not_taken_for_an_absent_worker(
    inbox: Inbox,
) -> None:
    message = await Response(inbox).listener.next_message()
    assert message is not None
    assert ProtocolError.from_plain(decode(message.body)).code == "events_lost"


async def test_an_answer_that_was_stored_and_lost_on_its_way_is_told(inbox: Inbox) -> None:
    stored = Message(Kind.ANSWER, 0, 0, b'{"id":"resp_1"}')

    async def recover(told: int, last: bytes) -> Message:
        return stored

    listener = Listener(inbox.follow("resp_1"), "open", recover)
    assert await listener.next_message() == stored


async def test_an_end_that_only_the_journal_has_is_told(client: Any, inbox: Inbox) -> None:
    response, emitter = Response(inbox), emitter_of(f"resp_{uuid.uuid4().hex}")
    begun = told(emitter, 0)
    emitter.finish()
    end = Message(Kind.END, begun.next, begun.next + 1, emitter.drain() + emitter.terminal())
    for message in (begun, end):
        await client.xadd(names.journal(response.id), {"m": message.to_bytes()})
    await client.expire(names.journal(response.id), 60)
    assert response.follower.push(begun)
    assert await response.listener.next_message() == begun
    last = await response.listener.next_message() or await response.listener.next_message()
    assert last == end


async def test_an_end_that_is_just_on_its_way_is_not_taken_for_lost(client: Any, inbox: Inbox) -> None:
    response = Response(inbox)
    await client.set(names.claim(response.id), b"somebody", ex=60)
    answer = Message(Kind.ANSWER, 0, 0, b"{}")
    hearing = asyncio.create_task(response.listener.next_message())
    # Past the silence: the job is found gone, and what it told has still to be read.
    await asyncio.wait([hearing], timeout=0.2)
    assert response.follower.push(answer)
    assert await hearing == answer
