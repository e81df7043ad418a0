"""Which backend serves a name: kept for seconds, read once for all who ask at the same time."""

import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import OperationalError, connection, connections

from responses_api.models import Backend, Route
from responses_api.protocol.errors import ProtocolError
from responses_api.services import routing
from responses_api.services.access import Visitor, authenticate
from responses_api.services.routing import find_model, model_named, read_models
from tenants.keys import find_principal, issue_key
from tenants.models import Tenant

ASKING = 8
HELD_SECONDS = 0.3


@pytest.fixture(autouse=True)
def backend(database: None) -> Backend:
    """A backend whose route is known to this process."""
    backend = Backend.objects.create(name="one", base_url="http://127.0.0.1:9/v1")
    Route.objects.create(model="a", backend=backend)
    read_models()
    return backend


class Reads:
    """Counts the reads of the table; holds the first one up until there is a second, or nobody else comes."""

    def __init__(self, error: Exception | None = None) -> None:
        self.count = 0
        self._second = threading.Event()
        self._error = error

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if "responses_api_route" in sql:
            self.count += 1
            if self.count > 1:
                self._second.set()
            self._second.wait(HELD_SECONDS)
            if self._error is not None:
                raise self._error
        return execute(sql, params, many, context)


def ask_together(reads: Reads) -> list[Any]:
    begin = threading.Barrier(ASKING)

    def ask(_: int) -> Any:
        try:
            with connection.execute_wrapper(reads):
                begin.wait(10)
                return model_named("a").first.name
        except OperationalError as error:
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(ASKING) as threads:
        return list(threads.map(ask, range(ASKING)))


def expire(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routing, "_table", routing._Table(float("-inf"), {}))


def at_once(work: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that waits for nothing, so for no other thread either."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    work.close()
    raise AssertionError("it waited")


def test_an_expired_table_is_read_once_for_all_who_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    expire(monkeypatch)
    reads = Reads()
    assert ask_together(reads) == ["one"] * ASKING
    assert reads.count == 1


def test_a_read_that_fails_fails_for_all_who_wait_and_the_next_one_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expire(monkeypatch)
    error = OperationalError("away")
    assert ask_together(Reads(error)) == [error] * ASKING
    assert model_named("a").first.name == "one"


def test_a_model_that_was_just_added_is_there(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    Route.objects.create(model="b", backend=backend)
    monkeypatch.setattr(routing, "_SOONEST_RELOAD_SECONDS", 0.0)
    assert model_named("b").name == "b"
    with pytest.raises(ProtocolError) as unknown:
        model_named("c")
    assert (unknown.value.status, unknown.value.code) == (404, "model_not_found")


def test_a_backend_that_was_just_added_to_a_known_model_is_found_by_who_names_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert [target.name for target in model_named("a").targets] == ["one"]
    second = Backend.objects.create(name="second", base_url="http://127.0.0.1:9/v1")
    Route.objects.create(model="a", backend=second, position=1)
    monkeypatch.setattr(routing, "_SOONEST_RELOAD_SECONDS", 0.0)
    assert [target.name for target in model_named("a", backend="one").targets] == ["one"]
    assert [target.name for target in model_named("a", backend="second").targets] == ["one", "second"]


def test_what_is_known_already_costs_the_event_loop_no_thread(friend_tenant: Tenant) -> None:
    text = issue_key(friend_tenant, name="app")
    principal = find_principal(text)
    assert at_once(find_model("a")).first.name == "one"
    assert at_once(authenticate(Visitor(f"Bearer {text}", None), None)) == principal
