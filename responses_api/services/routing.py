"""Which backend serves a public model name.

All routes are few and change rarely: each process keeps them for `ANTIPHON_CACHE_SECONDS`, and looks again at once
when a name is asked for that it does not know, so that a model just added is there.
"""

import time
from dataclasses import dataclass
from typing import Final

from django.conf import settings

from responses_api.models import Route
from responses_api.protocol.errors import invalid_request
from responses_api.protocol.job import BackendSpec
from responses_api.services.database import in_database

_SOONEST_RELOAD_SECONDS: Final = 0.2


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A public model name and where it is served."""

    name: str
    upstream_model: str
    backend: BackendSpec
    created_at: int


@dataclass(frozen=True, slots=True)
class _Table:
    read_at: float
    models: dict[str, ServedModel]


_table = _Table(read_at=float("-inf"), models={})


async def find_model(name: str) -> ServedModel:
    """Where `name` is served. Raises `ProtocolError` 404 `model_not_found`."""
    age = time.monotonic() - _table.read_at
    if age > settings.CACHE_SECONDS or (name not in _table.models and age > _SOONEST_RELOAD_SECONDS):
        await in_database(read_models)
    return _known(name)


def model_named(name: str) -> ServedModel:
    """As `find_model`, for views that run in a thread."""
    read_models()
    return _known(name)


def read_models() -> dict[str, ServedModel]:
    """Read all served models from the database, by name, and keep them for this process."""
    global _table
    models: dict[str, ServedModel] = {}
    routes = Route.objects.filter(backend__is_enabled=True).select_related("backend")
    for route in routes.order_by("model", "position", "id"):
        models.setdefault(
            route.model,
            ServedModel(
                name=route.model,
                upstream_model=route.upstream_model or route.model,
                backend=route.backend.spec(),
                created_at=int(route.created_at.timestamp()),
            ),
        )
    _table = _Table(time.monotonic(), models)
    return models


def _known(name: str) -> ServedModel:
    model = _table.models.get(name)
    if model is None:
        raise invalid_request(
            f"The model '{name}' does not exist.", param="model", code="model_not_found", status=404
        )
    return model
