"""What stands for the meaning and the words of a chunk of text, in a table that is there where PostgreSQL has pgvector.

The table is no migration's: a database without the extension `vector` has everything else of the service. It is made
after each `manage.py migrate` where it can be, and what waited for it is read then. One narrow row a chunk, vector
and words inline (but for vectors of some 2,000 numbers and more, which no row has room for): a search reads all rows
of a tenant, and nothing else.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import structlog
from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import Q

from responses_api.models import File, FileChunk
from responses_api.models.file import ERROR, UPLOADED
from tenants.scoping import operator_scope, row_level_security, tenant_scope

log = structlog.get_logger(__name__)

TABLE: Final = "responses_api_chunkvector"
OWN_MODEL: Final = "all-minilm-l6-v2"
"""The embedding model that comes with the service."""
MISSING: Final = (
    "Files cannot be searched: this server's PostgreSQL does not have the extension 'vector' (pgvector)."
)
"""Why a file has no vectors, or a request may not search."""

_MAKE: Final = (
    f"""CREATE TABLE {TABLE} (
        chunk_id varchar(64) COLLATE "C" PRIMARY KEY REFERENCES responses_api_filechunk (id) ON DELETE CASCADE,
        tenant_id uuid NOT NULL,
        file_id varchar(64) COLLATE "C" NOT NULL,
        model text NOT NULL,
        embedding vector NOT NULL,
        words tsvector NOT NULL
    ) WITH (toast_tuple_target = 8160)""",  # as large as a row may be: nothing of it lies elsewhere while it fits
    f"CREATE INDEX chunkvector_by_tenant ON {TABLE} (tenant_id, file_id)",
    *row_level_security(TABLE).sql,
)
# Tables of an earlier version took no vectors of more than some 2,000 numbers.
_TAKE_LONG: Final = f"ALTER TABLE {TABLE} ALTER COLUMN embedding SET STORAGE EXTERNAL"
_TAKES_LONG: Final = (
    "SELECT attstorage <> 'p' FROM pg_attribute WHERE attrelid = %s::regclass AND attname = 'embedding'"
)
_ADD: Final = f"""
INSERT INTO {TABLE} (chunk_id, tenant_id, file_id, model, embedding, words)
SELECT c.id, c.tenant_id, c.file_id, %s, %s::vector,
       strip(to_tsvector('english', %s || ' ' || c.text))
  FROM responses_api_filechunk c WHERE c.id = %s
    ON CONFLICT (chunk_id) DO UPDATE
   SET model = excluded.model, embedding = excluded.embedding, words = excluded.words
"""
_OF_OTHER_MODELS: Final = f"SELECT DISTINCT file_id FROM {TABLE} WHERE model <> %s"

_is_there = False


@dataclass(frozen=True, slots=True)
class NewVector:
    """A chunk's vector, and the words that it is found by besides those of its text: its file's name, its headings."""

    chunk_id: str
    vector: Sequence[float]
    heading: str


def are_there() -> bool:
    """Whether this database keeps vectors. Once it does it goes on to."""
    global _is_there
    _is_there = _is_there or _exists(TABLE)
    return _is_there


def forget() -> None:
    """Look again whether they are there."""
    global _is_there
    _is_there = False


def model_name() -> str:
    """The embedding model that the settings name, as its vectors are kept."""
    return settings.EMBEDDING_MODEL if settings.EMBEDDING_URL else OWN_MODEL


def prepare(**_: Any) -> None:
    """Make the table where there is none and the extension is there, or may be made; hears `post_migrate`."""
    if are_there():
        _take_long_vectors()
        return
    if not _exists(FileChunk._meta.db_table) or not _has_extension():
        return
    with transaction.atomic(), connection.cursor() as cursor:
        for statement in _MAKE:
            cursor.execute(statement)
    with operator_scope():
        waiting = File.objects.filter(status=ERROR, status_details=MISSING)
        waiting.update(status=UPLOADED, status_details=None, attempts=0)


def add(tenant_id: uuid.UUID, model: str, vectors: Sequence[NewVector]) -> None:
    """Add these vectors of an embedding model to their chunks; chunks that are gone have none. To be called in the
    transaction that stored these, lest another reader of the file takes them away in between.
    """
    rows = [(model, written(entry.vector), entry.heading, entry.chunk_id) for entry in vectors]
    with tenant_scope(tenant_id), connection.cursor() as cursor:
        cursor.executemany(_ADD, rows)


def read_anew(model: str, *, everything: bool = False) -> int:
    """Have the files read again whose vectors are of other models than this one, or all that were read; how many."""
    with operator_scope():
        files = File.objects.exclude(status=UPLOADED)
        if everything:
            files = files.filter(Q(chunk_count__gt=0) | Q(status=ERROR))
        else:
            with connection.cursor() as cursor:
                cursor.execute(_OF_OTHER_MODELS, [model])
                files = files.filter(id__in=[file_id for (file_id,) in cursor.fetchall()])
        return int(files.update(status=UPLOADED, status_details=None, attempts=0))


def written(vector: Sequence[float]) -> str:
    """A vector as pgvector reads it."""
    return f"[{','.join(f'{number:.7g}' for number in vector)}]"


def _take_long_vectors() -> None:
    with connection.cursor() as cursor:
        cursor.execute(_TAKES_LONG, [TABLE])
        if not cursor.fetchone()[0]:
            cursor.execute(_TAKE_LONG)


def _exists(table: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [table])
        return bool(cursor.fetchone()[0])


def _has_extension() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT installed_version FROM pg_available_extensions WHERE name = 'vector'")
        found = cursor.fetchone()
    if found is None:
        log.info("files cannot be searched: PostgreSQL does not have the extension 'vector' (pgvector)")
        return False
    return found[0] is not None or _make_extension()


def _make_extension() -> bool:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except DatabaseError as error:
        log.warning(
            "files cannot be searched until a superuser has run CREATE EXTENSION vector in this database, "
            "and manage.py migrate has run again",
            error=type(error.__cause__ or error).__name__,
        )
        return False
    return True
