"""Breakers: failures in a row open one, time makes it half open, one request tries it, and an answer closes it."""

import asyncio
import uuid
from typing import Any

import pytest
import redis.asyncio as redis_asyncio
from pytest_django import Settings
from structlog.testing import capture_logs

from config.local.valkey import free_port
from responses_api.eventlog import names
from responses_api.eventlog.backends import Backends, breakers
from responses_api.eventlog.connection import blocking_client

VALKEY: Any = blocking_client()


@pytest.fixture(autouse=True)
def _three_failures(settings: Settings) -> None:
    settings.BREAKER_FAILURES = 3
    settings.BREAKER_SECONDS = 20.0


@pytest.fixture
def backends(client: "redis_asyncio.Redis") -> Backends:
    return Backends(client)


@pytest.fixture
def name() -> str:
    """A backend that no other test has."""
    return f"test-{uuid.uuid4().hex}"


def pass_time(name: str, seconds: float) -> None:
    """Let so much time pass for a breaker."""
    for field in ("until", "probe", "since"):
        told = VALKEY.hget(names.breaker(name), field)
        if told is not None:
            VALKEY.hset(names.breaker(name), field, int(told) - int(seconds * 1000))


async def fail(backends: Backends, name: str, times: int = 3, retry_after: float | None = None) -> None:
    for _ in range(times):
        await backends.failed(name, retry_after)


async def test_failures_in_a_row_open_it_and_fewer_do_not(backends: Backends, name: str) -> None:
    assert await backends.look([name]) == {name: "closed"}
    await fail(backends, name, 2)
    assert await backends.look([name]) == {name: "doubtful"}
    with capture_logs() as logs:
        await fail(backends, name, 1)
    assert [(entry["event"], entry["backend"], entry["seconds"]) for entry in logs] == [
        ("a backend's breaker has opened", name, 20.0)
    ]
    assert await backends.look([name]) == {name: "open"}
    assert VALKEY.ttl(names.breaker(name)) > 0


async def test_an_answer_in_between_begins_the_count_anew(backends: Backends, name: str) -> None:
    await fail(backends, name, 2)
    with capture_logs() as logs:
        await backends.succeeded(name)
    assert logs == []
    assert not VALKEY.exists(names.breaker(name))
    await fail(backends, name, 2)
    assert await backends.look([name]) == {name: "doubtful"}


async def test_failures_long_ago_do_not_count(backends: Backends, name: str) -> None:
    await fail(backends, name, 2)
    pass_time(name, 21)
    await fail(backends, name, 2)
    assert await backends.look([name]) == {name: "doubtful"}
    assert 0 < VALKEY.pttl(names.breaker(name)) <= 20_000


async def test_after_a_while_one_request_at_a_time_tries_it(backends: Backends, name: str) -> None:
    await fail(backends, name)
    pass_time(name, 21)
    looks = await asyncio.gather(*(backends.look([name]) for _ in range(20)))
    assert sorted(look[name] for look in looks) == ["half_open"] + ["open"] * 19
    with capture_logs() as logs:
        await backends.succeeded(name)
    assert [entry["event"] for entry in logs] == ["a backend's breaker has closed"]
    assert await backends.look([name]) == {name: "closed"}


async def test_a_try_that_fails_opens_it_again_at_once(backends: Backends, name: str) -> None:
    await fail(backends, name)
    pass_time(name, 21)
    assert await backends.look([name]) == {name: "half_open"}
    await fail(backends, name, 1)
    assert await backends.look([name]) == {name: "open"}
    assert breakers([name])[name].seconds > 19


async def test_a_try_that_never_ends_lets_another_one_try_in_time(backends: Backends, name: str) -> None:
    await fail(backends, name)
    pass_time(name, 21)
    assert await backends.look([name]) == {name: "half_open"}
    pass_time(name, 21)
    assert await backends.look([name]) == {name: "half_open"}
    assert await backends.look([name]) == {name: "open"}
    await backends.released(name)
    assert await backends.look([name]) == {name: "half_open"}


async def test_who_asks_another_one_first_does_not_take_the_turn_to_try(
    backends: Backends, name: str
) -> None:
    well = f"{name}-well"
    await fail(backends, name)
    pass_time(name, 21)
    assert await backends.look([well, name]) == {well: "closed", name: "open"}
    assert await backends.look([name, well]) == {name: "half_open", well: "closed"}


async def test_of_several_half_open_ones_a_request_tries_the_first(backends: Backends, name: str) -> None:
    other = f"{name}-other"
    for each in (name, other):
        await fail(backends, each)
        pass_time(each, 21)
    assert await backends.look([name, other]) == {name: "half_open", other: "open"}
    assert await backends.look([name, other]) == {name: "open", other: "half_open"}


async def test_it_stays_open_as_long_as_a_limit_said_within_reason(backends: Backends, name: str) -> None:
    await fail(backends, name, retry_after=3)
    assert 2 < breakers([name])[name].seconds <= 3
    await backends.succeeded(name)
    await fail(backends, name, retry_after=1e9)
    assert 590 < breakers([name])[name].seconds <= 600
    await backends.succeeded(name)
    await fail(backends, name, retry_after=0)
    assert breakers([name])[name].standing in ("open", "half_open")


async def test_failures_that_come_in_late_do_not_keep_it_open(backends: Backends, name: str) -> None:
    await fail(backends, name)
    pass_time(name, 15)
    await fail(backends, name, 10)
    assert breakers([name])[name].seconds < 6


async def test_every_worker_sees_the_same(
    backends: Backends, client: "redis_asyncio.Redis", name: str
) -> None:
    others = [Backends(client) for _ in range(3)]
    await asyncio.gather(*(other.failed(name) for other in others))
    assert await backends.look([name]) == {name: "open"}
    told = breakers([name, f"{name}-well"])
    assert (told[name].standing, str(told[f"{name}-well"])) == ("open", "closed")


async def test_without_valkey_all_are_taken_to_be_well(name: str) -> None:
    nowhere = redis_asyncio.Redis(port=free_port(), socket_connect_timeout=0.2)
    away = Backends(nowhere)
    assert await away.look([name]) == {}
    await away.failed(name)
    await away.succeeded(name)
    await away.released(name)
    await away.serves("resp_1", name)
    await nowhere.aclose()


async def test_a_valkey_that_is_silent_holds_nobody_up(name: str) -> None:
    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    silent = redis_asyncio.Redis(port=server.sockets[0].getsockname()[1])
    began = asyncio.get_running_loop().time()
    assert await Backends(silent).look([name]) == {}
    assert asyncio.get_running_loop().time() - began < 5
    await silent.aclose()
    server.close()
