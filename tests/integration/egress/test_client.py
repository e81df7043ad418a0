"""The guarded client as others use it: for its one server, with any method."""

import asyncio

import httpx2
import pytest
from structlog.testing import capture_logs

from responses_api.protocol.egress import EgressError, EgressRules, read_rules
from tests.integration.egress.server import Send, body, redirect, site
from workers.egress.client import guarded_client
from workers.egress.limits import Limits

LOOPBACK = read_rules(["127.0.0.1"])
LIMITS = Limits(seconds=5, most_bytes=1000, idle_seconds=2)
SECRET = {"authorization": "Bearer s3cret"}


async def test_a_post_goes_out_with_its_headers_and_its_answer_comes_back() -> None:
    async with site(body(b"{}")) as there, guarded_client(LOOPBACK, LIMITS, headers=SECRET) as client:
        answer = await client.post(f"{there.url}/mcp", json={"a": 1})
        assert answer.json() == {}
    assert there.heads[0].startswith("POST /mcp HTTP/1.1\r\n")
    assert "authorization: Bearer s3cret" in there.heads[0]


async def test_the_host_that_is_told_is_the_one_that_was_judged() -> None:
    headers = {"Host": "inside.example", "Accept-Encoding": "gzip"}
    async with site(body(b"{}")) as there, guarded_client(LOOPBACK, LIMITS, headers=headers) as client:
        await client.get(there.url)
        await client.get(there.url, headers={"host": "inside.example"})
    assert len(there.heads) == 2
    for head in there.heads:
        told = [line for line in head.lower().splitlines() if line.startswith(("host:", "accept-encoding:"))]
        assert sorted(told) == ["accept-encoding: identity", f"host: 127.0.0.1:{there.port}"]


async def test_redirects_are_handed_back_and_not_followed() -> None:
    async with (
        site(body(b"")) as other,
        site(redirect(other.url)) as there,
        guarded_client(LOOPBACK, LIMITS, headers=SECRET) as client,
    ):
        assert (await client.get(there.url)).status_code == 302
    assert other.connections == 0


async def test_the_headers_for_one_server_reach_no_other() -> None:
    async with (
        site(body(b"")) as other,
        site(redirect(other.url)) as there,
        guarded_client(LOOPBACK, LIMITS, only=there.url, headers=SECRET) as client,
    ):
        with pytest.raises(EgressError, match="another server"):
            await client.get(there.url, follow_redirects=True)
        with pytest.raises(EgressError, match="another server"):
            await client.get(other.url)
    assert other.connections == 0


async def test_redirects_that_a_client_follows_are_judged_like_any_address() -> None:
    async with (
        site(body(b"secret")) as inside,
        site(redirect(f"http://127.0.0.2:{inside.port}/")) as there,
        guarded_client(LOOPBACK, LIMITS) as client,
    ):
        with pytest.raises(EgressError, match="nowhere"):
            await client.get(there.url, follow_redirects=True)
    assert inside.connections == 0


async def test_what_was_refused_is_logged_once_with_its_reason() -> None:
    refused: list[EgressError] = []
    with capture_logs() as told:
        async with site(body(b"x" * 2000)) as there, guarded_client(LOOPBACK, LIMITS) as client:
            for url in (there.url, "http://127.0.0.2/", "http://user:word@127.0.0.1/"):
                with pytest.raises(EgressError) as refusal:
                    await client.get(url)
                refused.append(refusal.value)
    assert [str(error).partition(" ")[0] for error in refused] == ["answered", "leads", "must"]
    assert [(line["message"], line["reason"]) for line in told] == [
        (str(error), error.reason) for error in refused
    ]
    assert refused[1].reason == "127.0.0.2 is not public"


async def test_a_stream_that_stays_open_ends_where_it_is_silent_or_too_long() -> None:
    async def stream(head: str, send: Send) -> None:
        await send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
        for _ in range(1 if "/silent" in head else 1000):
            await send(b"data: x\n\n")
        await asyncio.Event().wait()

    limits = Limits(seconds=None, most_bytes=1000, idle_seconds=0.2)
    async with site(stream) as there, guarded_client(LOOPBACK, limits) as client:
        with pytest.raises(httpx2.ReadTimeout):
            await client.get(f"{there.url}/silent")
        with pytest.raises(EgressError, match="more than the 1000 bytes"):
            await client.get(there.url)


async def test_a_client_for_what_may_not_be_reached_is_not_made() -> None:
    with pytest.raises(EgressError, match="nowhere"):
        guarded_client(EgressRules(), LIMITS, only="https://10.0.0.1/mcp")
