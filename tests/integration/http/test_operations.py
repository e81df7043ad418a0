"""What operators and load balancers see: health, request ids, and logs that hold ids and no content."""

import json
import logging
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
import structlog
from django.db import connection

from config.local.valkey import free_port
from responses_api.eventlog import claims, names
from responses_api.eventlog.connection import asyncio_client, blocking_client
from tenants.models import Tenant
from tests.integration.fixtures import UPSTREAM_KEY
from tests.support.chat import chat_error, chat_stream
from tests.support.checks import checked_stream
from tests.support.client import Client
from tests.support.upstream import ScriptedUpstream

VALKEY: Any = blocking_client()


@pytest.fixture
def printed() -> Iterator[StringIO]:
    """Everything that is logged, as it is printed."""
    root = logging.getLogger()
    form = next(
        handler.formatter
        for handler in root.handlers
        if isinstance(handler.formatter, structlog.stdlib.ProcessorFormatter)
    )
    buffer = StringIO()
    handler = logging.StreamHandler(buffer)
    handler.setFormatter(form)
    root.addHandler(handler)
    yield buffer
    root.removeHandler(handler)


def parts(root: Client) -> tuple[int, dict[str, str]]:
    answer = root.get("/readyz")
    assert "127.0.0.1" not in answer.body.decode()
    return answer.status, answer.json()["parts"]


def test_a_living_process_says_so(root: Client) -> None:
    assert root.get("/healthz").json() == {"status": "ok"}


def test_a_ready_service_says_so(root: Client, friend: Client) -> None:
    assert parts(root) == (200, {"database": "ok", "valkey": "ok", "broker": "ok", "worker": "ok"})


def test_a_missing_worker_is_named(root: Client, friend: Client) -> None:
    workers = VALKEY.smembers(names.WORKERS)
    VALKEY.delete(names.WORKERS)
    status, states = parts(root)
    VALKEY.sadd(names.WORKERS, *workers)
    assert (status, states.pop("worker")) == (503, "missing")
    assert set(states.values()) == {"ok"}


async def test_a_worker_for_the_background_alone_is_none_for_who_waits(root: Client, friend: Client) -> None:
    workers = VALKEY.smembers(names.WORKERS)
    VALKEY.delete(names.WORKERS)
    async with asyncio_client() as client:
        try:
            await claims.register(client, "test:background", background_only=True)
            assert parts(root)[1]["worker"] == "missing"
            await claims.beat(client, "test:background")
            assert parts(root)[1]["worker"] == "ok"
        finally:
            claims.unregister("test:background")
            VALKEY.sadd(names.WORKERS, *workers)


