"""A file that a tenant uploaded: its facts, its content in pieces, and the text that was taken from it to be searched.

The content is in the same database as everything else of a tenant, under the same two walls: one backup, one deletion,
one row-level security. A piece is small enough to be written and read whole; a file is neither.
"""

import time
from typing import Final

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from responses_api.models.fields import PublicIdField
from tenants.scoping import ScopedManager

PIECE_BYTES: Final = 1 << 20
"""How large a piece of a file's content is at most."""
LONGEST_NAME: Final = 255
LONGEST_MEDIA_TYPE: Final = 127

UPLOADING: Final = "uploading"
"""It is on its way: nobody sees it yet, and `bytes` is the room that is held for it."""
UPLOADED: Final = "uploaded"
"""It is stored, and waits for the worker that takes the text from it."""
PROCESSED: Final = "processed"
ERROR: Final = "error"
STATUSES: Final = (
    (UPLOADING, "on its way"),
    (UPLOADED, "waits to be read"),
    (PROCESSED, "processed"),
    (ERROR, "could not be read"),
)
UNSETTLED: Final = (UPLOADING, UPLOADED)
"""The states that somebody has still to bring to an end."""


class FileManager(ScopedManager):
    """The files that are there: those on their way are not yet, and those that have expired no longer, whether they are
    deleted already or not. (`File.everything` has them all.)
    """

    def get_queryset(self) -> "models.QuerySet[File]":
        """As `ScopedManager`."""
        is_lasting = Q(expires_at=None) | Q(expires_at__gt=int(time.time()))
        return super().get_queryset().filter(is_lasting).exclude(status=UPLOADING)


class File(models.Model):
    """One uploaded file."""

    id = PublicIdField(primary_key=True, editable=False)
    # No foreign key constraint, as with responses. A tenant's end deletes these rows (`services/tenant_end.py`).
    tenant = models.ForeignKey(
        "tenants.Tenant", on_delete=models.CASCADE, db_constraint=False, db_index=False, related_name="+"
    )
    key_id = models.UUIDField("key", null=True, help_text="The API key that uploaded it; empty for a person.")
    uploaded_by = models.CharField(
        max_length=254,
        blank=True,
        default="",
        db_default="",
        help_text="The person who uploaded it, if one did.",
    )
    filename = models.CharField("name", max_length=LONGEST_NAME)
    bytes = models.BigIntegerField("size", help_text="In bytes.")
    media_type = models.CharField(max_length=LONGEST_MEDIA_TYPE)
    sha256 = models.BinaryField(max_length=32, null=True, editable=False)
    purpose = models.CharField(max_length=32)
    status = models.CharField(max_length=16, choices=STATUSES)
    status_details = models.TextField(null=True, blank=True, help_text="Why it could not be read.")
    chunk_count = models.PositiveIntegerField(
        "chunks",
        default=0,
        db_default=0,
        editable=False,
        help_text="How many pieces of text search has of it.",
    )
    attempts = models.PositiveSmallIntegerField(
        default=0, db_default=0, editable=False, help_text="How many workers have begun to read it."
    )
    begun_at = models.BigIntegerField(
        null=True, editable=False, help_text="When a worker last said that it reads it; unix seconds."
    )
    created_at = models.BigIntegerField(help_text="Unix time in seconds.")
    expires_at = models.BigIntegerField(
        null=True, blank=True, help_text="When it is deleted by itself; unix time in seconds."
    )

    objects = FileManager()
    everything = ScopedManager()

    class Meta:
        ordering = ("-id",)
        indexes = (
            models.Index(fields=("tenant", "-id"), name="file_by_tenant"),
            # The bytes that a tenant has stored are added up from the index alone.
            models.Index(fields=("tenant",), include=("bytes",), name="file_bytes_by_tenant"),
            models.Index(
                fields=("expires_at",), condition=Q(expires_at__isnull=False), name="file_by_expiry"
            ),
            models.Index(fields=("id",), condition=Q(status__in=UNSETTLED), name="file_unsettled"),
        )

    def __str__(self) -> str:
        return self.filename


class FileBlob(models.Model):
    """A piece of a file's content. The database deletes the pieces of a file that is deleted (migration 0024)."""

    pk = models.CompositePrimaryKey("file_id", "position")
    file = models.ForeignKey(
        File, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="blobs"
    )
    tenant = models.ForeignKey(
        "tenants.Tenant", on_delete=models.CASCADE, db_constraint=False, db_index=False, related_name="+"
    )
    position = models.PositiveIntegerField()
    data = models.BinaryField()

    objects = ScopedManager()

    class Meta:
        ordering = ("file", "position")

    def __str__(self) -> str:
        return f"{self.file_id} {self.position}"


class FileChunk(models.Model):
    """A piece of a file's text, as search finds it. The database deletes the chunks of a file that is deleted.

    What stands for its meaning (a vector) is a column that is there only where PostgreSQL has the extension for it.
    """

    id = PublicIdField(primary_key=True, editable=False)
    tenant = models.ForeignKey(
        "tenants.Tenant", on_delete=models.CASCADE, db_constraint=False, db_index=False, related_name="+"
    )
    file = models.ForeignKey(
        File, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="chunks"
    )
    position = models.PositiveIntegerField(help_text="Counts the chunks of the file from 0.")
    text = models.TextField()
    page = models.PositiveIntegerField(
        null=True, help_text="The page that it begins on, from 1, where there are pages."
    )
    headings = ArrayField(
        models.CharField(max_length=300),
        default=list,
        db_default=[],
        help_text="The headings that it stands under, the outermost first.",
    )

    objects = ScopedManager()

    class Meta:
        ordering = ("file", "position")
        # Begins with the file, not the tenant: the database's own cascade looks a file's chunks up by this index.
        constraints = (models.UniqueConstraint(fields=("file", "position"), name="chunk_once_per_position"),)

    def __str__(self) -> str:
        return f"{self.file_id} {self.position}"
