"""Database connections: few, shared, waited for, and given back whatever becomes of a request."""

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction
from pytest_django import Settings

from tenants.keys import forget
from tenants.models import Tenant
from tenants.scoping import operator_scope, tenant_scope
from tests.integration.builders import stored
from tests.support.client import Answer, Client, wait_until

MOST = 20


def pool() -> Any:
    """The process's pool."""
    database: Any = connection
    return database.pool


def in_use() -> int:
    """How many connections of the pool are with somebody."""
    numbers: dict[str, int] = pool().get_stats()
    return numbers["pool_size"] - numbers["pool_available"]


@pytest.fixture
def all_come_back(database: None) -> Iterator[None]:
    """At the end no more connections are with somebody than at the beginning."""
    connection.ensure_connection()
    before = in_use()
    yield
    connection.ensure_connection()
    wait_until(lambda: in_use() <= before, timeout=10, what="connections given back", every=0.005)


@pytest.fixture
def take_all(all_come_back: None) -> Iterator[Callable[[], list[Any]]]:
    """Takes every connection that is free or can be made; they are given back at the end."""
    taken: list[Any] = []

    def take() -> list[Any]:
        shared = pool()
        while in_use() < MOST:
            taken.append(shared.getconn())
        return taken

    yield take
    for held in taken:
        pool().putconn(held)


def assert_overloaded(answer: Answer) -> None:
    assert answer.status == 503, answer.body
    assert (answer.error["type"], answer.error["code"]) == ("server_error", "overloaded")
    assert int(answer.headers["retry-after"]) >= 1


def test_a_burst_is_answered_by_a_bounded_number_of_connections(
    stranger: Client, stranger_tenant: Tenant, settings: Settings, all_come_back: None
) -> None:
    stored(stranger_tenant)
    with ThreadPoolExecutor(150) as clients:
        statuses = Counter(clients.map(lambda _: stranger.get("/responses").status, range(150)))
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        (connections,) = cursor.fetchone()
    assert statuses == {200: 150}
    assert connections <= settings.DATABASES["default"]["OPTIONS"]["pool"]["max_size"] == MOST


def test_clients_that_leave_take_no_connection_along(
    stranger: Client, root: Client, stranger_tenant: Tenant, all_come_back: None
) -> None:
    stored(stranger_tenant)
    for _ in range(3 * MOST):
        stranger.open("GET", "/responses").close()
        root.open("GET", "/readyz").close()
    assert stranger.get("/responses").status == 200


def test_asking_whether_the_service_is_ready_takes_no_connection_along(
    root: Client, all_come_back: None
) -> None:
    for _ in range(2 * MOST):
        assert root.get("/readyz").json()["parts"]["database"] == "ok"


def test_a_request_waits_for_a_connection(stranger: Client, take_all: Callable[[], list[Any]]) -> None:
    taken = take_all()
    waiting = stranger.open("GET", "/responses")
    wait_until(lambda: pool().get_stats()["requests_waiting"], timeout=5, what="a request waits", every=0.005)
    pool().putconn(taken.pop())
    assert waiting.answer().status == 200


def test_without_a_free_connection_everything_is_503_and_says_when_to_try_again(
    stranger: Client,
    root: Client,
    stranger_tenant: Tenant,
    take_all: Callable[[], list[Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    response_id = stored(stranger_tenant)["id"]
    taken = take_all()
    monkeypatch.setattr(pool(), "timeout", 0.05)
    forget()
    assert_overloaded(stranger.get(f"/responses/{response_id}"))
    assert_overloaded(stranger.delete(f"/responses/{response_id}"))
    assert_overloaded(stranger.get("/models"))
    assert_overloaded(stranger.create(input="Hello"))
    assert_overloaded(root.request("GET", "/admin/login/", headers={"cookie": "sessionid=" + "x" * 32}))
    assert root.get("/healthz").status == 200
    ready = root.get("/readyz")
    assert (ready.status, ready.json()["parts"]["database"]) == (503, "failed: OperationalError")
    while taken:
        pool().putconn(taken.pop())
    assert stranger.get(f"/responses/{response_id}").status == 200


def test_a_statement_that_takes_too_long_is_503(
    stranger: Client, root: Client, stranger_tenant: Tenant, settings: Settings, all_come_back: None
) -> None:
    response_id = stored(stranger_tenant)["id"]
    assert stranger.get(f"/responses/{response_id}").status == 200
    settings.STATEMENT_SECONDS = 0.05
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("LOCK TABLE responses_api_response")
        assert_overloaded(stranger.get(f"/responses/{response_id}"))
        assert root.get("/readyz").json()["parts"]["database"] == "failed: OperationalError"
    assert stranger.get(f"/responses/{response_id}").status == 200


def test_the_time_of_statements_is_bounded_inside_scopes_alone(friend_tenant: Tenant) -> None:
    def bound() -> str:
        with connection.cursor() as cursor:
            cursor.execute("SHOW statement_timeout")
            return str(cursor.fetchone()[0])

    for scope in (tenant_scope(friend_tenant.id), operator_scope()):
        assert bound() == "0"
        with scope:
            assert bound() == "30s"
    assert bound() == "0"
