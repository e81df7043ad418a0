"""Export: everything of a tenant as a ZIP file of JSON lines, made while it is sent.

Each read is a short transaction in the tenant's scope that goes on after the last row it saw, so an export of any size
holds no lock and takes a bounded amount of memory. It holds no secret: of keys what a person recognises them by.
"""

import io
import uuid
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final

from django.db.models import QuerySet

from responses_api.models import File, FileChunk, Item, Response, UsedApproval
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.plain import Json
from responses_api.protocol.sse import encode
from responses_api.services.stored import snapshots
from responses_api.services.stored_files import pieces
from tenants.models import ApiKey, AuditEvent, Invitation, Limit, Membership, Tenant, ToolPolicy, UsageRecord
from tenants.scoping import tenant_scope

_AT_ONCE: Final = 200

Read = Callable[[uuid.UUID], Iterator[Json]]


def export(tenant_id: uuid.UUID) -> Iterator[bytes]:
    """The bytes of the ZIP file, piece by piece. Raises the database's error where it stays away."""
    written = _Pieces()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, read in _FILES.items():
            with archive.open(f"{name}.jsonl", "w", force_zip64=True) as lines:
                for row in read(tenant_id):
                    lines.write(encode(row) + b"\n")
                    yield from written.taken()
        for name, content in _contents(tenant_id):
            with archive.open(name, "w", force_zip64=True) as file:
                for piece in content:
                    file.write(piece)
                    yield from written.taken()
    yield from written.taken()


class _Pieces(io.RawIOBase):
    """What a ZIP file is written to: it cannot go back, and hands out what has come."""

    def __init__(self) -> None:
        self._waiting = bytearray()

    def writable(self) -> bool:
        """It is written to."""
        return True

    def write(self, data: Any) -> int:
        """Keep it until it is taken."""
        self._waiting += data
        return len(data)

    def taken(self) -> Iterator[bytes]:
        """What has come since the last time, if anything has."""
        if self._waiting:
            piece = bytes(self._waiting)
            self._waiting.clear()
            yield piece


def _pages(tenant_id: uuid.UUID, rows: Callable[[], QuerySet[Any]]) -> Iterator[list[Any]]:
    """All rows, in the order of their keys, so many at a time."""
    last: Any = None
    while True:
        with tenant_scope(tenant_id):
            after = rows().order_by("pk") if last is None else rows().order_by("pk").filter(pk__gt=last)
            page = list(after[:_AT_ONCE])
        if page:
            yield page
        if len(page) < _AT_ONCE:
            return
        last = page[-1].pk


def _fields_of(model: Any, *left_out: str) -> Read:
    """Reads a table, without some of its columns."""
    columns = [column.attname for column in model._meta.concrete_fields if column.name not in left_out]

    def read(tenant_id: uuid.UUID) -> Iterator[Json]:
        for page in _pages(tenant_id, lambda: model.objects.all()):
            yield from ({name: _plain(getattr(row, name)) for name in columns} for row in page)

    return read


def _members(tenant_id: uuid.UUID) -> Iterator[Json]:
    for page in _pages(tenant_id, lambda: Membership.objects.select_related("user")):
        for row in page:
            yield {"email": row.user.email, "role": row.role, "created_at": _plain(row.created_at)}


def _responses(tenant_id: uuid.UUID) -> Iterator[Json]:
    for page in _pages(tenant_id, lambda: Response.objects.defer("score")):
        with tenant_scope(tenant_id):
            told = snapshots(page)
        for row, snapshot in zip(page, told, strict=True):
            yield {**snapshot, "backend": row.backend, "key_id": str(row.key_id)}


def _items(tenant_id: uuid.UUID) -> Iterator[Json]:
    for page in _pages(tenant_id, lambda: Item.objects.all()):
        for row in page:
            place = {"response_id": row.response_id, "position": row.position, "is_output": row.is_output}
            yield {**place, "item": row.data}


def _contents(tenant_id: uuid.UUID) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Every uploaded file: what it is called in the archive, and its content piece by piece."""
    for page in _pages(tenant_id, lambda: File.objects.all()):
        for row in page:
            yield f"files/{row.id}/{row.filename}", _until_deleted(tenant_id, row.id)


def _until_deleted(tenant_id: uuid.UUID, file_id: str) -> Iterator[bytes]:
    """The content of a file; one that is deleted meanwhile ends there."""
    with suppress(ProtocolError):
        yield from pieces(tenant_id, file_id)


def _plain(value: Any) -> Any:
    """A column's value as JSON."""
    if value is None or isinstance(value, bool | int | float | str | list | dict):
        return value
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


_FILES: Final[dict[str, Read]] = {
    "tenant": _fields_of(Tenant),
    "members": _members,
    "invitations": _fields_of(Invitation, "digest", "invited_by"),
    "keys": _fields_of(ApiKey, "digest"),
    "limits": _fields_of(Limit),
    "policies": _fields_of(ToolPolicy),
    "usage": _fields_of(UsageRecord),
    "audit": _fields_of(AuditEvent),
    "responses": _responses,
    "items": _items,
    "approvals": _fields_of(UsedApproval),
    "files": _fields_of(File, "sha256"),
    "chunks": _fields_of(FileChunk),
}
