"""The two ends of the event log in one loop, and what is left in Valkey afterwards."""

import uuid
from collections.abc import AsyncIterator

import pytest
import redis.asyncio as redis_asyncio

from responses_api.eventlog.connection import asyncio_client
from responses_api.eventlog.follow import Inbox
from responses_api.eventlog.publish import Publisher


@pytest.fixture
async def client() -> AsyncIterator["redis_asyncio.Redis"]:
    """A client of the test's loop."""
    async with asyncio_client() as client:
        yield client


@pytest.fixture
def worker() -> str:
    """A worker's name that no other test has."""
    return f"test:{uuid.uuid4().hex}"


@pytest.fixture
async def publisher(client: "redis_asyncio.Redis") -> AsyncIterator[Publisher]:
    """The worker's end."""
    publisher = Publisher(client)
    yield publisher
    await publisher.close()


@pytest.fixture
async def inbox() -> AsyncIterator[Inbox]:
    """The web's end."""
    inbox = Inbox()
    await inbox.open()
    yield inbox
    await inbox.close()
