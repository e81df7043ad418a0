"""Reading files: who takes the text from which file, and what becomes of the file.

A file waits as `uploaded` until a worker has read it: then it is `processed`, or `error` with a sentence that says why.
What waits stands in the table, so a message to the workers is a ticket only: it says that something waits, not what,
and may be lost, or come twice. Tenants take turns, as they do with responses.

A worker that reads says so by the clock (`begun_at`); one that has not for `_LOST_SECONDS` is taken for lost, and
another one reads the file from the beginning. Should both come to its end, they store the same.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import structlog
from celery import current_app
from django.db import connection
from django.db.models import F, QuerySet

from responses_api.dispatch import BACKGROUND_QUEUE, destination
from responses_api.models import File, FileChunk
from responses_api.models.file import ERROR, PROCESSED, UPLOADED
from responses_api.protocol.ids import CHUNK
from responses_api.services.identity import new_id, now
from tenants.scoping import operator_scope, tenant_scope

log = structlog.get_logger(__name__)

INDEX_FILES: Final = "antiphon.index_files"
_TICKET_SECONDS: Final = 3_600
_LOST_SECONDS: Final = 120
_MOST_ATTEMPTS: Final = 3
_OVERDUE_SECONDS: Final = 15
"""A file that waits for longer has lost its ticket, or waits for a worker that is busy: another ticket does no harm."""
_WAITING: Final = "status = %(uploaded)s AND (begun_at IS NULL OR begun_at < %(lost)s)"

# The oldest file of the next tenant in turn: the first one after `after`, or the first of all.
_NEXT: Final = f"""
UPDATE responses_api_file SET begun_at = %(now)s, attempts = attempts + 1 WHERE id = (
    SELECT id FROM responses_api_file
     WHERE {_WAITING} AND (expires_at IS NULL OR expires_at > %(now)s) AND tenant_id <> ALL(%(served)s::uuid[])
     ORDER BY tenant_id <= %(after)s, tenant_id, id LIMIT 1 FOR UPDATE SKIP LOCKED
) RETURNING id, tenant_id, attempts
"""
_OVERDUE: Final = f"""
SELECT EXISTS (SELECT 1 FROM responses_api_file WHERE {_WAITING} AND created_at < %(overdue)s)
"""
_NOBODY: Final = uuid.UUID(int=0)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A file that this worker has taken to read."""

    tenant_id: uuid.UUID
    file_id: str
    attempt: int
    """Counts from 1."""


@dataclass(frozen=True, slots=True)
class NewChunk:
    """A piece of a file's text: the page that it begins on (from 1), and the headings above it, outermost first."""

    text: str
    page: int | None = None
    headings: tuple[str, ...] = ()


def ask() -> None:
    """Tell the workers that a file waits. Where the broker does not answer, beat tells them later."""
    try:
        current_app.send_task(
            INDEX_FILES,
            **destination(BACKGROUND_QUEUE),
            expires=_TICKET_SECONDS,
            ignore_result=True,
            retry=False,
        )
    except Exception as error:  # of whichever class the broker's client has
        log.warning("a file waits for the broker", error=type(error).__name__)


def rescue() -> None:
    """Where files wait whose ticket was lost, or whose worker was, send another one."""
    with operator_scope(), connection.cursor() as cursor:
        cursor.execute(_OVERDUE, {**_given(), "overdue": now() - _OVERDUE_SECONDS})
        (is_overdue,) = cursor.fetchone()
    if is_overdue:
        ask()


def take_next(after: uuid.UUID | None = None, served: Sequence[uuid.UUID] = ()) -> Waiting | None:
    """Take the next file that waits, of the next tenant after this one, but of none that is `served` already; None
    where none waits.

    One that workers were lost over time and again is given up.
    """
    while True:
        with operator_scope(), connection.cursor() as cursor:
            cursor.execute(_NEXT, {**_given(), "after": after or _NOBODY, "served": list(served)})
            found = cursor.fetchone()
        if found is None:
            return None
        waiting = Waiting(found[1], found[0], found[2])
        if waiting.attempt <= _MOST_ATTEMPTS:
            return waiting
        log.error("a file was given up", file_id=waiting.file_id, tenant_id=str(waiting.tenant_id))
        fail(waiting.tenant_id, waiting.file_id, "The service failed to read it, several times.")


def goes_on(tenant_id: uuid.UUID, file_id: str) -> bool:
    """Say that a worker still reads this file. False: nobody wants it any more, it was deleted."""
    with tenant_scope(tenant_id):
        return bool(_unread(file_id).update(begun_at=now()))


def store_chunks(tenant_id: uuid.UUID, file_id: str, chunks: Sequence[NewChunk]) -> list[str]:
    """Make these the file's chunks, in place of any that it had; returns their ids, in their order.

    The file stays as it is: `succeed` ends it. Empty where it was deleted meanwhile: then nothing is stored.
    """
    with tenant_scope(tenant_id):
        # Held, so that it is not deleted in between.
        if not _unread(file_id).select_for_update().exists():
            return []
        FileChunk.objects.filter(file_id=file_id).delete()
        rows = [
            FileChunk(
                id=new_id(CHUNK),
                tenant_id=tenant_id,
                file_id=file_id,
                position=position,
                text=chunk.text,
                page=chunk.page,
                headings=list(chunk.headings),
            )
            for position, chunk in enumerate(chunks)
        ]
        FileChunk.objects.bulk_create(rows, batch_size=500)
    return [row.id for row in rows]


def succeed(tenant_id: uuid.UUID, file_id: str, details: str | None = None) -> None:
    """The file was read, and its chunks are there; `details` is what there is to say of it."""
    with tenant_scope(tenant_id):
        count = FileChunk.objects.filter(file_id=file_id).count()
        _unread(file_id).update(status=PROCESSED, status_details=details, chunk_count=count)


def fail(tenant_id: uuid.UUID, file_id: str, why: str) -> None:
    """The file cannot be read; `why` is a sentence for who uploaded it."""
    with tenant_scope(tenant_id):
        if _unread(file_id).update(status=ERROR, status_details=why, chunk_count=0):
            FileChunk.objects.filter(file_id=file_id).delete()


def let_go(waiting: Waiting) -> None:
    """Let another worker read it soon: this one is being stopped, which is no fault of the file's."""
    with tenant_scope(waiting.tenant_id):
        _unread(waiting.file_id).update(begun_at=None, attempts=F("attempts") - 1)


def _unread(file_id: str) -> "QuerySet[File]":
    return File.objects.filter(id=file_id, status=UPLOADED)


def _given() -> dict[str, Any]:
    return {"uploaded": UPLOADED, "now": now(), "lost": now() - _LOST_SECONDS}
