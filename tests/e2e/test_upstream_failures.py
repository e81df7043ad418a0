"""A backend that is down, slow, cut off or unwilling: the right error in every mode, and never a hang."""

from collections.abc import Iterator

import pytest

from config.local.valkey import free_port
from tests.support.chat import chat_error, chat_stream, frame
from tests.support.checks import assert_unknown_to, checked_stream, output_text
from tests.support.client import Answer, Client, Json
from tests.support.service import UPSTREAM_KEY, Service
from tests.support.upstream import ScriptedUpstream
from tests.support.upstream_http import End

BEGUN = chat_stream("Hel", "lo", finish=None, usage=None, done=False)
LEAKS = (UPSTREAM_KEY, "127.0.0.1", "/chat/completions", "Traceback")


@pytest.fixture(scope="module")
def backends(running_service: Service) -> Iterator[None]:
    """A backend where nobody listens, and one that loses patience soon."""
    patience = ("--connect-timeout", "0.3", "--first-byte-timeout", "0.4", "--idle-timeout", "0.6")
    with (
        running_service.backend("down", f"http://127.0.0.1:{free_port()}/v1", "down-model"),
        running_service.backend("hasty", running_service.upstream.base_url, "hasty-model", options=patience),
    ):
        yield


@pytest.fixture
def hasty(service: Service, backends: None) -> Client:
    return service.client(service.friend.key, "hasty-model")


@pytest.fixture
def down(service: Service, backends: None) -> Client:
    return service.client(service.friend.key, "down-model")


@pytest.fixture(autouse=True)
def serves_afterwards(friend: Client, stranger: Client, upstream: ScriptedUpstream) -> Iterator[None]:
    """After each failure the next request, of anybody, is served."""
    yield
    upstream.clear()
    assert stranger.create(input="Hello").status == 200


def test_a_backend_that_is_down_is_an_error_at_once(down: Client) -> None:
    assert_model_error(down.create(input="Hello", timeout=10), "upstream_error")
    assert_refused_or_failed(down, "upstream_error")


@pytest.mark.parametrize(("body", "end"), [(b"", "mute"), (b"", "hang"), (BEGUN, "hang")])
def test_a_slow_backend_times_out(hasty: Client, upstream: ScriptedUpstream, body: bytes, end: End) -> None:
    upstream.reply(body=body, end=end, always=True)
    assert_model_error(hasty.create(input="Hello", timeout=10), "upstream_timeout")
    assert_refused_or_failed(hasty, "upstream_timeout")
    upstream.wait_request().wait_closed()


@pytest.mark.parametrize("end", ["cut", "reset", "close"])
def test_a_stream_that_ends_too_early_fails_after_what_was_told(
    friend: Client, stranger: Client, upstream: ScriptedUpstream, end: End
) -> None:
    upstream.reply(body=BEGUN, end=end, always=True)
    assert_model_error(friend.create(input="Hello", timeout=10), "upstream_error")
    exchange = friend.read_stream(input="Hello", timeout=10)
    failed = checked_stream(exchange, friend)
    assert exchange.types[-2:] == ["error", "response.failed"]
    assert exchange.events[-2]["error"]["type"] == "model_error"
    assert failed["error"]["code"] == "upstream_error"
    assert output_text(failed) == "Hello"
    assert_unknown_to(stranger, failed["id"])


@pytest.mark.parametrize("end", ["cut", "reset"])
def test_a_connection_that_ends_before_any_byte_is_an_error(
    friend: Client, upstream: ScriptedUpstream, end: End
) -> None:
    upstream.reply(end=end, always=True)
    assert_model_error(friend.create(input="Hello", timeout=10), "upstream_error")
    assert_refused_or_failed(friend, "upstream_error")


def test_an_error_inside_a_stream_fails_the_response(friend: Client, upstream: ScriptedUpstream) -> None:
    upstream.reply(body=BEGUN + frame(chat_error("The model fell over")))
    exchange = friend.read_stream(input="Hello", timeout=10)
    failed = checked_stream(exchange, friend)
    assert exchange.types[-2:] == ["error", "response.failed"]
    assert failed["status"] == "failed"


def test_a_rate_limit_stays_one_with_its_retry_after(friend: Client, upstream: ScriptedUpstream) -> None:
    upstream.reply(status=429, headers={"retry-after": "7"}, body=chat_error("slow down"), always=True)
    for answer in (friend.create(input="Hello"), first_answer(friend)):
        assert (answer.status, answer.error["type"]) == (429, "too_many_requests")
        assert answer.headers["retry-after"] == "7"


def test_an_overflowing_context_is_the_callers_error(friend: Client, upstream: ScriptedUpstream) -> None:
    body = chat_error("This model's maximum context length is 8 tokens", code="context_length_exceeded")
    upstream.reply(status=400, body=body)
    answer = friend.create(input="Hello")
    assert (answer.status, answer.error["code"]) == (400, "context_length_exceeded")


@pytest.mark.parametrize("status", [401, 403, 500, 502, 503])
def test_a_broken_backend_tells_nothing_of_itself(
    friend: Client, upstream: ScriptedUpstream, status: int
) -> None:
    secret = f"key {UPSTREAM_KEY} refused at {upstream.base_url}/chat/completions".encode()
    upstream.reply(status=status, body=chat_error(secret.decode()), always=True)
    answer = friend.create(input="Hello")
    assert answer.status in (500, 503)
    assert answer.error["type"] in ("model_error", "server_error")
    assert_refused_or_failed(friend)


def assert_model_error(answer: Answer, code: str) -> None:
    assert (answer.status, answer.error["type"], answer.error["code"]) == (500, "model_error", code)
    assert_no_leak(answer.body)


def assert_refused_or_failed(client: Client, code: str | None = None) -> None:
    """A stream that could not begin is refused with a status; one that had begun ends in failure."""
    with client.stream(input="Hello") as exchange:
        answer = exchange.answer(timeout=10)
    assert_no_leak(answer.body)
    error: Json
    if answer.status == 200:
        error = checked_stream(exchange, client)["error"]
        assert exchange.types[-2:] == ["error", "response.failed"]
    else:
        error = answer.error
    assert code is None or error["code"] == code


def first_answer(client: Client) -> Answer:
    """The answer to a request for a stream."""
    with client.stream(input="Hello") as exchange:
        return exchange.answer(timeout=10)


def assert_no_leak(body: bytes) -> None:
    for leak in LEAKS:
        assert leak not in body.decode(), body
