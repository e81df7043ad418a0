"""Integration tests: real PostgreSQL and Valkey, the application in this process, a scripted upstream.

`database` gives committed data, seen by every thread, and empties the tables afterwards; a test that needs
no other thread may use pytest-django's `db` instead. `friend` and `stranger` are two tenants; tests look at
the first and assert that the second sees nothing of it.
"""

import asyncio
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any
from uuid import UUID

import pytest
from django.apps import apps
from django.contrib.auth.models import Permission
from django.db import OperationalError, connection
from django.test import override_settings
from django.test.utils import setup_databases, teardown_databases
from psycopg.errors import DeadlockDetected
from pytest_django.plugin import DjangoDbBlocker

from config.asgi import application
from responses_api.eventlog import bus, names
from responses_api.eventlog.connection import asyncio_client
from responses_api.models import Backend, Route
from responses_api.protocol.policy import Policy
from responses_api.protocol.server_tools import MCP
from responses_api.services import routing
from tenants.keys import issue_key
from tenants.models import Tenant
from tests.support.abacus import Abacus
from tests.support.asgi import AsgiClient, AsgiServer
from tests.support.client import Client
from tests.support.queue_worker import QueueWorker
from tests.support.tenants import make_tenant
from tests.support.upstream import ScriptedUpstream
from workers.runtime import process_runtime
from workers.serving import Serving

MODEL = "test-model"
UPSTREAM_MODEL = "upstream-model"
UPSTREAM_KEY = "sk-upstream-secret"

# The reapers and the leases of the session would do by themselves what tests do at the moment they choose.
_CALM_SECONDS = 4000.0
QUEUES = ("antiphon.priority", "antiphon.default", "antiphon.background")


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None, django_db_modify_db_settings: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[None]:
    """The test database (pytest-django makes one only for tests that have its own mark or fixtures).

    At the end the connections of all other threads are closed, so that it can be removed.
    """
    with django_db_blocker.unblock():
        made = setup_databases(verbosity=0, interactive=False, aliases={"default": None})
    yield
    with django_db_blocker.unblock():
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        teardown_databases(made, verbosity=0)


@pytest.fixture
def database(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Committed data for one test."""
    with django_db_blocker.unblock():
        yield
        _empty()


def _empty() -> None:
    """Empty the tables, once what a test left running has stored its end: both want several locks, in other orders."""
    while True:
        try:
            with connection.cursor() as cursor:
                cursor.execute(f"TRUNCATE {', '.join(_tables())} CASCADE")
            return
        except OperationalError as error:
            if not isinstance(error.__cause__, DeadlockDetected):
                raise


@cache
def _tables() -> tuple[str, ...]:
    """The tables of the project's models, and of the people that point to tenants."""
    models = [
        model
        for app in ("tenants", "responses_api", "auth")
        for model in apps.get_app_config(app).get_models()
    ]
    return tuple(model._meta.db_table for model in models if model is not Permission)


@pytest.fixture
def friend_tenant(database: None) -> Tenant:
    """The tenant a test is about."""
    return make_tenant("friend")


@pytest.fixture
def stranger_tenant(database: None) -> Tenant:
    """The tenant who must see nothing of it."""
    return make_tenant("stranger")


@pytest.fixture(scope="session")
def server(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[AsgiServer]:
    """The application on its loop.

    It goes on between tests, and so does its database: shut in the middle of a transaction of its own (the last uses of
    keys are written every few seconds) a connection would be left half inside of it, and fail every later request that
    comes to its thread.
    """
    calm = override_settings(LEASE_SECONDS=_CALM_SECONDS)
    with django_db_blocker.unblock(), calm, AsgiServer(application) as running:
        yield running


@pytest.fixture(scope="session")
def running_worker(server: AsgiServer) -> Iterator[None]:
    """A worker for all queues but `flex`: what is sent there waits."""
    with pytest.MonkeyPatch.context() as patch, QueueWorker(QUEUES):
        patch.setenv("TEST_UPSTREAM_KEY", UPSTREAM_KEY)
        process_runtime().wait_until_started()
        yield
        # What a failed test left running would hold the worker's threads until its upstream's time is over.
        asyncio.run(_cancel_all(process_runtime().worker))
        process_runtime().close()


async def _cancel_all(worker: str) -> None:
    async with asyncio_client() as client:
        running: Any = client.smembers(names.running(worker))
        for response_id in await running:
            await bus.cancel(client, response_id.decode())


@pytest.fixture(scope="session")
def running_upstream() -> Iterator[ScriptedUpstream]:
    """The upstream of all tests in this process."""
    with ScriptedUpstream(actor=True) as running:
        yield running


@pytest.fixture
def upstream(running_upstream: ScriptedUpstream) -> ScriptedUpstream:
    """The upstream, its scripts and what it saw forgotten."""
    running_upstream.clear()
    return running_upstream


@pytest.fixture
def backend(database: None, upstream: ScriptedUpstream) -> Backend:
    """The upstream as a backend that serves `MODEL`."""
    backend = Backend.objects.create(
        name="scripted", base_url=upstream.base_url, api_key_env="TEST_UPSTREAM_KEY"
    )
    Route.objects.create(model=MODEL, backend=backend, upstream_model=UPSTREAM_MODEL)
    routing.read_models()
    return backend


@pytest.fixture
def abacus(running_worker: None, backend: Backend) -> Iterator[Abacus]:
    """The abacus that the worker has."""
    runtime, made = process_runtime(), Abacus()

    async def policies(tenant_id: UUID, key_id: UUID) -> Sequence[Policy]:
        return made.policies

    before = runtime.serving
    runtime.serving = Serving({MCP: made.provider}, policies, lambda *_: True, lambda _: {})
    yield made
    made.gate.set()
    runtime.serving = before


@pytest.fixture
def friend(server: AsgiServer, backend: Backend, friend_tenant: Tenant, running_worker: None) -> Client:
    """The friend's client; a worker runs what it asks for."""
    return client(server, issue_key(friend_tenant, name="test"))


@pytest.fixture
def stranger(server: AsgiServer, backend: Backend, stranger_tenant: Tenant) -> Client:
    """The stranger's client."""
    return client(server, issue_key(stranger_tenant, name="test"))


@pytest.fixture
def root(server: AsgiServer, database: None) -> Client:
    """A client without a key, below no path."""
    return AsgiClient("http://127.0.0.1", server=server)


def client(server: AsgiServer, key: str | None, model: str | None = MODEL) -> Client:
    """A client of the API with this key."""
    return AsgiClient("http://127.0.0.1/v1", key, model, server=server)
