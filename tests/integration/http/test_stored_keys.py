"""A backend whose key is stored with it: the upstream gets it, and nothing else holds or tells it."""

from typing import Any

import pytest
from pytest_django import Settings

from responses_api.eventlog import names
from responses_api.eventlog.connection import blocking_client
from responses_api.models import Backend
from responses_api.services import backend_keys, routing
from tests.support.chat import chat_error, chat_stream
from tests.support.checks import checked_stream
from tests.support.client import Client
from tests.support.upstream import ScriptedUpstream
from workers import secrets

KEY = "sk-robin-0123456789"
VALKEY: Any = blocking_client()


@pytest.fixture
def keyed(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> Backend:
    """The upstream as a backend with a key of its own."""
    monkeypatch.setattr(secrets, "_stored", {})
    backend.api_key_env = ""
    backend.save()
    backend_keys.store(backend, KEY)
    routing.read_models()
    return backend


def everything_in_valkey() -> bytes:
    """What every key of Valkey holds, as it is dumped: jobs, journals, inboxes, the broker's messages."""
    return b"".join(VALKEY.dump(key) or b"" for key in VALKEY.keys("*"))


def test_the_upstream_gets_it_and_neither_the_job_nor_the_log_does(
    keyed: Backend, friend: Client, upstream: ScriptedUpstream, caplog: pytest.LogCaptureFixture
) -> None:
    body = chat_stream("Hel", "lo")
    upstream.reply(body=body, pause_at=body.index(b"lo"))
    exchange = friend.stream(input="Hello")
    request = upstream.wait_request()
    request.wait_paused()
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert VALKEY.keys(names.job("*"))
    assert KEY.encode() not in everything_in_valkey()
    request.resume()
    exchange.read_all()
    checked_stream(exchange, friend)
    assert KEY not in caplog.text
    assert KEY not in str(exchange.events)


def test_an_error_that_quotes_it_is_told_without_it(
    keyed: Backend,
    friend: Client,
    stranger: Client,
    upstream: ScriptedUpstream,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for status in (401, 400, 500):
        upstream.reply(body=chat_error(f"Incorrect API key provided: {KEY}."), status=status)
        answer = friend.create(input="Hello")
        assert answer.status >= 400
        assert KEY.encode() not in answer.body
    assert KEY not in caplog.text
    assert stranger.get("/responses").json()["data"] == []


def test_a_key_that_does_not_open_fails_the_response_and_only_the_log_says_why(
    keyed: Backend,
    friend: Client,
    upstream: ScriptedUpstream,
    settings: Settings,
    caplog: pytest.LogCaptureFixture,
) -> None:
    settings.SEAL_KEYS = (b"3" * 32,)
    backend_keys.store(keyed, KEY)
    settings.SEAL_KEYS = ()
    answer = friend.create(input="Hello")
    error = answer.json()["error"]
    assert (answer.status, error["type"]) == (500, "model_error")
    assert error["message"] == "The credentials of the model's backend are not configured."
    assert "ANTIPHON_SEAL_KEYS lacks the key" in caplog.text
    assert upstream.requests() == []
