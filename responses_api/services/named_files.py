"""Uploaded files that a conversation names by their ids, for its model to read: that they are there, and their content.

A file that is unknown, deleted, expired, on its way or another tenant's: all of these look alike to a caller.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from uuid import UUID

from django.conf import settings

from responses_api.models import File
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.media import each_reference, not_usable, uploads_in
from responses_api.protocol.plain import Json
from responses_api.protocol.wording import quoted
from responses_api.services.database import in_database
from responses_api.services.stored_files import whole_content
from tenants.scoping import tenant_scope


async def check_named_files(history: Sequence[Json], given: Sequence[Json], tenant_id: UUID) -> int:
    """How many bytes the files hold that a conversation names, each as often as it is named.

    Raises `ProtocolError` 400 naming the field: of a file that is not kept here, and where all of them together hold
    more than `ANTIPHON_MAX_FETCH_BYTES`.
    """
    named = [
        *each_reference(history, uploads_in, are_new=False),
        *each_reference(given, uploads_in, are_new=True),
    ]
    if not named:
        return 0
    sizes = await in_database(_sizes, tenant_id, {reference.value for reference, _ in named})
    total = 0
    for reference, param in named:
        if reference.value not in sizes:
            raise not_kept(reference.value, param)
        total += sizes[reference.value]
        if total > settings.MAX_FETCH_BYTES:
            raise not_usable(
                param,
                f"holds, with all that the conversation names before it, {total} bytes: more than the "
                f"{settings.MAX_FETCH_BYTES} that a model is given",
            )
    return total


def named_bytes(items: Iterable[Json], tenant_id: UUID) -> int:
    """How many bytes the files hold that the items name, each as often as it is named; one that is gone holds none.
    Blocks: for threads.
    """
    named = [reference.value for item in items for reference in uploads_in(item)]
    sizes = _sizes(tenant_id, set(named)) if named else {}
    return sum(sizes.get(file_id, 0) for file_id in named)


def read_named_file(tenant_id: UUID, file_id: str) -> tuple[bytes, str] | None:
    """The content of a file, and its name; None where it is not kept (any more)."""
    with suppress(File.DoesNotExist), tenant_scope(tenant_id):
        file = File.objects.get(id=file_id)
        return whole_content(file), file.filename
    return None


def not_kept(file_id: str, param: str) -> ProtocolError:
    """400 for a file that is not there for this caller."""
    return not_usable(param, f"is not kept here: '{quoted(file_id)}'")


def _sizes(tenant_id: UUID, file_ids: set[str]) -> dict[str, int]:
    with tenant_scope(tenant_id):
        return dict(File.objects.filter(id__in=file_ids).values_list("id", "bytes"))
