"""A file that comes in: stored piece by piece while it comes, seen by nobody before it is there in whole.

Its row is made first, and holds the room that it may take, so that a tenant's files never have more bytes than
`ANTIPHON_TENANT_FILE_BYTES` however many come in at once. One that breaks off is deleted; where nobody is left to do
that, beat does (`stored_files.purge`).
"""

import hashlib
import uuid
from typing import Any, Final

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models import Sum
from psycopg import Cursor

from responses_api.models import File
from responses_api.models.file import PIECE_BYTES, PROCESSED, UPLOADED, UPLOADING
from responses_api.protocol.errors import ProtocolError, invalid_request
from responses_api.protocol.files import VISION, Described, cleaned_name, media_type_of
from responses_api.protocol.ids import FILE
from responses_api.protocol.plain import Json
from responses_api.services.faults import KEY_ENDED
from responses_api.services.identity import new_id, now
from responses_api.services.indexing import ask
from responses_api.services.stored_files import told
from tenants.scoping import tenant_scope

LONGEST_SECONDS: Final = 3_000.0
"""How long a file may take to come in."""
_ADVISORY: Final = "antiphon files"
_INSERT: Final = (
    "INSERT INTO responses_api_fileblob (file_id, tenant_id, position, data) VALUES (%s, %s, %s, %b)"
)


class Upload:
    """One file on its way. Every method but `take` uses the database."""

    def __init__(
        self, tenant_id: uuid.UUID, *, key_id: uuid.UUID | None = None, uploaded_by: str = ""
    ) -> None:
        self._tenant_id = tenant_id
        self._key_id = key_id
        self._uploaded_by = uploaded_by
        self._digest = hashlib.sha256()
        self._waiting = bytearray()
        self._pieces = 0
        self._room = 0
        self._is_full = False
        self.size = 0
        self.row: File | None = None

    def begin(self, name: str, media_type: str, most: int | None) -> None:
        """Make the file's row. `most` is how many bytes it has at most, where that is known.

        Raises `ProtocolError`: 400 for a name that a file cannot have, 413 where the tenant has no room left.
        """
        filename = cleaned_name(name)
        largest = settings.MAX_FILE_BYTES
        with tenant_scope(self._tenant_id):
            free = _free_bytes(self._tenant_id)
            self._is_full = free is not None and free < largest
            self._room = largest if free is None else min(free, largest)
            if self._room <= 0:
                raise _no_room()
            self.row = File.everything.create(
                id=new_id(FILE),
                tenant_id=self._tenant_id,
                key_id=self._key_id,
                uploaded_by=self._uploaded_by,
                filename=filename,
                media_type=media_type_of(media_type, filename),
                bytes=self._room if most is None else min(most, self._room),
                purpose="",
                status=UPLOADING,
                created_at=now(),
            )

    def take(self, data: bytes) -> bool:
        """The next bytes of the file; whether there is enough for a piece now, for `store`.

        Raises `ProtocolError` 413 as soon as they are too many.
        """
        self.size += len(data)
        if self.size > self._room:
            raise _no_room() if self._is_full else too_large()
        self._waiting += data
        return len(self._waiting) >= PIECE_BYTES

    def store(self) -> None:
        """Store the whole pieces of what has come."""
        while len(self._waiting) >= PIECE_BYTES:
            self._add(bytes(self._waiting[:PIECE_BYTES]))
            del self._waiting[:PIECE_BYTES]

    def finish(self, said: Described) -> Json:
        """Store the rest: from here on the file is there. Returns it as the API tells it.

        Raises `ProtocolError` 400 for one that is empty.
        """
        row = self._begun()
        if not self.size:
            raise invalid_request("'file' is empty.", param="file")
        self.store()
        if self._waiting:
            self._add(bytes(self._waiting))
        row.bytes, row.sha256, row.purpose = self.size, self._digest.digest(), said.purpose
        row.status = PROCESSED if said.purpose == VISION else UPLOADED
        row.expires_at = None if said.expires_after is None else row.created_at + said.expires_after
        with tenant_scope(self._tenant_id):
            changed = ["bytes", "sha256", "purpose", "status", "expires_at"]
            is_there = File.everything.filter(id=row.id, status=UPLOADING).update(
                **{name: getattr(row, name) for name in changed}
            )
        if not is_there:
            raise KEY_ENDED.anew()
        if row.status == UPLOADED:
            transaction.on_commit(ask)  # at once, but for who has opened a transaction around it all
        return told(row)

    def abandon(self) -> None:
        """Delete what came in of it, if anything did."""
        if self.row is not None:
            with tenant_scope(self._tenant_id):
                File.everything.filter(id=self.row.id, status=UPLOADING).delete()

    def _add(self, piece: bytes) -> None:
        self._digest.update(piece)
        try:
            with tenant_scope(self._tenant_id):
                _insert([self._begun().id, self._tenant_id, self._pieces, piece])
        except IntegrityError:
            # Only the end of its tenant takes a file away while it comes in.
            raise KEY_ENDED.anew() from None
        self._pieces += 1

    def _begun(self) -> File:
        assert self.row is not None, "it has begun"
        return self.row


def _insert(piece: list[Any]) -> None:
    """Django would write the bytes into the statement, as twice as many digits; bound beside it they take a sixth of
    the time.
    """
    with connection.wrap_database_errors, Cursor(connection.connection) as cursor:
        cursor.execute(_INSERT, piece)


def too_large() -> ProtocolError:
    """A file above `ANTIPHON_MAX_FILE_BYTES`."""
    return invalid_request(
        f"'file' is larger than the {settings.MAX_FILE_BYTES} bytes that a file may have.",
        param="file",
        status=413,
    )


def check_room(tenant_id: uuid.UUID, size: int) -> None:
    """Raises `ProtocolError` 413 for a file that is too large for anybody, or for this tenant now."""
    if size > settings.MAX_FILE_BYTES:
        raise too_large()
    with tenant_scope(tenant_id):
        free = _free_bytes(tenant_id)
    if free is not None and size > free:
        raise _no_room()


def stored_bytes() -> int:
    """The bytes of the scope's files, with what is held for those on their way."""
    total: int | None = File.everything.aggregate(total=Sum("bytes"))["total"]
    return total or 0


def _free_bytes(tenant_id: uuid.UUID) -> int | None:
    """What a tenant may still store, in its scope; None: as much as it likes. Nobody else asks before the end of the
    transaction.
    """
    most = settings.TENANT_FILE_BYTES
    if most is None:
        return None
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"{_ADVISORY} {tenant_id}"])
    return int(most) - stored_bytes()


def _no_room() -> ProtocolError:
    return invalid_request(
        f"The files of this tenant may have {settings.TENANT_FILE_BYTES} bytes together, and 'file' does not fit"
        " beside those that are stored; delete some first.",
        param="file",
        code="storage_full",
        status=413,
    )
