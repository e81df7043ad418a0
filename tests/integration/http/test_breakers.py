"""Backends that fail again and again are asked last, tried one request at a time, and come back by themselves."""

from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import Settings

from responses_api.eventlog import names
from responses_api.models import Backend
from tenants.models import Tenant
from tests.integration.http.routes import (
    SECOND,
    VALKEY,
    add_target,
    breaker,
    change,
    closed_address,
    forget_breakers,
    row_of,
    tried,
)
from tests.support.chat import DONE, chat_error, chat_stream, chunk, frame
from tests.support.checks import output_text
from tests.support.client import Client, wait_until
from tests.support.upstream import ScriptedUpstream

ANSWER = chat_stream("from the second")
FIRST = "scripted"


@pytest.fixture
def second(backend: Backend, settings: Settings) -> Iterator[ScriptedUpstream]:
    """The upstream that is asked after the first."""
    settings.BREAKER_FAILURES = 2
    forget_breakers()
    with ScriptedUpstream(actor=True) as upstream:
        upstream.reply(body=ANSWER, always=True)
        add_target(SECOND, upstream.base_url)
        yield upstream


def ask(client: Client) -> Any:
    answer = client.create(input="Hello", store=False)
    assert answer.status == 200, answer.body
    return answer.json()


def half_open(name: str) -> None:
    """The time for which a breaker is open passes."""
    assert VALKEY.hset(names.breaker(name), "until", 1) == 0


def test_one_that_has_failed_often_is_asked_no_more_and_comes_back(
    friend: Client, upstream: ScriptedUpstream, second: ScriptedUpstream
) -> None:
    upstream.reply(status=500, body=chat_error("x"), always=True)
    for _ in range(6):
        assert output_text(ask(friend)) == "from the second"
    assert (len(upstream.requests()), len(second.requests())) == (2, 6)
    assert b"until" in breaker(FIRST)
    half_open(FIRST)
    for _ in range(3):
        ask(friend)
    assert len(upstream.requests()) == 3
    half_open(FIRST)
    upstream.reply(body=chat_stream("well again"), always=True)
    assert [output_text(ask(friend)) for _ in range(3)] == ["well again"] * 3
    assert breaker(FIRST) == {}


def test_while_one_request_tries_it_the_others_go_elsewhere(
    friend: Client, upstream: ScriptedUpstream, second: ScriptedUpstream
) -> None:
    upstream.reply(status=500, body=chat_error("x"), always=True)
    for _ in range(2):
        ask(friend)
    half_open(FIRST)
    body = chat_stream("well", " again")
    upstream.reply(body=body, pause_at=body.index(b"well") - 40)
    with friend.stream(input="Hello") as trying:
        tries = upstream.wait_request(count=3)
        assert [output_text(ask(friend)) for _ in range(4)] == ["from the second"] * 4
        assert len(upstream.requests()) == 3
        tries.resume()
        trying.read_all()
    assert breaker(FIRST) == {}


def test_a_client_that_leaves_while_it_is_tried_lets_another_one_try(
    friend: Client, upstream: ScriptedUpstream, second: ScriptedUpstream
) -> None:
    upstream.reply(status=500, body=chat_error("x"), always=True)
    for _ in range(2):
        ask(friend)
    half_open(FIRST)
    upstream.reply(end="mute")
    exchange = friend.stream(input="Hello")
    upstream.wait_request(count=3).wait_paused()
    exchange.close()
    wait_until(lambda: b"probe" not in breaker(FIRST), timeout=10, what="the end of the try")
    ask(friend)
    assert len(upstream.requests()) == 4


def test_where_all_are_open_they_are_asked_all_the_same(
    friend: Client, upstream: ScriptedUpstream, second: ScriptedUpstream
) -> None:
    upstream.reply(status=500, body=chat_error("x"), always=True)
    second.reply(status=503, body=chat_error("x"), always=True)
    for _ in range(4):
        assert friend.create(input="Hello").status == 503
    assert all(b"until" in breaker(name) for name in (FIRST, SECOND))
    assert (len(upstream.requests()), len(second.requests())) == (4, 4)
    upstream.reply(body=chat_stream("well again"), always=True)
    assert output_text(ask(friend)) == "well again"
    assert breaker(FIRST) == {}


def test_a_limit_opens_it_for_as_long_as_it_says(
    friend: Client, upstream: ScriptedUpstream, second: ScriptedUpstream
) -> None:
    upstream.reply(status=429, headers={"retry-after": "300"}, body=chat_error("x"), always=True)
    for _ in range(2):
        ask(friend)
    left = int(breaker(FIRST)[b"until"]) / 1000 - VALKEY.time()[0]
    assert 295 < left <= 301


@pytest.mark.parametrize("status", [401, 403, 408, 429, 500, 504, 529])
def test_what_says_that_it_serves_nobody_is_counted(
    status: int, friend: Client, upstream: ScriptedUpstream, second: ScriptedUpstream
) -> None:
    upstream.reply(status=status, body=chat_error("x"), always=True)
    for _ in range(3):
        ask(friend)
    assert len(upstream.requests()) == 2
    assert b"until" in breaker(FIRST)


@pytest.mark.parametrize("status", [404, 302])
def test_what_says_nothing_about_the_whole_backend_is_not_counted(
    status: int, friend: Client, upstream: ScriptedUpstream, second: ScriptedUpstream
) -> None:
    upstream.reply(status=status, body=chat_error("x"), always=True)
    for _ in range(3):
        ask(friend)
    assert len(upstream.requests()) == 3
    assert breaker(FIRST) == {}


def test_nor_is_what_was_refused_before_it_was_asked_or_what_it_refused(
    friend: Client, upstream: ScriptedUpstream, second: ScriptedUpstream
) -> None:
    upstream.reply(status=400, body=chat_error("too hot"), always=True)
    for _ in range(3):
        assert friend.create(input="Hello").status == 400
    change(FIRST, context_window=1)
    for _ in range(3):
        ask(friend)
    assert breaker(FIRST) == {}


def test_a_break_after_the_first_word_is_not_counted(
    friend: Client, upstream: ScriptedUpstream, second: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_stream("Hel", finish=None, usage=None, done=False), end="cut", always=True)
    for _ in range(3):
        assert friend.create(input="Hello").status == 500
    assert breaker(FIRST) == {}


def test_a_model_with_one_target_has_nothing_to_do_with_breakers(
    friend: Client, upstream: ScriptedUpstream, backend: Backend
) -> None:
    forget_breakers()
    change(FIRST, base_url=closed_address())
    for _ in range(6):
        assert friend.create(input="Hello").status == 500
    assert breaker(FIRST) == {}


def test_an_open_backend_is_passed_over_even_by_reasoning_of_its_own(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream, second: ScriptedUpstream
) -> None:
    thought = frame(chunk({"reasoning_content": "Hm."})) + frame(chunk({"content": "Four."}))
    upstream.reply(body=thought + frame(chunk({}, finish="stop")) + DONE)
    first = friend.create(input="2+2?").json()
    upstream.reply(status=500, body=chat_error("x"), always=True)
    for _ in range(2):
        ask(friend)
    following = friend.create(input="+1?", previous_response_id=first["id"]).json()
    assert output_text(following) == "from the second"
    assert len(upstream.requests()) == 3
    assert tried(row_of(friend_tenant, following["id"])) == []