def test_a_missing_broker_is_named(root: Client, friend: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CELERY_BROKER_WRITE_URL", f"redis://127.0.0.1:{free_port()}/0")
    status, states = parts(root)
    assert status == 503
    assert states.pop("broker").startswith("failed")
    assert set(states.values()) == {"ok"}


def test_a_database_without_tables_is_named(root: Client, friend: Client) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE responses_api_response RENAME TO elsewhere")
        status, states = parts(root)
        cursor.execute("ALTER TABLE elsewhere RENAME TO responses_api_response")
    assert status == 503
    assert states.pop("database").startswith("failed")
    assert set(states.values()) == {"ok"}


@pytest.mark.parametrize("path", ["/responses", "/models", "/nothing"])
def test_a_clients_request_id_comes_back(path: str, friend: Client) -> None:
    for body in (None, {"model": friend.model, "input": "Hello"}):
        answer = friend.request("POST" if body else "GET", path, body, {"x-request-id": "my-id:1"})
        assert answer.headers["x-request-id"] == "my-id:1"


@pytest.mark.parametrize("given", ["", "has space", "x" * 129, "é", '"quoted"'])
def test_an_odd_request_id_is_replaced(given: str, friend: Client) -> None:
    for method, body in (("GET", None), ("POST", {"model": friend.model, "input": "Hello"})):
        answer = friend.request(method, "/responses", body, {"x-request-id": given})
        assert answer.headers["x-request-id"].startswith("req_")


def test_every_answer_has_a_request_id_of_its_own(friend: Client) -> None:
    answers = [friend.get("/models"), friend.create(input="Hello"), friend.create(), friend.get("/nothing")]
    ids = {answer.headers["x-request-id"] for answer in answers}
    assert len(ids) == len(answers)


def logged(printed: StringIO, request_id: str) -> list[dict[str, Any]]:
    """The lines that a request's id finds."""
    lines = [json.loads(line) for line in printed.getvalue().splitlines()]
    return [line for line in lines if line.get("request_id") == request_id]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/models", 200),
        ("GET", "/responses/resp_gone?note=periwinkle", 404),
        ("GET", "/nothing", 404),
        ("PUT", "/models", 405),
        ("GET", "/responses?limit=periwinkle", 400),
    ],
)
def test_a_request_id_finds_one_line_that_tells_how_a_request_was_answered(
    method: str, path: str, status: int, friend: Client, friend_tenant: Tenant, printed: StringIO
) -> None:
    answer = friend.request(method, path)
    assert answer.status == status
    [line] = logged(printed, answer.headers["x-request-id"])
    assert (line["event"], line["level"], line["method"]) == ("request", "info", method)
    assert (line["path"], line["status"]) == ("/v1" + path.partition("?")[0], status)
    assert line["milliseconds"] >= 0
    assert line.get("tenant_id") == (None if path == "/nothing" else str(friend_tenant.id))
    assert "periwinkle" not in printed.getvalue()
    assert "django.request" not in printed.getvalue()


def test_a_request_without_a_key_is_logged_without_a_tenant(root: Client, printed: StringIO) -> None:
    [line] = logged(printed, root.get("/v1/models").headers["x-request-id"])
    assert (line["status"], "tenant_id" in line) == (401, False)


def test_a_path_is_logged_short_and_in_plain_characters(root: Client, printed: StringIO) -> None:
    [line] = logged(printed, root.get("/a%0Ab%1B" + "x" * 1000).headers["x-request-id"])
    assert line["path"].startswith("/a%0Ab%1Bxxx")
    assert len(line["path"]) == 300


def test_probes_are_not_logged_unless_details_are_asked_for(root: Client, printed: StringIO) -> None:
    root.get("/healthz")
    root.get("/healthz/")
    assert printed.getvalue() == ""
    logger = logging.getLogger("responses_api.http.request_id")
    logger.setLevel(logging.DEBUG)
    [line] = logged(printed, root.get("/healthz").headers["x-request-id"])
    logger.setLevel(logging.NOTSET)
    assert line["level"] == "debug"


def test_logs_have_ids_and_no_content(
    friend: Client, stranger: Client, upstream: ScriptedUpstream, printed: StringIO
) -> None:
    secret = "periwinkle"
    body = {
        "model": friend.model,
        "input": f"the {secret}",
        "instructions": secret,
        "metadata": {"note": secret},
        "stream": True,
    }
    with friend.open("POST", "/responses", body, {"x-request-id": "req_of_the_test"}) as exchange:
        exchange.read_all()
    response = checked_stream(exchange)
    upstream.reply(body=chat_stream(secret, finish=None, done=False), end="cut")
    friend.create(input=secret)
    upstream.reply(status=500, body=chat_error(secret))
    friend.create(input=secret)
    upstream.reply(status=400, body=chat_error(secret))
    friend.create(input=secret)
    friend.create(input=[{"role": "user", "content": [{"type": "input_text", "text": secret + "\x00"}]}])
    friend.request("POST", "/responses", b'{"input": "' + secret.encode())
    stranger.get(f"/responses/{response['id']}")
    log = printed.getvalue()
    assert response["id"] in log
    assert "req_of_the_test" in log
    assert "tenant_id" in log
    assert friend.key is not None
    for hidden in (secret, "You said", friend.key, UPSTREAM_KEY):
        assert hidden not in log
