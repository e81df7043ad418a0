"""From a worker to whoever follows: in order, whole, in few writes, and nothing left behind."""

import asyncio
from typing import Any

import pytest
import redis.asyncio as redis_asyncio
from django.conf import settings

from responses_api.eventlog import journal, names
from responses_api.eventlog.follow import Inbox
from responses_api.eventlog.message import Kind, Message
from responses_api.eventlog.publish import Publisher, missing_inboxes
from tests.integration.eventlog.messages import address, event, hear, new_response, told


async def entries(client: Any, stream: str) -> list[Any]:
    return list(await client.xrange(stream))


async def test_what_is_pending_travels_as_one_entry_in_order(
    client: "redis_asyncio.Redis", publisher: Publisher, inbox: Inbox
) -> None:
    friend, stranger = new_response(), new_response()
    followers = inbox.follow(friend), inbox.follow(stranger)
    before = len(await entries(client, inbox.name))
    for number in range(4):
        publisher.publish(address(friend, inbox.name), told(number))
        publisher.publish(address(stranger, inbox.name), told(number))
    publisher.publish(address(friend, inbox.name), told(4, 2, Kind.END))
    publisher.publish(address(stranger, inbox.name), told(4, kind=Kind.END))
    (message,) = await hear(followers[0])
    assert message == Message(Kind.END, 0, 6, b"".join(map(event, range(6))))
    assert (await hear(followers[1]))[0].next == 5
    assert len(await entries(client, inbox.name)) <= before + 1


async def test_a_follower_gets_everything_in_order_and_only_its_own(
    publisher: Publisher, inbox: Inbox
) -> None:
    ids = [new_response() for _ in range(5)]
    followers = [inbox.follow(response_id) for response_id in ids]
    listening = [asyncio.create_task(hear(follower)) for follower in followers]
    for number in range(200):
        for response_id in ids:
            publisher.publish(address(response_id, inbox.name), told(number))
        await publisher.keep_up(at_once=True)
    for response_id in ids:
        publisher.publish(address(response_id, inbox.name), told(200, kind=Kind.END))
    for messages in await asyncio.gather(*listening):
        assert b"".join(message.body for message in messages) == b"".join(map(event, range(201)))
        assert [message.first for message in messages[1:]] == [message.next for message in messages[:-1]]


async def test_silence_is_none(inbox: Inbox, publisher: Publisher) -> None:
    follower = inbox.follow(new_response())
    assert await follower.next_message(0.01) is None
    publisher.publish(address(new_response(), inbox.name), told(0, kind=Kind.END))
    await publisher.flushed()
    assert await follower.next_message(0.01) is None


async def test_nothing_follows_the_last_message(inbox: Inbox, publisher: Publisher) -> None:
    response_id = new_response()
    follower = inbox.follow(response_id)
    publisher.publish(address(response_id, inbox.name), told(0, kind=Kind.END))
    await hear(follower)
    publisher.publish(address(response_id, inbox.name), told(1, kind=Kind.END))
    await publisher.flushed()
    assert await follower.next_message(0.05) is None


async def test_nothing_that_was_read_stays_in_the_inbox(
    client: "redis_asyncio.Redis", publisher: Publisher, inbox: Inbox
) -> None:
    response_id = new_response()
    follower = inbox.follow(response_id)
    publisher.publish(address(response_id, inbox.name), told(0, kind=Kind.END))
    await hear(follower)
    async with asyncio.timeout(5):
        while await entries(client, inbox.name):
            await asyncio.sleep(0.05)
    assert await client.exists(inbox.name), "an empty inbox is an inbox"


async def test_what_was_read_is_trimmed_from_the_inbox(
    client: "redis_asyncio.Redis", publisher: Publisher, inbox: Inbox
) -> None:
    response_id = new_response()
    follower = inbox.follow(response_id)
    for number in range(20):
        publisher.publish(address(response_id, inbox.name), told(number))
        await publisher.flushed()
    publisher.publish(address(response_id, inbox.name), told(20, kind=Kind.END))
    await hear(follower)
    async with asyncio.timeout(5):
        while len(await entries(client, inbox.name)) > 1:
            await asyncio.sleep(0.02)
    assert 0 < await client.ttl(inbox.name) <= 30


