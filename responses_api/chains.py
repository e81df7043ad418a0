"""The context of a previous response: its chain, oldest first, each item stored once and followed by id.

Protocol: "Chains". A chain that has a hole (something in it was deleted) cannot be continued, and neither can one that
ends in a failed, cancelled or unknown response. All of these look alike to a caller.

What this process read for the turn before is not read again (`recent`): a turn costs the database the same however long
the chain is.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from django.conf import settings
from django.db import connection

from responses_api.models.response import UNFINISHED
from responses_api.protocol.compaction import KEPT_ROLES, kept
from responses_api.protocol.errors import ProtocolError, invalid_request
from responses_api.protocol.plain import Json
from responses_api.protocol.sse import decode, encode
from responses_api.recent import Context, recent_contexts
from tenants.scoping import current_scope

NOT_CONTINUABLE: Final = "previous_response_not_found"
CONTINUABLE: Final = frozenset({"completed", "incomplete"})

# LATERAL and OFFSET 0, here and below, hold the planner to primary keys and ranges of an index: without fresh
# statistics, and sometimes with them, it would read everything the tenant has.
_TIP: Final = """
SELECT tip.status, tip.previous_id, tip.root_id, root.deletions
  FROM responses_api_response tip LEFT JOIN LATERAL (
    SELECT deletions FROM responses_api_response WHERE id = tip.root_id AND tenant_id = %(tenant)s OFFSET 0
  ) root ON true
 WHERE tip.id = %(id)s AND tip.tenant_id = %(tenant)s
"""

# The recursion walks up to what is known. More items than are allowed stay in the database. A call that was cut short
# is left out: nobody can answer it. Before the newest compaction only what it kept is left (`protocol.compaction`).
_CHAIN: Final = """
WITH RECURSIVE chain AS (
    SELECT id, previous_id, 0 AS depth
      FROM responses_api_response WHERE id = %(id)s AND tenant_id = %(tenant)s
  UNION ALL
    SELECT r.id, r.previous_id, chain.depth + 1
      FROM chain CROSS JOIN LATERAL (
        SELECT * FROM responses_api_response WHERE id = chain.previous_id OFFSET 0
      ) r
     WHERE r.tenant_id = %(tenant)s AND chain.previous_id <> ALL(%(known)s::text[])
), everything AS MATERIALIZED (
    SELECT chain.depth, chain.id, chain.previous_id, item.*
      FROM chain LEFT JOIN LATERAL (
        SELECT position, is_output, data ->> 'type' AS type, data ->> 'role' AS role, data::text AS data
          FROM responses_api_item
         WHERE response_id = chain.id AND tenant_id = %(tenant)s
           AND NOT (data ->> 'type' = 'function_call' AND data ->> 'status' = 'incomplete')
         ORDER BY position
      ) item ON true
), compacted AS (
    SELECT min(depth) AS depth FROM everything WHERE is_output AND type = 'compaction'
), context AS MATERIALIZED (
    SELECT everything.depth, id, previous_id, position, everything.depth = compacted.depth AS is_compacted,
           CASE WHEN compacted.depth IS NULL OR everything.depth < compacted.depth
                  OR (everything.depth = compacted.depth AND is_output)
                  OR (type = 'message' AND role = ANY(%(kept)s))
                THEN data END AS data
      FROM everything CROSS JOIN compacted
), size AS (
    SELECT coalesce(sum(octet_length(data)), 0) AS bytes FROM context
)
SELECT context.id, context.previous_id, context.is_compacted, size.bytes,
       CASE WHEN size.bytes <= %(most)s THEN context.data END
  FROM context CROSS JOIN size
 ORDER BY context.depth DESC, context.position
