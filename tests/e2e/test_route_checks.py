"""`manage.py conformance --routes` against the running service: what it finds, stores and leaves behind."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any, Final

import psycopg
import pytest

from config.local.places import ROOT
from responses_api.protocol.plain import Json
from tests.support.client import Client
from tests.support.faults.fault import Call, Fault, Reply
from tests.support.faults.proxy import FaultyProxy
from tests.support.service import MODEL, Service
from tests.support.upstream import ScriptedUpstream

SECOND: Final = "second"
# What the scripted upstream does not show: its texts follow from the request, and it calls one tool at a time.
NOT_SHOWN: Final = {"parallel-calls", "image", "instructions"}


@pytest.fixture(scope="module")
def backends(running_service: Service) -> Iterator[ScriptedUpstream]:
    """A second backend of the model."""
    with (
        ScriptedUpstream(actor=True) as upstream,
        running_service.backend(SECOND, upstream.base_url, MODEL),
    ):
        yield upstream


def check(service: Service, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", "conformance", "--routes", *options],
        cwd=ROOT,
        env={**service.env, "OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "MODEL": "not-meant"},
        capture_output=True,
        text=True,
        timeout=180,
    )


def query(service: Service, sql: str) -> list[tuple[Any, ...]]:
    """What the database holds, over all tenants."""
    with psycopg.connect(service.env["DATABASE_URL"], autocommit=True) as connection:
        connection.execute("SELECT set_config('antiphon.tenant_id', '*', false)")
        cursor = connection.execute(sql.encode())
        return cursor.fetchall() if cursor.description else []


def ends_of(done: subprocess.CompletedProcess[str]) -> dict[str, dict[str, str]]:
    told = json.loads(done.stdout)["places"]
    return {place: {one["scenario"]: one["end"] for one in found} for place, found in told.items()}


def test_each_backend_of_each_model_is_asked_by_itself(service: Service, backends: ScriptedUpstream) -> None:
    done = check(service, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    found = ends_of(done)
    assert [*found] == [f"{MODEL} at {name} (chat_completions)" for name in ("scripted", SECOND)]
    for ends in found.values():
        assert "failed" not in ends.values()
        assert {name for name, end in ends.items() if end != "passed"} <= NOT_SHOWN, ends
    asked = [len(upstream.requests()) for upstream in (service.upstream, backends)]
    assert asked[0] == pytest.approx(asked[1], abs=2), "each backend had its own scenarios"


def test_one_backend_can_be_chosen_and_the_results_are_stored(
    service: Service, backends: ScriptedUpstream
) -> None:
    done = check(service, "--backend", SECOND, "--only", "text", "--only", "usage")
    assert done.returncode == 0, done.stderr
    assert f"1: {MODEL} at {SECOND} (chat_completions)" in done.stdout
    assert "text   passed" in done.stdout
    assert service.upstream.requests() == []
    ((run, backend, occasion),) = query(
        service,
        "SELECT id, backend, occasion FROM responses_api_conformancerun ORDER BY id DESC LIMIT 1",
    )
    assert (backend, occasion) == (SECOND, "command")
    results = query(
        service, f'SELECT scenario, "end" FROM responses_api_conformanceresult WHERE run_id = {run}'
    )
    assert results == [("text", "passed"), ("usage", "passed")]


def test_a_leaky_server_is_failed_with_the_exchange_and_without_the_key(service: Service) -> None:
    def drop_usage_details(reply: Reply) -> Reply:
        body = reply.body
        if isinstance(body.get("usage"), dict):
            body["usage"]["total_tokens"] = 1
        return reply.with_body(body)

    def lose_the_end(events: list[Json]) -> list[Json]:
        return [event for event in events if event["type"] != "response.output_text.done"]

    def is_plain(call: Call) -> bool:
        return call.is_create and not call.body.get("stream") and "top_logprobs" not in call.body

    leaks = [
        Fault("usage", ("text", "usage"), is_plain, reply=drop_usage_details),
        Fault("parts", ("stream",), lambda call: bool(call.body.get("stream")), events=lose_the_end),
    ]
    with FaultyProxy(service.base_url) as proxy:
        proxy.faults = leaks
        scenarios = [argument for name in ("text", "stream", "errors") for argument in ("--only", name)]
        done = check(service, "--base-url", proxy.base_url, "--backend", "scripted", *scenarios)
    assert done.returncode == 1, done.stderr
    assert "text    failed" in done.stdout
    assert "are told as 1" in done.stdout
    assert "the stream breaks S6" in done.stdout.replace("The stream", "the stream")
    assert "errors  passed" in done.stdout
    assert "> POST /responses" in done.stdout
    ((exchange,),) = query(
        service,
        "SELECT exchange FROM responses_api_conformanceresult WHERE scenario = 'text' ORDER BY id DESC LIMIT 1",
    )
    assert exchange["request"] == "POST /responses"
    assert '"total_tokens":' in exchange["received"]
    assert "ak_" not in json.dumps(exchange) + done.stdout + done.stderr


def test_an_upstream_that_leaks_is_failed(service: Service, backends: ScriptedUpstream) -> None:
    """A backend that says it is done when it was cut, and one that answers nothing but errors."""
    backends.reply(status=500, body=b'{"error": {"message": "Out of order."}}', always=True)
    try:
        done = check(service, "--backend", SECOND, "--only", "text", "--only", "errors", "--json")
    finally:
        backends.clear()
    assert done.returncode == 1
    (ends,) = ends_of(done).values()
    assert ends == {"text": "failed", "errors": "failed"}


def test_the_key_is_revoked_and_nothing_stays_stored(service: Service) -> None:
    done = check(service, "--backend", "scripted", "--only", "cancel")
    assert done.returncode == 0, done.stdout + done.stderr
    tenant = "SELECT id FROM tenants_tenant WHERE name = 'Conformance'"
    keys = query(
        service, f"SELECT revoked_at IS NOT NULL, scopes FROM tenants_apikey WHERE tenant_id = ({tenant})"
    )
    assert keys
    assert all(is_revoked for is_revoked, _ in keys)
    assert {tuple(scopes) for _, scopes in keys} == {("responses:write", "responses:read", "backends:choose")}
    assert query(service, f"SELECT id FROM responses_api_response WHERE tenant_id = ({tenant})") == []
    assert query(service, f"SELECT id FROM tenants_membership WHERE tenant_id = ({tenant})") == []


def test_what_cannot_be_checked_is_told_apart_from_a_failure(service: Service) -> None:
    for options, why in (
        (("--model", "no-such"), "no such route"),
        (("--backend", "no-such"), "no such route"),
        (("--only", "no-such"), "no scenario no-such"),
        (("--base-url", "http://127.0.0.1:9/v1"), "There is nobody at"),
        (("--base-url", f"{service.root_url}/elsewhere"), "not this installation"),
    ):
        done = check(service, *options)
        assert done.returncode == 2, (options, done.stdout, done.stderr)
        assert why in done.stderr, options


def test_two_runs_at_once_are_one_too_many(service: Service) -> None:
    service.upstream.reply(end="mute", model="upstream-model")
    first: list[subprocess.CompletedProcess[str]] = []
    options = ("--backend", "scripted", "--only", "text", "--timeout", "5")
    running = threading.Thread(target=lambda: first.append(check(service, *options)))
    running.start()
    service.upstream.wait_request("upstream-model")
    second = check(service, *options)
    running.join()
    assert (second.returncode, "under way" in second.stderr) == (2, True)
    assert first[0].returncode == 1
    assert check(service, *options).returncode == 0


def test_any_server_can_be_played_with_a_key_of_ones_own(service: Service) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "responses_api.conformance", "--scenarios", "--only", "text"],
        cwd=ROOT,
        env={
            **os.environ,
            "OPENAI_BASE_URL": service.base_url,
            "OPENAI_API_KEY": service.friend.key or "",
            "MODEL": MODEL,
        },
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "text  passed" in done.stdout


def test_a_tenants_key_cannot_do_the_same(service: Service) -> None:
    friend: Client = service.friend
    answer = friend.request(
        "POST", "/responses", {"model": MODEL, "input": "x"}, {"Antiphon-Backend": "scripted"}
    )
    assert (answer.status, answer.error["code"]) == (403, "permission_denied")
