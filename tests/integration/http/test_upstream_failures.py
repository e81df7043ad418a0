"""A backend that is down, slow, cut off or unwilling: the right error in both modes, and never a hang."""

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from config.local.valkey import free_port
from responses_api.models import Backend
from responses_api.services import routing
from tests.integration.fixtures import UPSTREAM_KEY
from tests.support.chat import chat_error, chat_stream, frame
from tests.support.checks import assert_unknown_to, checked_stream, output_text, stored_response
from tests.support.client import Answer, Client, Json
from tests.support.upstream import ScriptedUpstream
from tests.support.upstream_http import End

BEGUN = chat_stream("Hel", "lo", finish=None, usage=None, done=False)
SAID_BY_UPSTREAM = "account kumquat of user@example.com at https://upstream.internal/v1"
LEAKS = (
    UPSTREAM_KEY,
    "127.0.0.1",
    "/chat/completions",
    "Traceback",
    "kumquat",
    "upstream.internal",
    "example.com",
)


@pytest.fixture(autouse=True)
def serves_afterwards(friend: Client, stranger: Client, upstream: ScriptedUpstream) -> Iterator[None]:
    """After each failure the next request, of anybody, is served."""
    yield
    upstream.clear()
    Backend.objects.update(base_url=upstream.base_url)
    routing.read_models()
    assert stranger.create(input="Hello").status == 200


@pytest.fixture
def impatient(backend: Backend) -> None:
    """The backend's patience is short."""
    Backend.objects.update(connect_timeout=0.1, first_byte_timeout=0.15, idle_timeout=0.2)
    routing.read_models()


def assert_error(answer: Answer, status: int, kind: str, code: str) -> Json:
    assert (answer.status, answer.error["type"], answer.error["code"]) == (status, kind, code)
    for leak in LEAKS:
        assert leak not in answer.body.decode()
    return answer.error


def refused_stream(client: Client) -> Answer:
    """The answer to a streaming request that was refused before the first event."""
    with client.stream(input="Hello") as exchange:
        return exchange.answer()


def failed_stream(client: Client, stranger: Client, code: str) -> Json:
    """A stream that began and failed: its final snapshot, which GET tells, too."""
    exchange = client.read_stream(input="Hello")
    failed = checked_stream(exchange, client)
    assert exchange.types[-2:] == ["error", "response.failed"]
    assert exchange.events[-2]["error"]["code"] == failed["error"]["code"] == code
    assert_unknown_to(stranger, failed["id"])
    for leak in LEAKS:
        assert leak not in exchange.raw.decode()
    return failed


@pytest.mark.parametrize("stream", [False, True])
def test_429_stays_429_with_its_retry_after(stream: bool, friend: Client, upstream: ScriptedUpstream) -> None:
    upstream.reply(status=429, headers={"retry-after": "7"}, body=chat_error(SAID_BY_UPSTREAM))
    answer = refused_stream(friend) if stream else friend.create(input="Hello")
    assert_error(answer, 429, "too_many_requests", "rate_limit_exceeded")
    assert answer.headers["retry-after"] == "7"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("status", [401, 403])
