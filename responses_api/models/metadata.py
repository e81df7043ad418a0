"""Which responses have which metadata, to be found by it."""

import hashlib
import uuid

from django.db import models

from responses_api.models.fields import PublicIdField
from tenants.scoping import ScopedManager


class MetadataEntry(models.Model):
    """One pair of name and value of one response's metadata, as a digest; the pair itself stands in the request.

    A table of its own, because row-level security keeps an index of JSON from being used: its operators may tell what
    they see in their errors, those of UUIDs may not. The database deletes the entries of a response that is deleted.
    """

    pk = models.CompositePrimaryKey("response_id", "digest")
    response_id = PublicIdField(editable=False)
    digest = models.UUIDField(editable=False)
    tenant = models.ForeignKey(
        "tenants.Tenant", on_delete=models.CASCADE, db_constraint=False, db_index=False, related_name="+"
    )

    objects = ScopedManager()

    class Meta:
        verbose_name_plural = "metadata entries"
        indexes = (models.Index(fields=("tenant", "digest", "-response_id"), name="response_by_metadata"),)

    def __str__(self) -> str:
        return f"{self.response_id} {self.digest}"


def metadata_digest(name: str, value: str) -> uuid.UUID:
    """What stands for a pair. Migration 0015 says the same in SQL."""
    pair = f"{len(name)}:{name}={value}"
    return uuid.UUID(bytes=hashlib.sha256(pair.encode("utf-8", "replace")).digest()[:16])
