"""The bus: what must not wait reaches every process."""

import asyncio
from typing import Any

import redis.asyncio as redis_asyncio

from responses_api.eventlog import bus, names, turns
from responses_api.eventlog.connection import asyncio_client
from tests.integration.eventlog.messages import new_response
from tests.support.queue_worker import claim


async def listeners(client: Any, count: int) -> None:
    """Wait until this many more than now listen."""
    async with asyncio.timeout(5):
        while (await client.pubsub_numsub(names.BUS))[0][1] < count:
            await asyncio.sleep(0.005)


async def heard(queue: "asyncio.Queue[str]", response_id: str) -> None:
    """Wait until this id was heard; the channel is shared by all tests."""
    async with asyncio.timeout(5):
        while await queue.get() != response_id:
            pass


async def test_a_cancel_is_heard_by_every_process_and_by_those_to_come(client: Any) -> None:
    before = (await client.pubsub_numsub(names.BUS))[0][1]
    queues: list[asyncio.Queue[str]] = [asyncio.Queue(), asyncio.Queue()]
    tasks = [
        asyncio.create_task(bus.listen(asyncio_client(), on_cancel=queue.put_nowait)) for queue in queues
    ]
    await listeners(client, before + 2)
    response_id = new_response()
    await client.set(names.claim(response_id), b"somebody", ex=60)
    await bus.cancel(client, response_id)
    for queue in queues:
        await heard(queue, response_id)
    assert await client.get(names.cancel(response_id)) == b"1"
    assert 0 < await client.ttl(names.cancel(response_id)) <= 300
    for task in tasks:
        task.cancel()


async def test_a_cancelled_job_that_nobody_claimed_is_gone_at_once_and_not_taken_when_it_comes_late(
    client: Any, worker: str
) -> None:
    waiting, late = new_response(), new_response()
    turns.offer("test", [("tenant", waiting, b"content")])
    for response_id in (waiting, late):
        await bus.cancel(client, response_id)
    assert not await client.exists(names.job(waiting))
    turns.offer("test", [("tenant", late, b"content")])
    assert claim([waiting, late], worker) == []
    assert not await client.exists(names.job(late))


async def test_a_listener_survives_a_lost_connection(client: "redis_asyncio.Redis") -> None:
    before: Any = await client.pubsub_numsub(names.BUS)
    got: set[str] = set()
    mine = asyncio_client(client_name=f"listener-{id(got)}")
    task = asyncio.create_task(bus.listen(mine, on_cancel=got.add))
    await listeners(client, before[0][1] + 1)
    killed: Any = [
        entry["id"] for entry in await client.client_list() if entry["name"] == f"listener-{id(got)}"
    ]
    for connection in killed:
        await client.client_kill_filter(_id=connection)
    response_id = new_response()
    await client.set(names.claim(response_id), b"somebody", ex=60)
    async with asyncio.timeout(8):
        while response_id not in got:
            await bus.cancel(client, response_id)
            await asyncio.sleep(0.05)
    task.cancel()


async def test_a_deletion_is_heard_by_every_process() -> None:
    queue: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
    subscribed = asyncio.Event()

    def hear(tenant_id: str, root_id: str) -> None:
        queue.put_nowait((tenant_id, root_id))

    listening = asyncio.create_task(
        bus.listen(asyncio_client(), on_deleted=hear, on_subscribed=subscribed.set)
    )
    async with asyncio.timeout(5):
        await subscribed.wait()
    root_id = new_response()
    bus.announce_deletion("a-tenant", root_id)
    async with asyncio.timeout(5):
        while await queue.get() != ("a-tenant", root_id):
            pass
    listening.cancel()