async def test_a_closed_inbox_is_missing_and_is_not_made_again_by_who_publishes(
    client: "redis_asyncio.Redis", publisher: Publisher, inbox: Inbox
) -> None:
    other = Inbox()
    await other.open()
    await other.close()
    publisher.publish(address(new_response(), inbox.name), told(0))
    publisher.publish(address(new_response(), other.name), told(0))
    await publisher.flushed()
    assert await missing_inboxes(client, [inbox.name, other.name]) == [other.name]
    assert not await client.exists(other.name)


@pytest.mark.parametrize("told_meanwhile", [0, 3])
async def test_a_lost_inbox_is_made_anew_without_loss_or_doubles(
    told_meanwhile: int, client: "redis_asyncio.Redis", publisher: Publisher, inbox: Inbox
) -> None:
    response_id = new_response()
    await client.set(names.job(response_id), b"{}", ex=60)
    follower = inbox.follow(response_id)
    to = address(response_id, inbox.name)
    publisher.publish(to, told(0, 2))
    first = await follower.next_message(5)
    assert first is not None
    await client.delete(inbox.name)
    for number in range(2, 2 + told_meanwhile):
        publisher.publish(to, told(number))
        await publisher.flushed()
    async with asyncio.timeout(5):
        while not await client.exists(inbox.name):
            await asyncio.sleep(0.02)
    publisher.publish(to, told(2 + told_meanwhile, kind=Kind.END))
    rest = await hear(follower)
    body = b"".join(message.body for message in (first, *rest))
    assert body == b"".join(map(event, range(3 + told_meanwhile)))


async def test_a_stream_that_ended_while_the_inbox_was_lost_is_told_from_the_journal(
    client: "redis_asyncio.Redis", publisher: Publisher, inbox: Inbox
) -> None:
    response_id = new_response()
    follower = inbox.follow(response_id)
    await client.delete(inbox.name)
    publisher.publish(address(response_id, inbox.name), told(0, 3, Kind.END))
    messages = await hear(follower)
    assert [message.kind for message in messages] == [Kind.END]


@pytest.mark.parametrize(
    ("is_kept", "is_journalled"), [(True, True), (False, True), (True, False), (False, False)]
)
async def test_after_the_end_only_a_kept_journal_remains_and_expires_soon(
    is_kept: bool, is_journalled: bool, client: Any, publisher: Publisher, inbox: Inbox, worker: str
) -> None:
    response_id, stranger = new_response(), new_response()
    for name in (names.job, names.claim, names.cancel):
        await client.set(name(response_id), b"x", ex=600)
        await client.set(name(stranger), b"x", ex=600)
    await client.sadd(names.running(worker), response_id, stranger)
    to = address(response_id, inbox.name, journal=is_journalled, keep_journal=is_kept, worker=worker)
    publisher.publish(to, told(0))
    await publisher.flushed()
    if is_journalled:
        ttl = await client.ttl(names.journal(response_id))
        assert settings.JOURNAL_SECONDS < ttl <= settings.RESPONSE_SECONDS + settings.JOURNAL_SECONDS
        assert [message.next for message in journal.read(response_id)] == [1]
    publisher.publish(to, told(1, kind=Kind.END))
    await publisher.flushed()
    left = [key.decode() for key in await client.keys(f"*{response_id}*")]
    assert left == ([names.journal(response_id)] if is_kept and is_journalled else [])
    if left:
        assert 0 < await client.ttl(left[0]) <= settings.JOURNAL_SECONDS
        assert journal.read(response_id)[-1].kind is Kind.END
    assert await client.smembers(names.running(worker)) == {stranger.encode()}
    assert len(await client.keys(f"*{stranger}*")) == 3
    await client.delete(names.running(worker), *await client.keys(f"*{stranger}*"))


async def test_a_journal_that_was_removed_does_not_come_back_without_an_end(
    client: Any, publisher: Publisher
) -> None:
    removed, kept = new_response(), new_response()
    for response_id in (removed, kept):
        publisher.publish(address(response_id, None, keep_journal=False), told(0))
    await publisher.flushed()
    await client.delete(names.journal(removed))
    for response_id in (removed, kept):
        publisher.publish(address(response_id, None, keep_journal=False), told(1))
    await publisher.flushed()
    assert not await client.exists(names.journal(removed))
    assert [message.next for message in journal.read(kept)] == [1, 2]
    await client.delete(names.journal(kept))
