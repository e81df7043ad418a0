"""Rounds and several backends: who answered goes on, another one takes over only before a round's first word."""

from collections.abc import Iterator

import pytest

from responses_api.models import Backend
from tenants.models import Tenant
from tests.integration.http.routes import SECOND, add_target, forget_breakers, row_of, tried, upstreams
from tests.integration.tools.reading import TOOLS, add, receipts
from tests.support.abacus import Abacus
from tests.support.chat import chat_calls, chat_error, chat_stream
from tests.support.checks import checked_response, output_text
from tests.support.client import Client, Json
from tests.support.upstream import ScriptedUpstream

BROKEN: Json = {"status": 503, "body": chat_error("x")}


@pytest.fixture
def second(backend: Backend) -> Iterator[ScriptedUpstream]:
    """The upstream that is asked after the first."""
    forget_breakers()
    (made,) = upstreams(1)
    add_target(SECOND, made.base_url)
    yield made
    made.stop()


def test_the_backend_that_answered_is_asked_first_in_the_next_round(
    friend: Client, upstream: ScriptedUpstream, second: ScriptedUpstream, abacus: Abacus
) -> None:
    upstream.reply(**BROKEN)
    second.reply(body=chat_calls(add(1, 1)))
    second.reply(body=chat_stream("2"))
    final = checked_response(friend, friend.create(input="Add", tools=TOOLS).json())
    assert output_text(final) == "2"
    assert (len(upstream.requests()), len(second.requests())) == (1, 2)


def test_another_backend_takes_over_a_round_of_which_nothing_was_told(
    friend: Client,
    friend_tenant: Tenant,
    upstream: ScriptedUpstream,
    second: ScriptedUpstream,
    abacus: Abacus,
) -> None:
    upstream.reply(body=chat_calls(add(1, 1)))
    upstream.reply(**BROKEN)
    second.reply(body=chat_stream("2"))
    final = checked_response(friend, friend.create(input="Add", tools=TOOLS).json())
    assert (output_text(final), receipts(final)[0]["output"]) == ("2", "2")
    assert second.requests()[0].body["messages"][-1]["content"] == "2"
    row = row_of(friend_tenant, final["id"])
    assert (row.backend, tried(row)) == (SECOND, [("scripted", "overloaded", 503)])
    assert len(abacus.ran) == 1


def test_a_round_that_breaks_off_in_its_words_fails_with_what_was_run(
    friend: Client, upstream: ScriptedUpstream, second: ScriptedUpstream, abacus: Abacus
) -> None:
    upstream.reply(body=chat_calls(add(1, 1)))
    upstream.reply(body=chat_stream("It ", finish=None, usage=None, done=False), end="cut")
    exchange = friend.read_stream(input="Add", tools=TOOLS)
    final = exchange.events[-1]["response"]
    assert (final["status"], receipts(final)[0]["output"]) == ("failed", "2")
    assert second.requests() == []
