"""What the guard lets through and what it stops, on real connections. Rules allow only what a test means."""

import asyncio
import gzip
import ipaddress
from collections.abc import Sequence
from pathlib import Path

import pytest

from responses_api.protocol.egress import Address, EgressError, EgressRules, read_rules
from tests.integration.egress.server import Send, body, redirect, site, tls_for
from workers.egress.fetching import MOST_REDIRECTS, fetch
from workers.egress.limits import Limits
from workers.egress.resolving import Resolver

LOOPBACK = read_rules(["127.0.0.1"])
NOTHING = EgressRules()
LIMITS = Limits(seconds=5, most_bytes=1 << 20, idle_seconds=3)
NOWHERE = "leads nowhere that may be reached from here"


def names(**table: Sequence[str]) -> Resolver:
    """A resolver with these names, '_' for '.': each time it is asked it tells the next text, all its addresses."""
    answers = {
        name.replace("_", "."): [list(text.split()) for text in texts] for name, texts in table.items()
    }

    async def resolve(host: str, port: int) -> Sequence[Address]:
        try:
            entries = answers[host]
        except KeyError:
            raise OSError("no such name") from None
        found = entries.pop(0) if len(entries) > 1 else entries[0]
        return [ipaddress.ip_address(address) for address in found]

    return resolve


async def get(url: str, rules: EgressRules = LOOPBACK, limits: Limits = LIMITS, **more: object) -> bytes:
    return await fetch(url, rules=rules, limits=limits, **more)  # type: ignore[arg-type]


async def refusal(url: str, rules: EgressRules = LOOPBACK, limits: Limits = LIMITS, **more: object) -> str:
    with pytest.raises(EgressError) as refused:
        await get(url, rules, limits, **more)
    return str(refused.value)


async def test_what_is_allowed_is_fetched_whatever_its_server_calls_it() -> None:
    async with site(body(b"picture", content_type="image/PNG; x=y")) as there:
        found = await get(f"{there.url}/a%2Fb//c?d=e#f")
    assert found == b"picture"
    assert there.heads[0].startswith("GET /a%2Fb//c?d=e HTTP/1.1\r\n")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{port}/",
        "https://127.0.0.1:{port}/",
        "https://[::ffff:127.0.0.1]:{port}/",
        "https://[::ffff:7f00:1]:{port}/",
        "https://localhost:{port}/",
        "https://localhost.:{port}/",
        "https://2130706433:{port}/",
        "https://0x7f000001:{port}/",
        "https://0177.0.0.1:{port}/",
        "https://127.1:{port}/",
        "https://user:word@127.0.0.1:{port}/",
        "https://127.0.0.1:0/",
        "https://127.0.0.1:65536/",
        "file:///etc/passwd",
        "gopher://127.0.0.1:{port}/",
        "https://127。0。0。1:{port}/",
        "https://ⓛocalhost:{port}/",
        "https://0.0.0.0:{port}/",
        "https://[::]:{port}/",
    ],
)
async def test_nothing_is_sent_to_this_machine_however_it_is_written(url: str) -> None:
    async with site(body(b"secret")) as there:
        message = await refusal(url.format(port=there.port), NOTHING)
    assert there.connections == 0
    assert str(there.port) not in message


async def test_a_redirect_to_where_one_may_not_go_is_not_followed() -> None:
    async with site(body(b"secret")) as inside, site(redirect(f"http://127.0.0.1:{inside.port}/")) as outside:
        names_ = names(outside_example=["127.0.0.1"])
        rules = read_rules([f"outside.example:{outside.port}"])
        message = await refusal(f"http://outside.example:{outside.port}/", rules, resolver=names_)
    assert (message, inside.connections, outside.connections) == (NOWHERE, 0, 1)


async def test_a_chain_of_redirects_ends() -> None:
    async with site(redirect("/next")) as there:
        assert "more than 5 times" in await refusal(there.url)
    assert len(there.heads) == MOST_REDIRECTS + 1


async def test_a_redirect_is_followed_where_it_may_go() -> None:
    async with site(body(b"here")) as there, site(redirect(f"{there.url}/x")) as first:
        found = await get(f"{first.url}/")
    assert found == b"here"
    assert there.heads[0].startswith("GET /x ")


@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://127.0.0.1/", "http://a@127.0.0.1/"])
async def test_a_redirect_to_what_is_no_address_is_refused(location: str) -> None:
    async with site(redirect(location)) as there:
        assert await refusal(there.url)
    assert there.connections == 1


