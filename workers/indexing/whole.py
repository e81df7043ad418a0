"""A file from its bytes to what search finds: text, chunks, vectors."""

import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePath
from typing import Final

from responses_api.models import File
from responses_api.services import indexing, vectors
from responses_api.services.stored_files import whole_content
from tenants.scoping import tenant_scope
from workers.indexing.chunking import Chunk
from workers.indexing.embedding import embedder
from workers.indexing.errors import Interrupted, Unreadable
from workers.indexing.extraction import MOST_BYTES, extract

_BATCH: Final = 32
"""Chunks that are embedded between two looks whether the file is still wanted: one or two seconds of work."""


def index(tenant_id: uuid.UUID, file_id: str, is_ending: Callable[[], bool] = lambda: False) -> None:
    """Read a file that waits as `uploaded`: it ends as `processed`, or as `error` with a sentence that says why.

    May be called again for the same file, which then has what the last call found; one that was deleted meanwhile is
    no error. Raises `Interrupted` where the worker is to end, and whatever else is no fault of the file's, such as a
    database that is away: it is tried again.
    """
    try:
        note = _index(tenant_id, file_id, is_ending)
    except Unreadable as error:
        indexing.fail(tenant_id, file_id, str(error))
    except File.DoesNotExist:
        return
    else:
        indexing.succeed(tenant_id, file_id, note)


def _index(tenant_id: uuid.UUID, file_id: str, is_ending: Callable[[], bool]) -> str | None:
    """What there is to say of a file that was read, a sentence.

    Raises `Unreadable`, `Interrupted`, `File.DoesNotExist`.
    """
    if not vectors.are_there():
        raise Unreadable(vectors.MISSING)
    filename, media_type, data = _content(tenant_id, file_id)
    passages = extract(data, filename, media_type)
    cut = passages.chunks
    made: list[Sequence[float]] = []
    for batch in _batches(filename, cut):
        if is_ending():
            raise Interrupted
        if not indexing.goes_on(tenant_id, file_id):
            raise File.DoesNotExist
        made.extend(embedder().embed(batch))
    _store(tenant_id, file_id, filename, cut, made)
    return passages.note


def _content(tenant_id: uuid.UUID, file_id: str) -> tuple[str, str, bytes]:
    """Its name, its media type, and its bytes, as far as any file is read. Raises `File.DoesNotExist`."""
    with tenant_scope(tenant_id):
        file = File.objects.get(id=file_id)
        if file.bytes > MOST_BYTES:
            return file.filename, file.media_type, bytes(MOST_BYTES + 1)
        return file.filename, file.media_type, whole_content(file)


def _batches(filename: str, cut: Sequence[Chunk]) -> Iterator[list[str]]:
    for begin in range(0, len(cut), _BATCH):
        yield [f"{_context(filename, chunk)}\n{chunk.text}" for chunk in cut[begin : begin + _BATCH]]


def _context(filename: str, chunk: Chunk) -> str:
    """What a passage belongs to: without it, it may not say what it is about."""
    return " > ".join((PurePath(filename).stem, *chunk.headings))


def _store(
    tenant_id: uuid.UUID,
    file_id: str,
    filename: str,
    cut: Sequence[Chunk],
    made: Sequence[Sequence[float]],
) -> None:
    new = [indexing.NewChunk(chunk.text, chunk.page, chunk.headings) for chunk in cut]
    # At once: another worker that took this one for lost, and reads the file as well, puts others in their place.
    with tenant_scope(tenant_id):
        ids = indexing.store_chunks(tenant_id, file_id, new)
        rows = zip(ids, cut, made, strict=False)  # no ids where the file was deleted meanwhile
        vectors.add(
            tenant_id,
            embedder().model,
            [vectors.NewVector(id, vector, _context(filename, chunk)) for id, chunk, vector in rows],
        )