def test_the_upstreams_refusal_of_our_key_is_never_the_clients(
    status: int, stream: bool, friend: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(status=status, body=chat_error(f"Incorrect API key: {UPSTREAM_KEY}"))
    answer = refused_stream(friend) if stream else friend.create(input="Hello")
    assert_error(answer, 500, "model_error", "upstream_error")
    assert "www-authenticate" not in answer.headers


@pytest.mark.parametrize(
    ("status", "kind", "code", "told"),
    [
        (500, "model_error", "upstream_error", 500),
        (502, "model_error", "upstream_error", 500),
        (302, "model_error", "upstream_error", 500),
        (504, "model_error", "upstream_timeout", 500),
        (503, "server_error", "overloaded", 503),
    ],
)
def test_an_outage_is_told_by_its_status(
    status: int, kind: str, code: str, told: int, friend: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(
        status=status, body=chat_error(f"rate limit 429 context length {SAID_BY_UPSTREAM}"), always=True
    )
    assert_error(friend.create(input="Hello"), told, kind, code)
    assert_error(refused_stream(friend), told, kind, code)


def test_an_answer_that_failed_is_kept_and_a_request_that_was_refused_is_not(
    friend: Client, stranger: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=BEGUN, end="cut")
    friend.create(input="Hello")
    (failed,) = friend.get("/responses").json()["data"]
    assert (failed["status"], failed["error"]["code"]) == ("failed", "upstream_error")
    assert stored_response(friend, failed["id"]) == failed
    assert_unknown_to(stranger, failed["id"])
    upstream.reply(status=400, body=chat_error("This model's maximum context length is 8 tokens"))
    error = assert_error(friend.create(input="Hello"), 400, "invalid_request", "context_length_exceeded")
    assert error["param"] == "input"
    upstream.reply(status=500, body=chat_error("x"))
    assert_error(friend.create(input="Hello"), 500, "model_error", "upstream_error")
    assert len(friend.get("/responses").json()["data"]) == 1


def test_a_backend_that_is_down_is_an_error_at_once(friend: Client, backend: Backend) -> None:
    Backend.objects.update(base_url=f"http://127.0.0.1:{free_port()}/v1")
    routing.read_models()
    assert_error(friend.create(input="Hello"), 500, "model_error", "upstream_error")
    assert_error(refused_stream(friend), 500, "model_error", "upstream_error")


@pytest.mark.parametrize("end", ["cut", "reset", "close"])
def test_an_answer_that_ends_too_early_fails_after_what_was_told(
    end: End, friend: Client, stranger: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=BEGUN, end=end, always=True)
    assert_error(friend.create(input="Hello"), 500, "model_error", "upstream_error")
    failed = failed_stream(friend, stranger, "upstream_error")
    assert output_text(failed) == "Hello"
    assert failed["output"][0]["status"] == "incomplete"


@pytest.mark.parametrize("body", [b"", b"<html>", b"{", chat_error(SAID_BY_UPSTREAM), frame(b'{"broken')])
def test_a_200_that_is_no_answer_is_an_error(body: bytes, friend: Client, upstream: ScriptedUpstream) -> None:
    upstream.reply(body=body, always=True)
    assert_error(friend.create(input="Hello"), 500, "model_error", "upstream_error")
    exchange = friend.read_stream(input="Hello")
    assert exchange.types[-2:] == ["error", "response.failed"]
    checked_stream(exchange, friend)


def test_an_error_object_in_a_stream_fails_after_what_was_told(
    friend: Client, stranger: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=BEGUN + frame(chat_error(SAID_BY_UPSTREAM)), always=True)
    assert_error(friend.create(input="Hello"), 500, "model_error", "upstream_error")
    assert output_text(failed_stream(friend, stranger, "upstream_error")) == "Hello"


@pytest.mark.parametrize("end", ["mute", "hang"])
def test_an_upstream_that_never_begins_times_out_and_is_left(
    end: End, friend: Client, upstream: ScriptedUpstream, impatient: None
) -> None:
    upstream.reply(end=end, always=True)
    assert_error(friend.create(input="Hello"), 500, "model_error", "upstream_timeout")
    upstream.wait_request().wait_closed()


def test_a_mute_upstream_refuses_a_stream_that_has_not_begun(
    friend: Client, upstream: ScriptedUpstream, impatient: None
) -> None:
    upstream.reply(end="mute")
    assert_error(refused_stream(friend), 500, "model_error", "upstream_timeout")
    upstream.wait_request().wait_closed()


def test_a_mute_upstream_fails_a_stream_that_has_begun(
    friend: Client, stranger: Client, upstream: ScriptedUpstream, impatient: None, settings: Settings
) -> None:
    settings.START_SECONDS = 0.02
    upstream.reply(end="mute", always=True)
    assert failed_stream(friend, stranger, "upstream_timeout")["output"] == []


@pytest.mark.parametrize("end", ["hang", "drip"])
def test_an_upstream_that_falls_silent_or_never_ends_times_out_after_what_was_told(
    end: End, friend: Client, stranger: Client, upstream: ScriptedUpstream, impatient: None
) -> None:
    Backend.objects.update(total_timeout=0.4)
    routing.read_models()
    upstream.reply(body=BEGUN, end=end, always=True)
    assert output_text(failed_stream(friend, stranger, "upstream_timeout")) == "Hello"
    upstream.wait_request().wait_closed()


def test_a_response_that_takes_longer_than_the_server_allows_fails(
    friend: Client, stranger: Client, upstream: ScriptedUpstream, settings: Settings
) -> None:
    settings.RESPONSE_SECONDS = 0.3
    upstream.reply(body=BEGUN, end="drip", always=True)
    assert output_text(failed_stream(friend, stranger, "upstream_timeout")) == "Hello"
    upstream.wait_request().wait_closed()


def test_a_key_variable_that_is_not_set_is_our_fault_and_stays_unnamed(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    Backend.objects.update(api_key_env="NO_SUCH_VARIABLE")
    routing.read_models()
    answer = friend.create(input="Hello")
    Backend.objects.update(api_key_env="TEST_UPSTREAM_KEY")
    routing.read_models()
    assert_error(answer, 500, "model_error", "upstream_error")
    assert "NO_SUCH_VARIABLE" not in answer.body.decode()
    assert upstream.requests() == []


def test_what_the_backends_format_cannot_say_is_refused_by_name_and_not_kept(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    file = {"type": "input_file", "file_url": "https://h/x.pdf"}
    for answer in (
        friend.create(input=[{"role": "user", "content": [file]}]),
        friend.create(input=[{"type": "acme:thing"}]),
    ):
        assert (answer.status, answer.error["type"]) == (400, "invalid_request")
        assert answer.error["param"].startswith("input")
    assert upstream.requests() == []
    assert friend.get("/responses").json()["data"] == []
