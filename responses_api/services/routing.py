"""Which backend serves a public model name.

All routes are few and change rarely: each process keeps them for `ANTIPHON_CACHE_SECONDS`, and looks again at once
when a name is asked for that it does not know, so that a model just added is there.
"""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from django.conf import settings

from responses_api.models import Route
from responses_api.protocol.errors import ProtocolError, invalid_request
from responses_api.protocol.job import Job
from responses_api.protocol.order import in_order, order_key
from responses_api.protocol.plain import Json
from responses_api.protocol.target import Target
from responses_api.services.database import in_database
from tenants.metrics import NANOS
from tenants.rules import may_use
from tenants.scoping import operator_scope

PRICES: Final = ("input", "cached_input", "output")

_SOONEST_RELOAD_SECONDS: Final = 0.2


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A public model name and where it is served: at least one target, in the order of the route."""

    name: str
    targets: tuple[Target, ...]
    created_at: int

    @property
    def first(self) -> Target:
        """The target at the head of the route; which one a request asks first is its own."""
        return self.targets[0]

    def at(self, backend: str) -> tuple[Target, ...]:
        """Those of the targets that are at this backend."""
        return tuple(target for target in self.targets if target.name == backend)

    def ordered(self, job: Job) -> list[Target]:
        """The targets in the order in which this job asks them."""
        return in_order(
            self.targets, order_key(job.tenant_id, job.request["prompt_cache_key"], job.response_id)
        )

    @property
    def widest_window(self) -> int | None:
        """The most tokens that any of the targets takes; None where that is not known of each."""
        windows = [target.context_window for target in self.targets]
        return None if None in windows else max(window or 0 for window in windows)

    @property
    def highest_prices(self) -> Json:
        """What it may cost at most, wherever it is served in the end."""
        told = [target.prices or {} for target in self.targets]
        return {name: max(prices.get(name, 0) for prices in told) for name in PRICES}


@dataclass(frozen=True, slots=True)
class _Table:
    read_at: float
    models: dict[str, ServedModel]


_table = _Table(read_at=float("-inf"), models={})
_lock: Final = threading.Lock()
_reading: "Future[dict[str, ServedModel]] | None" = None


def model_named(name: str, allowed: Sequence[str] = (), backend: str | None = None) -> ServedModel:
    """Where `name` is served, if it is one of the `allowed` models of a key (`tenants.rules.may_use`).

    `backend` is one that the request names: where it is not known there, either, the table is read again. Raises
    `ProtocolError` 404 `model_not_found`.
    """
    check_allowed(name, allowed)
    if _is_stale(name, backend):
        _read_together()
    return _known(name)


async def find_model(name: str, allowed: Sequence[str] = (), backend: str | None = None) -> ServedModel:
    """As `model_named`, for the event loop: what the table knows costs no change of threads."""
    check_allowed(name, allowed)
    if _is_stale(name, backend):
        return await in_database(model_named, name, allowed, backend)
    return _known(name)


def models_for(allowed: Sequence[str]) -> list[ServedModel]:
    """The served models that a key may ask, read anew."""
    return [model for model in read_models().values() if may_use(model.name, allowed)]


def read_models() -> dict[str, ServedModel]:
    """Read all served models from the database, by name, and keep them for this process."""
    global _table
    began = time.monotonic()
    found: dict[str, list[Route]] = {}
    routes = Route.objects.filter(backend__is_enabled=True).select_related("backend")
    with operator_scope():  # the routes are nobody's; the scope bounds the time of the query
        for route in routes.order_by("model", "position", "id"):
            found.setdefault(route.model, []).append(route)
    models = {name: _served(name, routes_of) for name, routes_of in found.items()}
    if began >= _table.read_at:  # else somebody who began later has read what is newer
        _table = _Table(began, models)
    return models


def _read_together() -> None:
    """Read the table, or wait for who is reading it already and share the outcome, a failure included."""
    global _reading
    with _lock:
        others, mine = _reading, Future[dict[str, ServedModel]]()
        _reading = others or mine
    if others is not None:
        others.result()
        return
    try:
        mine.set_result(read_models())
    except BaseException as error:
        mine.set_exception(error)
        raise
    finally:
        _reading = None


def check_allowed(name: str, allowed: Sequence[str]) -> None:
    """A model that a key may not ask is told of as one that there is not: what others have is not its business.

    Raises `ProtocolError` 404 `model_not_found`.
    """
    if not may_use(name, allowed):
        raise _unknown(name)


def _known(name: str) -> ServedModel:
    model = _table.models.get(name)
    if model is None:
        raise _unknown(name)
    return model


def _unknown(name: str) -> ProtocolError:
    return invalid_request(
        f"The model '{name}' does not exist.", param="model", code="model_not_found", status=404
    )


def _served(name: str, routes: Sequence[Route]) -> ServedModel:
    return ServedModel(
        name=name,
        targets=tuple(_target(route) for route in routes),
        created_at=int(min(route.created_at for route in routes).timestamp()),
    )


def _target(route: Route) -> Target:
    return Target(
        backend=route.backend.spec().to_plain(),
        upstream_model=route.upstream_model or route.model,
        context_window=route.context_window,
        prices=_prices(route),
        position=route.position,
        weight=route.weight,
    )


def _prices(route: Route) -> Json:
    """Nano-units (1e-9) of the currency for a million tokens, as a job carries them."""
    own: Decimal | None = route.cached_input_price  # its type knows nothing of null
    cached = route.input_price if own is None else own
    prices = {"input": route.input_price, "cached_input": cached, "output": route.output_price}
    return {name: int(price * NANOS) for name, price in prices.items()}


def _is_stale(name: str, backend: str | None) -> bool:
    """Whether the table must be read again before it can say where `name` is served, or whether at `backend`."""
    age = time.monotonic() - _table.read_at
    return age > settings.CACHE_SECONDS or (age > _SOONEST_RELOAD_SECONDS and not _has(name, backend))


def _has(name: str, backend: str | None) -> bool:
    model = _table.models.get(name)
    return model is not None and (backend is None or bool(model.at(backend)))
