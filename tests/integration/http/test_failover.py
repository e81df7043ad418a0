"""A model that several backends serve: who cannot answer is passed over, and nobody is asked twice for one answer."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pytest_django import Settings

from responses_api.models import Backend
from tenants.models import Tenant
from tests.integration.fixtures import MODEL, UPSTREAM_MODEL
from tests.integration.http.routes import (
    SECOND,
    THIRD,
    add_target,
    change,
    charged,
    closed_address,
    deaf_address,
    forget_breakers,
    row_of,
    tried,
    upstreams,
)
from tests.support.asgi import AsgiServer
from tests.support.chat import DONE, chat_error, chat_stream, chunk, frame, usage_of
from tests.support.checks import assert_unknown_to, checked_response, checked_stream, output_text
from tests.support.client import Answer, Client, Json, wait_until
from tests.support.upstream import ScriptedUpstream
from tests.support.websocket import Socket

BEGUN = chat_stream("Hel", "lo", finish=None, usage=None, done=False)
EMPTY_BEGINNING = frame(chunk({"role": "assistant", "content": ""}))
USAGE_ALONE = EMPTY_BEGINNING + frame(chunk({}) | {"choices": [], "usage": usage_of((9, 0))})
ANSWER = chat_stream("from the second")
FAILURES: dict[str, Json] = {
    "aborted": {"end": "abort"},
    "silent": {"end": "mute"},
    "429": {"status": 429, "headers": {"retry-after": "7"}, "body": chat_error("x")},
    "500": {"status": 500, "body": chat_error("x")},
    "502": {"status": 502, "body": b"<html>"},
    "503": {"status": 503, "body": chat_error("x")},
    "529": {"status": 529, "body": chat_error("x")},
    "401": {"status": 401, "body": chat_error("x")},
    "404": {"status": 404, "body": chat_error("x")},
    "302": {"status": 302, "headers": {"location": "http://127.0.0.1:9/"}},
    "an error in the stream": {"body": EMPTY_BEGINNING + frame(chat_error("x"))},
    "an error as the stream": {"body": chat_error("x")},
    "cut before anything": {"end": "cut"},
    "cut after the usage": {"body": USAGE_ALONE, "end": "cut"},
    "reset after the usage": {"body": USAGE_ALONE, "end": "reset"},
    "an empty body": {},
    "silent after the status": {"end": "hang"},
}
REASONS = {
    "silent": ("upstream_timeout", None),
    "429": ("rate_limit_exceeded", 429),
    "500": ("upstream_error", 500),
    "502": ("upstream_error", 502),
    "503": ("overloaded", 503),
    "529": ("overloaded", 529),
    "401": ("upstream_error", 401),
    "404": ("upstream_error", 404),
    "302": ("upstream_error", 302),
    "silent after the status": ("upstream_timeout", None),
}


@pytest.fixture(scope="module")
def running() -> Iterator[list[ScriptedUpstream]]:
    """Two more upstreams."""
    more = upstreams(2)
    yield more
    for each in more:
        each.stop()


@pytest.fixture
def second(backend: Backend, running: list[ScriptedUpstream]) -> ScriptedUpstream:
    """The upstream that is asked after the first."""
    running[0].clear()
    forget_breakers()
    add_target(SECOND, running[0].base_url)
    return running[0]


@pytest.fixture
def third(second: ScriptedUpstream, running: list[ScriptedUpstream]) -> ScriptedUpstream:
    """The upstream that is asked after the second."""
    running[1].clear()
    add_target(THIRD, running[1].base_url, position=2)
    return running[1]


def script(upstream: ScriptedUpstream, name: str, failure: str) -> None:
    """Let a backend fail once in this way; nobody waits long for one that is silent."""
    if failure.startswith("silent"):
        change(name, connect_timeout=0.3, first_byte_timeout=0.2)
    upstream.reply(**FAILURES[failure])


def answered_as_json(client: Client, server: AsgiServer) -> Json:
    return checked_response(client, client.create(input="Hello").json())


def answered_as_stream(client: Client, server: AsgiServer) -> Json:
    exchange = client.read_stream(input="Hello")
    assert exchange.types.count("response.created") == exchange.types.count("response.in_progress") == 1
    assert "error" not in exchange.types
    return checked_stream(exchange, client)


def answered_in_the_background(client: Client, server: AsgiServer) -> Json:
    begun = client.create(input="Hello", background=True).json()
    path = f"/responses/{begun['id']}"
    found = wait_until(lambda: _ended(client.get(path).json()), timeout=10, what="the end of the response")
    assert isinstance(found, dict)
    return found


def _ended(found: Json) -> Json | None:
    return None if found["status"] in ("queued", "in_progress") else found


def answered_over_a_socket(client: Client, server: AsgiServer) -> Json:
    with Socket(server, client.key) as socket:
        socket.create(input="Hello", store=True)
        return socket.read_response(client)


WAYS: list[Callable[[Client, AsgiServer], Json]] = [
    answered_as_json,
    answered_as_stream,
    answered_in_the_background,
    answered_over_a_socket,
]


def refusal_of(client: Client, *, stream: bool) -> Answer:
    if not stream:
        return client.create(input="Hello")
    with client.stream(input="Hello") as exchange:
        return exchange.answer()


@pytest.mark.parametrize("ask", WAYS)
@pytest.mark.parametrize("failure", list(FAILURES))
def test_the_next_backend_answers_where_one_fails_in_whatever_way(
    failure: str,
    ask: Callable[[Client, AsgiServer], Json],
    server: AsgiServer,
    friend: Client,
    stranger: Client,
    friend_tenant: Tenant,
    upstream: ScriptedUpstream,
    second: ScriptedUpstream,
) -> None:
    script(upstream, "scripted", failure)
    second.reply(body=ANSWER)
    response = ask(friend, server)
    assert (response["status"], output_text(response)) == ("completed", "from the second")
    assert (len(upstream.requests()), len(second.requests())) == (1, 1)
    row = row_of(friend_tenant, response["id"])
    reason, status = REASONS.get(failure, ("upstream_error", None))
    assert (row.backend, tried(row)) == (SECOND, [("scripted", reason, status)])
    (entry,) = charged(friend_tenant)
    assert (entry.backend, entry.input_tokens, entry.output_tokens) == (SECOND, 7, 5)
    assert_unknown_to(stranger, response["id"])


@pytest.mark.parametrize("ask", WAYS)
@pytest.mark.parametrize("is_deaf", [False, True])
def test_a_backend_that_cannot_be_reached_is_passed_over(
    is_deaf: bool,
    ask: Callable[[Client, AsgiServer], Json],
    server: AsgiServer,
    friend: Client,
    friend_tenant: Tenant,
    second: ScriptedUpstream,
) -> None:
    second.reply(body=ANSWER)
    with deaf_address() as deaf:
        change("scripted", base_url=deaf if is_deaf else closed_address(), connect_timeout=0.3)
        response = ask(friend, server)
    assert output_text(response) == "from the second"
    reason = "upstream_timeout" if is_deaf else "upstream_error"
    assert tried(row_of(friend_tenant, response["id"])) == [("scripted", reason, None)]


def test_what_is_not_stored_falls_over_as_well(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream, second: ScriptedUpstream
) -> None:
    upstream.reply(status=500, body=chat_error("x"))
    second.reply(body=ANSWER)
    assert output_text(friend.create(input="Hello", store=False).json()) == "from the second"
    (entry,) = charged(friend_tenant)
    assert entry.backend == SECOND


def test_two_that_fail_are_both_passed_over_and_told_in_their_order(
    friend: Client,
    friend_tenant: Tenant,
    upstream: ScriptedUpstream,
    second: ScriptedUpstream,
    third: ScriptedUpstream,
) -> None:
    upstream.reply(end="abort")
    second.reply(status=503, body=chat_error("x"))
    third.reply(body=chat_stream("from the third"))
    response = friend.create(input="Hello").json()
    assert output_text(response) == "from the third"
    row = row_of(friend_tenant, response["id"])
    assert tried(row) == [("scripted", "upstream_error", None), (SECOND, "overloaded", 503)]
    assert [len(each.requests()) for each in (upstream, second, third)] == [1, 1, 1]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "refusal",
    [
        {"status": 400, "body": chat_error("temperature is too hot")},
        {"status": 422, "body": chat_error("temperature is too hot")},
    ],
)
def test_a_request_that_a_backend_refuses_is_refused(
    refusal: Json, stream: bool, friend: Client, upstream: ScriptedUpstream, second: ScriptedUpstream
) -> None:
    upstream.reply(**refusal)
    answer = refusal_of(friend, stream=stream)
    assert (answer.status, answer.error["code"]) == (400, "upstream_rejected")
    assert second.requests() == []


@pytest.mark.parametrize("end", ["cut", "reset", "close", "hang"])
def test_after_the_first_word_nothing_is_asked_again(
    end: Any, friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream, second: ScriptedUpstream
) -> None:
    change("scripted", idle_timeout=0.3)
    upstream.reply(body=BEGUN, end=end, always=True)
    failed = checked_stream(friend.read_stream(input="Hello"), friend)
    assert (failed["status"], output_text(failed)) == ("failed", "Hello")
    assert friend.create(input="Hello").status == 500
    assert (len(upstream.requests()), len(second.requests())) == (2, 0)
    assert row_of(friend_tenant, failed["id"]).tried is None


def test_a_stream_that_had_to_begin_meanwhile_goes_on_with_the_next_backend(
    friend: Client, upstream: ScriptedUpstream, second: ScriptedUpstream, settings: Settings
) -> None:
    settings.START_SECONDS = 0.02
    script(upstream, "scripted", "silent")
    second.reply(body=ANSWER)
    assert output_text(answered_as_stream(friend, None)) == "from the second"  # type: ignore[arg-type]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("first", "other", "status", "code", "wait"),
    [
        ("429", "500", 429, "rate_limit_exceeded", "7"),
        ("500", "429", 429, "rate_limit_exceeded", "7"),
        ("429", "503", 503, "overloaded", None),
        ("silent", "404", 500, "upstream_timeout", None),
        ("500", "silent", 500, "upstream_error", None),
        ("cut before anything", "429", 429, "rate_limit_exceeded", "7"),
    ],
)
def test_where_all_fail_the_client_is_told_what_helps_it_most(
    first: str,
    other: str,
    status: int,
    code: str,
    wait: str | None,
    stream: bool,
    friend: Client,
    upstream: ScriptedUpstream,
    second: ScriptedUpstream,
) -> None:
    script(upstream, "scripted", first)
    script(second, SECOND, other)
    answer = refusal_of(friend, stream=stream)
    assert (answer.status, answer.error["code"], answer.headers.get("retry-after")) == (status, code, wait)
    assert (len(upstream.requests()), len(second.requests())) == (1, 1)
    assert friend.get("/responses").json()["data"] == []


def test_who_leaves_before_the_first_word_pays_for_what_was_read(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream, second: ScriptedUpstream
) -> None:
    upstream.reply(body=USAGE_ALONE, end="hang")
    exchange = friend.stream(input="Hello")
    exchange.read_event("response.in_progress")
    exchange.close()
    (row,) = wait_until(lambda: charged(friend_tenant), timeout=10, what="a row of the ledger")
    assert (row.status, row.backend, row.is_estimated) == ("cancelled", "scripted", True)
    assert row.input_tokens > 0
    assert not second.requests()


def test_a_background_response_that_nobody_can_answer_tells_whom_was_asked(
    friend: Client,
    friend_tenant: Tenant,
    server: AsgiServer,
    upstream: ScriptedUpstream,
    second: ScriptedUpstream,
) -> None:
    upstream.reply(status=500, body=chat_error("x"))
    second.reply(status=503, body=chat_error("x"))
    failed = answered_in_the_background(friend, server)
    assert (failed["status"], failed["error"]["code"]) == ("failed", "overloaded")
    row = row_of(friend_tenant, failed["id"])
    assert tried(row) == [("scripted", "upstream_error", 500), (SECOND, "overloaded", 503)]


def test_what_one_backend_cannot_take_another_one_may(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream, second: ScriptedUpstream
) -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
    message = {"role": "user", "content": [image]}
    change("scripted", images="refused")
    second.reply(body=ANSWER)
    response = friend.create(input=[message]).json()
    assert output_text(response) == "from the second"
    assert tried(row_of(friend_tenant, response["id"])) == [("scripted", "unsupported_value", None)]
    change(SECOND, images="refused")
    answer = friend.create(input=[message])
    assert (answer.status, answer.error["param"]) == (400, "input[0].content[0]")
    assert upstream.requests() == []


def test_an_input_too_long_for_one_backend_goes_to_one_that_takes_more(
    friend: Client, upstream: ScriptedUpstream, second: ScriptedUpstream
) -> None:
    long = "many words " * 200
    change("scripted", context_window=100)
    second.reply(body=ANSWER)
    assert output_text(friend.create(input=long).json()) == "from the second"
    assert upstream.requests() == []
    upstream.reply(status=400, body=chat_error("maximum context length is 8 tokens"))
    second.reply(body=ANSWER)
    change("scripted", context_window=None)
    assert output_text(friend.create(input=long).json()) == "from the second"


def test_what_was_dropped_for_a_backend_that_failed_is_not_told(
    friend: Client, upstream: ScriptedUpstream, second: ScriptedUpstream
) -> None:
    turns = [{"role": "user", "content": "many words " * 50}, {"role": "assistant", "content": "Yes."}]
    change("scripted", context_window=200)
    upstream.reply(body=USAGE_ALONE, end="cut")
    second.reply(body=ANSWER)
    conversation: list[Json] = [*turns, *turns, {"role": "user", "content": "And?"}]
    exchange = friend.read_stream(input=conversation, truncation="auto")
    final = checked_stream(exchange, friend)
    assert (final["status"], output_text(final)) == ("completed", "from the second")
    assert "antiphon:truncation" not in final
    assert len(upstream.requests()[0].body["messages"]) < len(second.requests()[0].body["messages"])


def test_a_client_that_leaves_ends_the_asking(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream, second: ScriptedUpstream
) -> None:
    upstream.reply(end="mute")
    exchange = friend.stream(input="Hello")
    upstream.wait_request().wait_paused()
    exchange.close()
    upstream.requests()[0].wait_closed()
    wait_until(lambda: charged(friend_tenant), timeout=10, what="the end of the request")
    assert second.requests() == []


def test_all_targets_together_have_no_longer_than_the_response(
    friend: Client, upstream: ScriptedUpstream, second: ScriptedUpstream, settings: Settings
) -> None:
    settings.RESPONSE_SECONDS = 2.0
    script(upstream, "scripted", "silent")
    second.reply(end="mute")
    answer = friend.create(input="Hello")
    assert (answer.status, answer.error["code"]) == (500, "upstream_timeout")
    assert (len(upstream.requests()), len(second.requests())) == (1, 1)
    second.requests()[0].wait_closed()


def test_a_backend_of_an_unknown_kind_is_passed_over(
    friend: Client, upstream: ScriptedUpstream, second: ScriptedUpstream
) -> None:
    change("scripted", kind="of_tomorrow")
    second.reply(body=ANSWER)
    assert output_text(friend.create(input="Hello").json()) == "from the second"
    assert upstream.requests() == []


def test_tokens_are_counted_by_the_first_that_can_take_the_request(
    friend: Client, upstream: ScriptedUpstream, second: ScriptedUpstream
) -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
    change("scripted", images="refused")
    body = {"model": MODEL, "input": [{"role": "user", "content": [image]}]}
    answer = friend.request("POST", "/responses/input_tokens", body)
    assert answer.status == 200
    assert answer.json()["input_tokens"] > 0


def test_a_compaction_falls_over_and_is_charged_where_it_was_made(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream, second: ScriptedUpstream
) -> None:
    upstream.reply(body=BEGUN, end="cut")
    second.reply(body=chat_stream("A summary."))
    body = {"model": MODEL, "input": [{"role": "user", "content": "Hello"}]}
    answer = friend.request("POST", "/responses/compact", body)
    assert answer.status == 200, answer.body
    assert answer.json()["usage"]["total_tokens"] == 12
    (entry,) = charged(friend_tenant)
    assert (entry.backend, entry.input_tokens) == (SECOND, 7)


def test_an_answer_costs_what_its_own_backend_charges(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream, second: ScriptedUpstream
) -> None:
    change("scripted", input_price=1000, output_price=1000)
    change(SECOND, input_price=3, output_price=2)
    upstream.reply(status=500, body=chat_error("x"))
    second.reply(body=ANSWER)
    friend.create(input="Hello")
    (entry,) = charged(friend_tenant)
    assert (entry.input_price, entry.cost_nanos) == (3_000_000_000, 7 * 3_000 + 5 * 2_000)


def test_reasoning_sticks_to_the_backend_that_thought_it(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream, second: ScriptedUpstream
) -> None:
    thought = (
        frame(chunk({"reasoning_content": "Hm."}))
        + frame(chunk({"content": "Four."}))
        + frame(chunk({}, finish="stop"))
        + DONE
    )
    upstream.reply(status=500, body=chat_error("x"))
    second.reply(body=thought)
    first = friend.create(input="2+2?").json()
    second.reply(body=chat_stream("Five."))
    following = friend.create(input="+1?", previous_response_id=first["id"]).json()
    assert output_text(following) == "Five."
    assert second.requests()[-1].body["messages"][1]["reasoning_content"] == "Hm."
    assert len(upstream.requests()) == 1
    # Where it fails, the other one goes on without the reasoning.
    second.reply(status=500, body=chat_error("x"))
    upstream.reply(body=chat_stream("Six."))
    last = friend.create(input="+1?", previous_response_id=first["id"]).json()
    assert output_text(last) == "Six."
    assert "reasoning_content" not in upstream.requests()[-1].body["messages"][1]
    assert row_of(friend_tenant, last["id"]).backend == "scripted"


def test_a_prompt_cache_sticks_to_its_backend_and_others_go_by_weight(
    friend: Client, upstream: ScriptedUpstream, second: ScriptedUpstream
) -> None:
    change(SECOND, position=0)
    for number in range(100):
        friend.create(input="Hello", prompt_cache_key="cache-7", store=False)
        friend.create(input="Hello", prompt_cache_key=f"other-{number}", store=False)
    seen = {each: [request.body["model"] for request in each.requests()] for each in (upstream, second)}
    counts = sorted(map(len, seen.values()))
    assert sum(counts) == 200
    # All hundred of the one cache are on one side; of the others about half are.
    assert 25 <= counts[0] <= 75
    assert {model for models in seen.values() for model in models} == {UPSTREAM_MODEL}
