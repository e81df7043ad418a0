"""Searching a tenant's files: which of them a request may name, and the passages that fit its queries best.

Each query is compared with every chunk of the tenant's files, or of those that are named: by meaning (the cosine of
their vectors) and by words (the share of the query's words that the chunk has, rare ones counting more). The first
finds what is said in other words, the second names and numbers. A chunk's score, from 0 to 1, is the weighted sum.
"""

import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import connection

from responses_api.models import File, FileChunk
from responses_api.models.file import ERROR, PROCESSED
from responses_api.protocol.errors import ProtocolError, invalid_request
from responses_api.protocol.plain import Json
from responses_api.protocol.wording import quoted
from responses_api.services import vectors
from responses_api.services.identity import now
from tenants.scoping import tenant_scope

_MEANING: Final = 0.7
_MOST_WORDS: Final = 40
_CANDIDATES: Final = 200
_SEVERAL: Final = 3
"""Where that many files fit, that many are among the results: no single one takes more than its share."""

_SEARCH: Final = f"""
WITH scanned AS MATERIALIZED (
    SELECT chunk_id, file_id,
           CASE WHEN model = %(model)s THEN greatest(0, 1 - (embedding <=> %(vector)s::vector)) ELSE 0 END AS meaning,
           {{has}} AS has
      FROM {vectors.TABLE}
     WHERE tenant_id = %(tenant)s AND (%(files)s::text[] IS NULL OR file_id = ANY(%(files)s))
       AND file_id IN (
           SELECT id FROM responses_api_file WHERE tenant_id = %(tenant)s AND status = '{PROCESSED}'
              AND (expires_at IS NULL OR expires_at > %(now)s)
       )
), weights AS (
    SELECT {{weights}} AS weight FROM scanned
)
SELECT chunk_id, file_id, {_MEANING} * meaning + {1 - _MEANING:.1f} * ({{words}}) AS score
  FROM scanned, weights ORDER BY score DESC, chunk_id LIMIT {_CANDIDATES}
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """A query, and its vector by the embedding model that the chunks' are to be of."""

    text: str
    vector: Sequence[float]


@dataclass(frozen=True, slots=True)
class _Hit:
    chunk_id: str
    file_id: str
    score: float


def check(entry: Json, tenant_id: uuid.UUID, at: str) -> None:
    """Refuse a search that cannot be done: `entry` is a canonical one, `at` the path of its place (`tools[0]`).

    Raises `ProtocolError` 400 naming the field: where this server cannot search, and for files that are not the
    tenant's, or have not been read.
    """
    if not vectors.are_there():
        raise invalid_request(vectors.MISSING, param=f"{at}.type", code="unsupported_value")
    wanted = entry["file_ids"]
    if wanted is None:
        return
    with tenant_scope(tenant_id):
        known = {file.id: file for file in File.objects.filter(id__in=wanted)}
    for index, file_id in enumerate(wanted):
        file, place = known.get(file_id), f"{at}.file_ids[{index}]"
        if file is None:
            raise _refused(f"'{place}' names no file that is kept here: '{quoted(file_id)}'.", place)
        if file.status == ERROR:
            raise _refused(f"'{place}' names a file that could not be read: {file.status_details}", place)
        if file.status != PROCESSED:
            raise _refused(f"'{place}' names a file that is still being read; ask again in a moment.", place)


def search(tenant_id: uuid.UUID, entry: Json, model: str, asked: Sequence[Asked]) -> list[Json]:
    """The passages that fit the queries best, the best first, as a receipt has them; `model` made their vectors.

    Files that are not there any more are not searched.
    """
    with tenant_scope(tenant_id):
        best: dict[str, _Hit] = {}
        for query in asked:
            for hit in _hits(tenant_id, entry, model, query):
                if hit.chunk_id not in best or best[hit.chunk_id].score < hit.score:
                    best[hit.chunk_id] = hit
        wanted = _mixed(
            [hit for hit in best.values() if hit.score >= entry["score_threshold"]], entry["max_num_results"]
        )
        chunks = FileChunk.objects.select_related("file").in_bulk([hit.chunk_id for hit in wanted])
    return [_result(chunks[hit.chunk_id], hit) for hit in wanted if hit.chunk_id in chunks]


def _hits(tenant_id: uuid.UUID, entry: Json, model: str, query: Asked) -> list[_Hit]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT tsvector_to_array(to_tsvector('english', %s))", [query.text])
        words = cursor.fetchone()[0][:_MOST_WORDS]
        given: dict[str, Any] = {
            "tenant": tenant_id,
            "files": entry["file_ids"],
            "now": now(),
            "model": model,
            "vector": vectors.written(query.vector),
            **{f"word{place}": _as_query(word) for place, word in enumerate(words)},
        }
        cursor.execute(_SEARCH.format_map(_about_words(len(words))), given)
        return [_Hit(*row) for row in cursor.fetchall()]


def _about_words(count: int) -> dict[str, str]:
    """The expressions about the query's words: which of them a chunk has, what each weighs, and a chunk's share."""
    if not count:
        return {"has": "'{}'::bool[]", "weights": "'{}'::float[]", "words": "0"}
    places = range(1, count + 1)
    has = ", ".join(f"words @@ %(word{place})s::tsquery" for place in range(count))
    weights = ", ".join(
        f"ln(1 + count(*)::float / greatest(1, count(*) FILTER (WHERE has[{place}])))" for place in places
    )
    met = " + ".join(f"has[{place}]::int * weight[{place}]" for place in places)
    total = " + ".join(f"weight[{place}]" for place in places)
    return {"has": f"ARRAY[{has}]", "weights": f"ARRAY[{weights}]", "words": f"({met}) / ({total})"}


def _as_query(word: str) -> str:
    """A lexeme as PostgreSQL reads it in a `tsquery`."""
    doubled = word.replace("\\", "\\\\").replace("'", "''")
    return f"'{doubled}'"


def _mixed(hits: Sequence[_Hit], count: int) -> list[_Hit]:
    """The best of them, so that several files are among them if there are; the best first."""
    share = -(-count // _SEVERAL)
    taken: list[_Hit] = []
    left: list[_Hit] = []
    per_file: Counter[str] = Counter()
    for hit in sorted(hits, key=_order):
        (taken if per_file[hit.file_id] < share else left).append(hit)
        per_file[hit.file_id] += 1
    mixed = taken[:count]
    return sorted([*mixed, *left[: count - len(mixed)]], key=_order)


def _order(hit: _Hit) -> tuple[float, str]:
    return -hit.score, hit.chunk_id


def _result(chunk: FileChunk, hit: _Hit) -> Json:
    attributes: Json = {}
    if chunk.page is not None:
        attributes["page"] = chunk.page
    if chunk.headings:
        attributes["headings"] = " > ".join(chunk.headings)
    return {
        "file_id": chunk.file_id,
        "filename": chunk.file.filename,
        "score": round(hit.score, 4),
        "text": chunk.text,
        "attributes": attributes,
    }


def _refused(message: str, param: str) -> ProtocolError:
    return invalid_request(message, param=param, code="invalid_value")
