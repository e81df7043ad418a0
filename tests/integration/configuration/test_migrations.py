"""A database that an earlier release made: its rows are there after the migrations, and good for everything."""

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.types.json import Jsonb

from responses_api.protocol.request import parse_create
from tests.support.cluster import DATABASE_VARIABLE
from tests.support.databases import drop_database, fresh_database

ROOT = Path(__file__).parents[3]
NAME = f"migrations_{os.getpid()}"
EARLIER = {"responses_api": "0005", "tenants": "0002"}
TENANT = uuid.uuid4()
METADATA = {"größe": "1:2=3 µ"}
# A release from before knew fewer fields; what it had not heard of is read as not given.
REQUEST = {
    name: value
    for name, value in parse_create({"model": "m", "input": "x", "metadata": METADATA}).to_plain().items()
    if name not in ("compacts", "input")
}


@pytest.fixture
def url() -> Iterator[str]:
    """An empty database, as the service's role sees it."""
    server = os.environ[DATABASE_VARIABLE]
    yield fresh_database(server, NAME)
    drop_database(server, NAME)


def manage(url: str, *command: str) -> str:
    """Run `manage.py` against the database; what it printed."""
    done = subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": url},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def open_as_everyone(url: str) -> "psycopg.Connection[tuple[object, ...]]":
    connection = psycopg.connect(url)
    connection.execute("SELECT set_config('antiphon.tenant_id', '*', false)")
    return connection


def store_a_chain(url: str) -> list[str]:
    """Two responses, the second on top of the first, as the earlier release stored them."""
    ids = [f"resp_{number:044x}" for number in (1, 2)]
    with open_as_everyone(url) as connection:
        connection.execute("INSERT INTO tenants_tenant (id, name) VALUES (%s, 'old')", [TENANT])
        for previous, response_id in zip((None, ids[0]), ids, strict=True):
            connection.execute(
                "INSERT INTO responses_api_response (id, tenant_id, key_id, previous_id, status, model, backend,"
                " request, created_at) VALUES (%s, %s, %s, %s, 'completed', 'm', 'b', %s, 1)",
                [response_id, TENANT, TENANT, previous, Jsonb(REQUEST)],
            )
            item = {"type": "message", "id": f"msg_{response_id}", "role": "user", "content": []}
            connection.execute(
                "INSERT INTO responses_api_item (id, tenant_id, response_id, position, is_output, data)"
                " VALUES (%s, %s, %s, 0, false, %s)",
                [item["id"], TENANT, response_id, Jsonb(item)],
            )
    return ids


READ = """
import uuid
from responses_api.chains import load_context
from responses_api.models import MetadataEntry
from responses_api.models.metadata import metadata_digest
from responses_api.services.stored import Page, delete, list_responses, retrieve, stream_of
from tenants.scoping import tenant_scope
tenant, first, second = uuid.UUID({tenant!r}), *{ids!r}
assert retrieve(tenant, second)["status"] == "completed"
assert [row["id"] for row in list_responses(tenant, Page())["data"]] == [second, first]
assert stream_of(tenant, second)
with tenant_scope(tenant):
    assert [item["id"] for item in load_context(second)] == ["msg_" + first, "msg_" + second]
    digests = [metadata_digest(*pair) for pair in {metadata!r}.items()]
    assert list(MetadataEntry.objects.filter(response_id=second).values_list("digest", flat=True)) == digests
assert delete(tenant, first)["deleted"]
with tenant_scope(tenant):
    assert list(MetadataEntry.objects.values_list("response_id", flat=True)) == [second]
print("read")
"""


def _read(ids: list[str]) -> str:
    return READ.format(tenant=str(TENANT), ids=ids, metadata=METADATA)


def test_what_an_earlier_release_stored_can_be_read_continued_and_deleted(url: str) -> None:
    for app, migration in EARLIER.items():
        manage(url, "migrate", "-v", "0", app, migration)
    ids = store_a_chain(url)
    manage(url, "migrate", "-v", "0")
    assert "read" in manage(url, "shell", "-v", "0", "-c", _read(ids))
    for app, migration in EARLIER.items():
        manage(url, "migrate", "-v", "0", app, migration)
    with open_as_everyone(url) as connection:
        assert connection.execute("SELECT id FROM responses_api_response").fetchall() == [(ids[1],)]
