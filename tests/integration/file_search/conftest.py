"""Files that were uploaded and read, and what a search of them finds."""

from typing import Any

import pytest
from celery import current_app

from responses_api.protocol.plain import Json
from responses_api.services.file_search import Asked, search
from tenants.models import Tenant
from tests.integration.builders import stored_file
from workers.indexing.embedding import embedder
from workers.indexing.whole import index


def read(tenant: Tenant, name: str, content: bytes) -> str:
    """Upload a file and read it; returns its id."""
    file_id: str = stored_file(tenant, name, content)["id"]
    index(tenant.id, file_id)
    return file_id


def entry(**fields: Any) -> Json:
    """A canonical entry of `tools`."""
    usual = {"type": "antiphon:file_search", "file_ids": None, "max_num_results": 8, "score_threshold": 0.0}
    return {**usual, **fields}


def found(tenant: Tenant, *queries: str, **fields: Any) -> list[Json]:
    """The results of a search."""
    vectors = embedder().embed(queries)
    asked = [Asked(query, vector) for query, vector in zip(queries, vectors, strict=True)]
    return search(tenant.id, entry(**fields), embedder().model, asked)


def names(results: list[Json]) -> list[str]:
    """The files that results are of, each once, the best first."""
    return list(dict.fromkeys(result["filename"] for result in results))


@pytest.fixture(autouse=True)
def _database(database: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test here uses it, and reads its files by itself: the worker of this process must not read them, too."""
    monkeypatch.setattr(current_app, "send_task", lambda *_, **__: None, raising=False)