async def test_a_redirect_from_https_to_http_is_refused(tmp_path: Path) -> None:
    server, client = tls_for("safe.example", tmp_path)
    async with site(body(b"secret")) as plain, site(redirect(plain.url), tls=server) as safe:
        url = f"https://safe.example:{safe.port}/"
        message = await refusal(url, resolver=names(safe_example=["127.0.0.1"]), tls=client)
    assert message == "sends one on from 'https://' to 'http://'"
    assert plain.connections == 0


async def test_tls_is_held_with_the_name_and_not_with_the_address(tmp_path: Path) -> None:
    server, client = tls_for("safe.example", tmp_path)
    async with site(body(b"here"), tls=server) as safe:
        resolver = names(safe_example=["127.0.0.1"], other_example=["127.0.0.1"])
        found = await get(f"https://safe.example.:{safe.port}/", resolver=resolver, tls=client)
        message = await refusal(f"https://other.example:{safe.port}/", resolver=resolver, tls=client)
    assert found == b"here"
    assert "could not be fetched" in message


async def test_a_name_that_answers_otherwise_a_moment_later_changes_nothing() -> None:
    """The first answer is public, the second is this machine: asked once, connected to what was judged."""
    asked = 0

    async def rebinding(host: str, port: int) -> Sequence[Address]:
        nonlocal asked
        asked += 1
        return [ipaddress.ip_address("192.0.2.1" if asked == 1 else "127.0.0.1")]

    async with site(body(b"secret")) as there:
        limits = Limits(seconds=0.5, most_bytes=100)
        # 192.0.2.1 stands for a public address; nobody is there.
        await refusal(
            f"http://turning.example:{there.port}/", read_rules(["192.0.2.1"]), limits, resolver=rebinding
        )
    assert (asked, there.connections) == (1, 0)


@pytest.mark.parametrize(
    "addresses", ["93.184.215.14 127.0.0.1", "127.0.0.1 93.184.215.14", "::1", "fe80::1%1"]
)
async def test_one_address_that_may_not_be_is_enough_to_refuse_a_name(addresses: str) -> None:
    async with site(body(b"secret")) as there:
        url = f"https://mixed.example:{there.port}/"
        assert await refusal(url, NOTHING, resolver=names(mixed_example=[addresses])) == NOWHERE
    assert there.connections == 0


async def test_a_name_that_does_not_exist_is_refused_as_one_that_is_inside() -> None:
    resolver = names(inside_example=["10.0.0.7"])
    assert (
        await refusal("https://inside.example/", NOTHING, resolver=resolver)
        == await refusal("https://missing.example/", NOTHING, resolver=resolver)
        == NOWHERE
    )


async def test_an_address_of_a_name_is_used_after_one_where_nobody_listens() -> None:
    async with site(body(b"here")) as there:
        resolver = names(two_example=["127.0.0.2 127.0.0.1"])
        found = await get(f"http://two.example:{there.port}/", read_rules(["127.0.0.0/8"]), resolver=resolver)
    assert found == b"here"


async def test_an_address_of_ipv6_is_connected_to_as_it_is_written() -> None:
    try:
        async with site(body(b"here"), host="::1") as there:
            found = await get(f"http://[0:0::1]:{there.port}/", read_rules(["::1"]))
            assert await refusal(f"http://[::1]:{there.port}/", NOTHING) == NOWHERE
    except OSError:
        pytest.skip("this machine has no IPv6")
    assert found == b"here"


