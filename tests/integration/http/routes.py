"""A model that several scripted upstreams serve, for the tests of what is asked where."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from config.local.valkey import free_port
from responses_api.eventlog import names
from responses_api.eventlog.connection import blocking_client
from responses_api.models import Backend, Response, Route
from responses_api.protocol.plain import Json
from responses_api.services import routing
from tenants.models import Tenant, UsageRecord
from tenants.scoping import tenant_scope
from tests.integration.fixtures import MODEL, UPSTREAM_MODEL
from tests.support.upstream import ScriptedUpstream

VALKEY: Final[Any] = blocking_client()
SECOND: Final = "second"
THIRD: Final = "third"


def add_target(name: str, base_url: str, *, position: int = 1, **fields: Any) -> Backend:
    """One more backend that serves `MODEL`; `fields` are the backend's, or its route's where that has them."""
    of_route = {field: fields.pop(field) for field in list(fields) if field in ROUTE_FIELDS}
    backend = Backend.objects.create(name=name, base_url=base_url, **fields)
    Route.objects.create(
        model=MODEL, backend=backend, upstream_model=UPSTREAM_MODEL, position=position, **of_route
    )
    routing.read_models()
    return backend


ROUTE_FIELDS: Final = ("weight", "context_window", "input_price", "output_price")


def change(name: str, **fields: Any) -> None:
    """Change a backend, or with the fields of a route its route."""
    of_route = {field: fields.pop(field) for field in list(fields) if field in (*ROUTE_FIELDS, "position")}
    if fields:
        Backend.objects.filter(name=name).update(**fields)
    if of_route:
        Route.objects.filter(backend__name=name).update(**of_route)
    routing.read_models()


def forget_breakers() -> None:
    """All backends are well again."""
    for key in VALKEY.keys(names.breaker("*")):
        VALKEY.delete(key)


def breaker(name: str) -> dict[bytes, bytes]:
    """What Valkey keeps of a backend's breaker."""
    found: dict[bytes, bytes] = VALKEY.hgetall(names.breaker(name))
    return found


def row_of(tenant: Tenant, response_id: str) -> Any:
    """A stored response as its row."""
    with tenant_scope(tenant.id):
        return Response.objects.get(id=response_id)


def charged(tenant: Tenant) -> list[Any]:
    """The tenant's rows of the ledger, oldest first."""
    with tenant_scope(tenant.id):
        return list(UsageRecord.objects.order_by("response_id"))


def tried(row: Any) -> list[tuple[str, str, int | None]]:
    """What a row tells of the targets that could not answer; how long that took is a number."""
    told: list[Json] = row.tried or []
    assert all(isinstance(entry["ms"], int) and entry["model"] == UPSTREAM_MODEL for entry in told)
    return [(entry["backend"], entry["reason"], entry["status"]) for entry in told]


@contextmanager
def deaf_address() -> Iterator[str]:
    """The base URL of a port where no connection comes about: its queue is full, and nobody takes from it."""
    with ExitStack() as opened:
        listener = opened.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            waiting = opened.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"


def closed_address() -> str:
    """The base URL of a port where nobody listens."""
    return f"http://127.0.0.1:{free_port()}/v1"


def upstreams(count: int) -> list[ScriptedUpstream]:
    """So many more upstreams, running."""
    return [ScriptedUpstream(actor=True).start() for _ in range(count)]