"""


@dataclass(frozen=True, slots=True)
class _Tip:
    """The response that is continued, and what its row tells of its chain."""

    id: str
    previous_id: str | None
    root_id: str | None
    deletions: int | None


def not_continuable(response_id: str) -> ProtocolError:
    """The one answer for an unknown, foreign, deleted or unfinished-for-good previous response."""
    return invalid_request(
        f"Previous response with id '{response_id}' not found.",
        param="previous_response_id",
        code=NOT_CONTINUABLE,
    )


def still_running(response_id: str) -> ProtocolError:
    """The answer for a previous response that has not ended."""
    return invalid_request(
        f"The response '{response_id}' is still in progress; wait until it has ended.",
        param="previous_response_id",
        code="response_in_progress",
        status=409,
    )


def load_context(response_id: str) -> list[Json]:
    """All items of the chain that ends in `response_id`, oldest first, inside the current tenant scope.

    Raises `ProtocolError` 400: `previous_response_not_found` where there is no whole chain to continue,
    `context_length_exceeded` where its items are larger than `ANTIPHON_MAX_CONTEXT_BYTES`; 409 where it still runs.
    """
    tip = _find_tip(response_id)
    pieces = _pieces(tip)
    size = sum(map(len, pieces.values()))
    if size > settings.MAX_CONTEXT_BYTES:
        raise _too_large(size)
    return _decoded(pieces.values())


def _decoded(pieces: Iterable[bytes]) -> list[Json]:
    items: list[Json] = decode(b"[" + b",".join(filter(None, pieces)) + b"]")
    return items


def _find_tip(response_id: str) -> _Tip:
    with connection.cursor() as cursor:
        cursor.execute(_TIP, {"id": response_id, "tenant": current_scope()})
        row = cursor.fetchone()
    if row is None:
        raise not_continuable(response_id)
    status, previous_id, root_id, deletions = row
    if status in UNFINISHED:
        raise still_running(response_id)
    if status not in CONTINUABLE:
        raise not_continuable(response_id)
    return _Tip(response_id, previous_id, root_id, deletions)


def _known(tip: _Tip) -> Sequence[Context]:
    """What this process has read of the chain before, as far as it still holds."""
    if tip.root_id is None or tip.deletions is None:
        return ()
    return recent_contexts.of((current_scope() or "", tip.root_id), tip.deletions)


def _pieces(tip: _Tip) -> dict[str, bytes]:
    """The chain's items, as JSON by response: as far as they are known from there, the others from the database."""
    known = _known(tip)
    for context in known:
        if tip.id in context.pieces:
            return context.until(tip.id)
    for context in known:
        if tip.previous_id is not None and tip.previous_id in context.pieces:
            return _read(tip, {tip.previous_id: context})
    return _read(tip, {context.last: context for context in known})


def _read(tip: _Tip, known: Mapping[str, Context]) -> dict[str, bytes]:
    """The items up to the nearest of the `known` responses as they are known, those after it from the database."""
    most = settings.MAX_CONTEXT_BYTES
    with connection.cursor() as cursor:
        cursor.execute(
            _CHAIN,
            {
                "id": tip.id,
                "tenant": current_scope(),
                "most": most,
                "known": list(known),
                "kept": list(KEPT_ROLES),
            },
        )
        rows = cursor.fetchall()
    if not rows:  # deleted between the two looks
        raise not_continuable(tip.id)
    first, before, _, size, _ = rows[0]
    if before is not None and before not in known:
        raise not_continuable(tip.id)
    if size > most:
        raise _too_large(size)
    pieces = ({} if before is None else known[before].until(before)) | _by_response(rows)
    compacted = next((response_id for response_id, _, is_compacted, _, _ in rows if is_compacted), None)
    if compacted is not None:
        pieces = _from_compaction(pieces, compacted)
    if before is not None or first == tip.root_id:
        _keep(tip, pieces)
    return pieces


def _from_compaction(pieces: dict[str, bytes], compacted: str) -> dict[str, bytes]:
    """The pieces from a compaction on: its own holds the whole window, so that older responses, which may be continued
    without it, are not taken from here.
    """
    before = list(takewhile(lambda response_id: response_id != compacted, pieces))
    window = kept(_decoded(pieces[response_id] for response_id in before))
    own = b",".join(filter(None, (encode(window)[1:-1], pieces[compacted])))
    later = {response_id: piece for response_id, piece in pieces.items() if response_id not in before}
    return later | {compacted: own}


def _by_response(rows: Sequence[tuple[str, str | None, bool, int, str | None]]) -> dict[str, bytes]:
    items: dict[str, list[bytes]] = {}
    for response_id, _, _, _, data in rows:
        of_response = items.setdefault(response_id, [])
        if data is not None:
            of_response.append(data.encode())
    return {response_id: b",".join(data) for response_id, data in items.items()}


def _keep(tip: _Tip, pieces: dict[str, bytes]) -> None:
    """Remember what was read, if the database can tell later whether it still holds."""
    if tip.root_id is None or tip.deletions is None:
        return
    recent_contexts.keep((current_scope() or "", tip.root_id), Context(tip.deletions, pieces))


def _too_large(size: int) -> ProtocolError:
    return invalid_request(
        f"The items before this request are {size} bytes; this server continues up to "
        f"{settings.MAX_CONTEXT_BYTES}. Begin a new chain.",
        param="previous_response_id",
        code="context_length_exceeded",
    )