async def test_who_stops_waiting_leaves_no_connection_behind() -> None:
    is_asked, has_left = asyncio.Event(), asyncio.Event()

    async def endless(head: str, send: Send) -> None:
        is_asked.set()
        await send(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while True:
                await send(bytes(1000))
                await asyncio.sleep(0.01)
        except ConnectionError:
            has_left.set()

    async with site(endless) as there:
        fetching = asyncio.create_task(get(there.url, limits=Limits(seconds=60, most_bytes=1 << 30)))
        await is_asked.wait()
        fetching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await fetching
        await asyncio.wait_for(has_left.wait(), 5)


async def test_http_is_for_what_is_allowed_only() -> None:
    resolver = names(public_example=["93.184.215.14"])
    assert await refusal("http://public.example/", NOTHING, resolver=resolver) == "must begin with 'https://'"
    assert (
        await refusal("http://public.example/", LOOPBACK, resolver=resolver) == "must begin with 'https://'"
    )


async def test_a_body_without_end_is_cut_where_it_is_too_long() -> None:
    async def endless(head: str, send: Send) -> None:
        await send(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            await send(bytes(1 << 16))

    async with site(endless) as there:
        assert "more than the 1048576 bytes" in await refusal(there.url)
    # What is on its way in sockets' buffers is all that there is beyond the limit.
    assert there.sent < 16 << 20


async def test_a_body_that_says_how_long_it_is_is_not_begun() -> None:
    async def large(head: str, send: Send) -> None:
        await send(b"HTTP/1.1 200 OK\r\ncontent-length: 10737418240\r\n\r\n")

    async with site(large) as there:
        assert "more than the 1048576 bytes" in await refusal(there.url)


async def test_a_byte_now_and_then_does_not_make_a_body_last_longer() -> None:
    async def trickle(head: str, send: Send) -> None:
        await send(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            await send(b"x")
            await asyncio.sleep(0.1)

    await _ends_in_time(trickle)


async def test_heads_that_come_slowly_do_not_make_an_answer_last_longer() -> None:
    async def slow(head: str, send: Send) -> None:
        await send(b"HTTP/1.1 200 OK\r\n")
        while True:
            await send(b"x: y\r\n")
            await asyncio.sleep(0.1)

    await _ends_in_time(slow)


async def _ends_in_time(answer: object) -> None:
    loop = asyncio.get_running_loop()
    async with site(answer) as there:  # type: ignore[arg-type]
        began = loop.time()
        message = await refusal(there.url, limits=Limits(seconds=0.6, most_bytes=1 << 20, idle_seconds=10))
    assert message == "took longer than the 0.6 seconds that it may take"
    assert loop.time() - began < 2


async def test_who_says_nothing_is_not_waited_for() -> None:
    async def silent(head: str, send: Send) -> None:
        await asyncio.Event().wait()

    async with site(silent) as there:
        limits = Limits(seconds=30, most_bytes=100, idle_seconds=0.2)
        assert "took longer" in await refusal(there.url, limits=limits)


async def test_heads_without_end_are_cut() -> None:
    async def wordy(head: str, send: Send) -> None:
        await send(b"HTTP/1.1 200 OK\r\n")
        while True:
            await send(b"x: " + b"y" * 8000 + b"\r\n")

    async with site(wordy) as there:
        assert "could not be fetched" in await refusal(there.url)
    assert there.sent < 16 << 20


async def test_what_comes_compressed_is_not_unpacked() -> None:
    bomb = gzip.compress(bytes(64 << 20))
    async with site(body(bomb, content_encoding="gzip")) as there:
        assert "compressed" in await refusal(there.url)
    assert "accept-encoding: identity" in there.heads[0].lower()


@pytest.mark.parametrize("answer", [b"SSH-2.0-OpenSSH_9.9 host-7\r\n", b"HTTP/1.1 200 OK\r\nx\r\n\r\n", b""])
async def test_what_is_behind_an_address_is_not_told(answer: bytes) -> None:
    async def strange(head: str, send: Send) -> None:
        await send(answer)

    async with site(strange) as there:
        message = await refusal(there.url)
    assert message == "could not be fetched: its server did not answer as one of HTTP should"


@pytest.mark.parametrize("status", ["204 X", "206 X", "304 X", "404 X", "500 X"])
async def test_only_an_answer_that_is_one_counts(status: str) -> None:
    async def answer(head: str, send: Send) -> None:
        await send(f"HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n".encode())

    async with site(answer) as there:
        assert await refusal(there.url) == f"answered with status {status[:3]}"


async def test_the_environment_has_no_say(monkeypatch: pytest.MonkeyPatch) -> None:
    async with site(body(b"proxy")) as proxy, site(body(b"here")) as there:
        for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        assert await get(there.url) == b"here"
    assert proxy.connections == 0


async def test_cookies_are_not_taken_along() -> None:
    async def answer(head: str, send: Send) -> None:
        location = "" if "/end" in head else "location: /end\r\n"
        status = 200 if "/end" in head else 302
        await send(
            f"HTTP/1.1 {status} X\r\nset-cookie: a=b; Path=/\r\n{location}content-length: 1\r\n\r\nx".encode()
        )

    async with site(answer) as there:
        await get(there.url)
    assert len(there.heads) == 2
    assert not any("cookie" in head.lower() for head in there.heads)
