"""Stored files: read, list, delete; always inside the caller's tenant scope.

A file that is unknown, deleted, expired, on its way or another tenant's raises the same 404.
"""

import uuid
from collections.abc import AsyncGenerator, Iterator
from typing import Any, Final

import structlog
from django.db import connection
from django.db.models import Q

from responses_api.models import File, FileBlob
from responses_api.models.fields import is_id
from responses_api.models.file import UPLOADING
from responses_api.protocol.errors import ProtocolError, not_found
from responses_api.protocol.files import file_object
from responses_api.protocol.plain import Json
from responses_api.services.database import in_database
from responses_api.services.identity import now
from responses_api.services.stored import Page
from tenants.scoping import operator_scope, tenant_scope

log = structlog.get_logger(__name__)

_MOST_PER_BATCH: Final = 20
"""Files that are deleted in one transaction: each may have many pieces."""
_STALE_SECONDS: Final = 3_600
"""After so long a file that is still on its way has nobody who brings it."""

_DELETE: Final = """
DELETE FROM responses_api_file WHERE id = ANY(ARRAY(
    SELECT id FROM responses_api_file WHERE {which} ORDER BY id LIMIT %(most)s FOR UPDATE SKIP LOCKED
))
"""


def retrieve(tenant_id: uuid.UUID, file_id: str) -> Json:
    """The file as it is now. Raises `ProtocolError` 404."""
    return told(find(tenant_id, file_id))


def find(tenant_id: uuid.UUID, file_id: str) -> File:
    """The row of a file. Raises `ProtocolError` 404."""
    if is_id(file_id):
        with tenant_scope(tenant_id):
            row: File | None = File.objects.filter(id=file_id).first()
        if row is not None:
            return row
    raise missing(file_id)


def list_files(tenant_id: uuid.UUID, page: Page, purpose: str | None) -> Json:
    """The tenant's files, newest first unless asked otherwise."""
    with tenant_scope(tenant_id):
        rows = File.objects.all() if purpose is None else File.objects.filter(purpose=purpose)
        is_newest_first = page.order == "desc"
        if page.after is not None:
            rows = rows.filter(Q(id__lt=page.after) if is_newest_first else Q(id__gt=page.after))
        found = list(rows.order_by("-id" if is_newest_first else "id")[: page.limit + 1])
    data = [told(row) for row in found[: page.limit]]
    return {
        "object": "list",
        "data": data,
        "first_id": data[0]["id"] if data else None,
        "last_id": data[-1]["id"] if data else None,
        "has_more": len(found) > page.limit,
    }


def delete(tenant_id: uuid.UUID, file_id: str) -> Json:
    """Delete a file for good, with its content and the text that was taken from it; also while that is being done.

    Raises `ProtocolError` 404.
    """
    row = find(tenant_id, file_id)
    with tenant_scope(tenant_id):
        deleted, _ = File.objects.filter(id=row.id).delete()
    if not deleted:
        raise missing(file_id)
    return {"id": file_id, "object": "file", "deleted": True}


def pieces(tenant_id: uuid.UUID, file_id: str) -> Iterator[bytes]:
    """The content of a file, piece by piece, each read when it is asked for and in a transaction of its own.

    Raises `ProtocolError` 404 where it is deleted before its end.
    """
    size, read, position = find(tenant_id, file_id).bytes, 0, 0
    while read < size:
        piece = _piece_at(tenant_id, file_id, position)
        yield piece
        read, position = read + len(piece), position + 1


def whole_content(row: File) -> bytes:
    """The content of a file at once. Call inside the tenant's scope. Raises `File.DoesNotExist` where it was deleted
    meanwhile.
    """
    found = FileBlob.objects.filter(file_id=row.id).order_by("position").values_list("data", flat=True)
    content = b"".join(bytes(piece) for piece in found.iterator())
    if len(content) != row.bytes:
        raise File.DoesNotExist
    return content


async def streamed(row: File) -> AsyncGenerator[bytes, None]:
    """As `pieces`, for the event loop: each is read beside it when whoever takes them asks for it."""
    read = position = 0
    while read < row.bytes:
        piece = await in_database(_piece_at, row.tenant_id, row.id, position)
        yield piece
        read, position = read + len(piece), position + 1


def _piece_at(tenant_id: uuid.UUID, file_id: str, position: int) -> bytes:
    """One piece of a file's content, counted from 0. Raises `ProtocolError` 404 where it is not there."""
    with tenant_scope(tenant_id):
        data = (
            FileBlob.objects.filter(file_id=file_id, position=position).values_list("data", flat=True).first()
        )
    if data is None:
        raise missing(file_id)
    return bytes(data)


def told(row: File) -> Json:
    """A row as the API tells it."""
    return file_object(
        file_id=row.id,
        filename=row.filename,
        size=row.bytes,
        purpose=row.purpose,
        status=row.status,
        status_details=row.status_details,
        created_at=row.created_at,
        expires_at=row.expires_at,
    )


def missing(file_id: str) -> ProtocolError:
    """The one answer for a file that is not there for this caller."""
    return not_found(f"File with id '{file_id}' not found.")


def purge() -> int:
    """Delete the files that have expired, and what is left of those that never came in whole; returns how many."""
    given = {"now": now(), "stale": now() - _STALE_SECONDS, "uploading": UPLOADING}
    gone = _delete("expires_at <= %(now)s", given)
    gone += _delete("status = %(uploading)s AND created_at < %(stale)s", given)
    if gone:
        log.info("files purged", files=gone)
    return gone


def delete_all(tenant_id: uuid.UUID) -> None:
    """Delete every file of a tenant."""
    _delete("tenant_id = %(tenant)s", {"tenant": tenant_id})


def _delete(which: str, given: dict[str, Any]) -> int:
    """Delete files in batches, each a transaction; those that somebody holds are left to the next time."""
    gone, batch = 0, _MOST_PER_BATCH
    while batch == _MOST_PER_BATCH:
        with operator_scope(), connection.cursor() as cursor:
            cursor.execute(_DELETE.format(which=which), {**given, "most": _MOST_PER_BATCH})
            batch = cursor.rowcount
        gone += batch
    return gone
