"""Limits for the friend, and what is counted for it."""

import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from responses_api.eventlog.connection import blocking_client
from responses_api.models import Backend, Route
from responses_api.quotas import names
from responses_api.quotas.reading import by_counters
from responses_api.services import routing
from tenants import keys
from tenants.keys import Principal
from tenants.limits import limits_of
from tenants.models import ApiKey, Limit, Tenant, UsageRecord
from tenants.scoping import operator_scope
from tenants.standing import Standing

VALKEY: Any = blocking_client()
SetLimit = Callable[..., Limit]


@pytest.fixture(autouse=True)
def prices(backend: Backend) -> None:
    """One unit of money for a million tokens of input, two for one of output, a tenth for cached input."""
    Route.objects.update(input_price=1, cached_input_price="0.1", output_price=2)
    routing.read_models()


@pytest.fixture
def set_limit(friend_tenant: Tenant) -> Iterator[SetLimit]:
    """Sets a limit of the friend's, which every process knows of at once."""

    def set_one(metric: str, amount: int, **more: Any) -> Limit:
        with operator_scope():
            limit: Limit = Limit.objects.create(tenant=friend_tenant, metric=metric, amount=amount, **more)
        keys.forget()
        return limit

    yield set_one
    keys.forget()


def principal_of(tenant: Tenant) -> Principal:
    """Who calls with the tenant's key."""
    with operator_scope():
        key = ApiKey.objects.filter(tenant=tenant).get()
        return Principal(tenant.id, key.id, limits=limits_of(tenant.id, key.id))


@dataclass(frozen=True, slots=True)
class Held:
    """Where a limit stands, and what is left of it."""

    used: int
    reserved: int
    remaining: int


def standings(tenant: Tenant) -> dict[str, Held]:
    """Where the tenant's limits stand, by metric."""
    limits = principal_of(tenant).limits
    found = by_counters(tenant.id, limits, int(time.time()))
    return {limit.metric: _held(limit.amount, found[limit.id]) for limit in limits}


def _held(amount: int, standing: Standing) -> Held:
    left = max(0, amount - standing.used - standing.reserved)
    return Held(standing.used, standing.reserved, left)


def rows() -> list[dict[str, Any]]:
    """The ledger."""
    with operator_scope():
        return list(UsageRecord.objects.order_by("response_id").values())


def open_reservations(tenant_id: uuid.UUID) -> int:
    """How many reservations are held."""
    return int(VALKEY.hlen(names.prefix(tenant_id) + "open"))
