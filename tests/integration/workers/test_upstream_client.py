"""The upstream client when it is busy elsewhere while the connection is lost."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace

import pytest

from responses_api.protocol.errors import ProtocolError
from tenants.models import Tenant
from tests.integration.builders import BACKEND, job_of
from tests.support.chat import chat_stream
from tests.support.upstream import ScriptedUpstream
from tests.support.upstream_http import End
from workers.backends.client import UpstreamClient
from workers.backends.parts import Part, TextDelta


async def listen(answer: AsyncIterator[list[Part]], heard: list[str]) -> None:
    async for parts in answer:
        heard += [part.text for part in parts if isinstance(part, TextDelta)]


@pytest.mark.parametrize("end", ["cut", "close"])
async def test_what_arrived_before_the_connection_was_lost_is_not_lost(
    end: End, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_stream("Hel", "lo", finish=None, usage=None, done=False), end=end)
    backend = replace(BACKEND, base_url=upstream.base_url)
    heard: list[str] = []
    async with (
        UpstreamClient() as client,
        aclosing(client.stream(job_of(Tenant(), backend=backend))) as answer,
    ):
        assert await anext(answer) == []
        await asyncio.to_thread(upstream.wait_request().wait_answered)
        # Turns of the loop in which the client does not read, as while a worker waits for Valkey.
        for _ in range(50):
            await asyncio.sleep(0)
        with pytest.raises(ProtocolError) as failed:
            await listen(answer, heard)
    assert "".join(heard) == "Hello"
    assert failed.value.code == "upstream_error"
