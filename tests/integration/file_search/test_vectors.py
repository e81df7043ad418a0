"""A database that keeps no vectors yet, and vectors of another model."""

from collections.abc import Iterator

import pytest
from django.core.checks import run_checks
from django.core.management import call_command
from django.db import connection

from responses_api.models import File, FileChunk
from responses_api.protocol.errors import ProtocolError
from responses_api.services import vectors
from responses_api.services.file_search import Asked, check, search
from tenants.models import Tenant
from tenants.scoping import tenant_scope
from tests.integration.file_search.conftest import entry, found, read
from workers.indexing import whole


@pytest.fixture
def without_vectors(database: None) -> Iterator[None]:
    """As where PostgreSQL does not have the extension: the table was never made."""
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE {vectors.TABLE}")
    vectors.forget()
    yield
    vectors.prepare()


def state(tenant: Tenant, file_id: str) -> tuple[str, str | None]:
    with tenant_scope(tenant.id):
        file = File.objects.get(id=file_id)
    return file.status, file.status_details


def test_without_vectors_a_search_is_refused_and_a_file_says_why(
    friend_tenant: Tenant, without_vectors: None
) -> None:
    file_id = read(friend_tenant, "herons.txt", b"Herons wade.")
    assert state(friend_tenant, file_id) == ("error", vectors.MISSING)
    with pytest.raises(ProtocolError) as refused:
        check(entry(), friend_tenant.id, "tools[0]")
    assert (refused.value.param, refused.value.message) == ("tools[0].type", vectors.MISSING)


def test_a_check_of_the_database_says_that_it_keeps_no_vectors(without_vectors: None) -> None:
    told = {message.id: message.msg for message in run_checks(databases=["default"])}
    assert told.get("antiphon.W008") == vectors.MISSING
    assert "antiphon.W008" not in {message.id for message in run_checks()}


def test_what_waited_for_vectors_is_read_once_they_can_be_kept(
    friend_tenant: Tenant, without_vectors: None
) -> None:
    file_id = read(friend_tenant, "herons.txt", b"Herons wade.")
    call_command("migrate", verbosity=0)
    assert state(friend_tenant, file_id) == ("uploaded", None)
    whole.index(friend_tenant.id, file_id)
    assert found(friend_tenant, "herons")[0]["file_id"] == file_id
    check(entry(file_ids=[file_id]), friend_tenant.id, "tools[0]")


def test_vectors_are_behind_the_second_wall(friend_tenant: Tenant, stranger_tenant: Tenant) -> None:
    read(friend_tenant, "herons.txt", b"Herons wade.")
    counts = []
    for tenant in (friend_tenant, stranger_tenant):
        with tenant_scope(tenant.id), connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM {vectors.TABLE}")
            counts.append(cursor.fetchone()[0])
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {vectors.TABLE}")
        assert (*counts, cursor.fetchone()[0]) == (1, 0, 0)


def test_files_are_read_again_when_somebody_asks(
    friend_tenant: Tenant, capsys: pytest.CaptureFixture[str]
) -> None:
    file_id = read(friend_tenant, "herons.txt", b"Herons wade.")
    call_command("reindex_files")
    assert state(friend_tenant, file_id)[0] == "processed"
    call_command("reindex_files", "--all")
    assert state(friend_tenant, file_id)[0] == "uploaded"
    assert capsys.readouterr().out == "0 files will be read again.\n1 files will be read again.\n"


@pytest.mark.parametrize("is_old", [False, True])
def test_vectors_may_be_as_long_as_large_models_make_them(friend_tenant: Tenant, is_old: bool) -> None:
    file_id = read(friend_tenant, "herons.txt", b"Herons wade.")
    if is_old:  # as the first version made the table
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER TABLE {vectors.TABLE} ALTER COLUMN embedding SET STORAGE PLAIN")
        call_command("migrate", verbosity=0)
    with tenant_scope(friend_tenant.id):
        (chunk,) = FileChunk.objects.filter(file_id=file_id)
    long = [1.0] * 4096
    vectors.add(friend_tenant.id, "large", [vectors.NewVector(chunk.id, long, "herons")])
    results = search(friend_tenant.id, entry(), "large", [Asked("heron", long)])
    assert [result["score"] for result in results] == [1.0]
