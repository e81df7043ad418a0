"""The context of a previous response: its chain, oldest first, each item stored once and followed by id.

Protocol: "Chains". A chain that has a hole (something in it was deleted) cannot be continued, and neither can one that
ends in a failed, cancelled or unknown response. All of these look alike to a caller.
"""

from typing import Final

from django.conf import settings
from django.db import connection

from responses_api.protocol.errors import ProtocolError, invalid_request
from responses_api.protocol.plain import Json
from responses_api.protocol.sse import decode
from tenants.scoping import current_scope

NOT_CONTINUABLE: Final = "previous_response_not_found"
CONTINUABLE: Final = frozenset({"completed", "incomplete"})

# The recursion walks primary keys, and the items of each response are one range of an index: LATERAL and OFFSET 0 hold
# the planner to that, which without fresh statistics would read everything the tenant has, once for each response. More
# items than are allowed stay in the database. A call that was cut short is left out: nobody can answer it.
_CHAIN: Final = """
WITH RECURSIVE chain AS (
    SELECT id, previous_id, status, 0 AS depth
      FROM responses_api_response WHERE id = %(id)s AND tenant_id = %(tenant)s
  UNION ALL
    SELECT r.id, r.previous_id, r.status, chain.depth + 1
      FROM chain CROSS JOIN LATERAL (
        SELECT * FROM responses_api_response WHERE id = chain.previous_id OFFSET 0
      ) r
     WHERE r.tenant_id = %(tenant)s
), context AS MATERIALIZED (
    SELECT chain.depth, chain.previous_id, chain.status, item.position, item.data
      FROM chain LEFT JOIN LATERAL (
        SELECT position, data::text AS data FROM responses_api_item
         WHERE response_id = chain.id AND tenant_id = %(tenant)s
           AND NOT (data ->> 'type' = 'function_call' AND data ->> 'status' = 'incomplete')
         ORDER BY position
      ) item ON true
), size AS (
    SELECT coalesce(sum(octet_length(data)), 0) AS bytes FROM context
)
SELECT context.previous_id, context.status, size.bytes, CASE WHEN size.bytes <= %(most)s THEN context.data END
  FROM context CROSS JOIN size
 ORDER BY context.depth DESC, context.position
"""


def not_continuable(response_id: str) -> ProtocolError:
    """The one answer for an unknown, foreign, deleted or unfinished-for-good previous response."""
    return invalid_request(
        f"Previous response with id '{response_id}' not found.",
        param="previous_response_id",
        code=NOT_CONTINUABLE,
    )


def load_context(response_id: str) -> list[Json]:
    """All items of the chain that ends in `response_id`, oldest first, inside the current tenant scope.

    Raises `ProtocolError` 400: `previous_response_not_found` where there is no whole chain to continue,
    `context_length_exceeded` where its items are larger than `ANTIPHON_MAX_CONTEXT_BYTES`.
    """
    most = settings.MAX_CONTEXT_BYTES
    with connection.cursor() as cursor:
        cursor.execute(_CHAIN, {"id": response_id, "tenant": current_scope(), "most": most})
        rows = cursor.fetchall()
    if not rows:
        raise not_continuable(response_id)
    (oldest_previous, _, size, _), (_, newest_status, _, _) = rows[0], rows[-1]
    if oldest_previous is not None or newest_status not in CONTINUABLE:
        raise not_continuable(response_id)
    if size > most:
        raise _too_large(size, most)
    return [decode(data) for _, _, _, data in rows if data is not None]


def _too_large(size: int, most: int) -> ProtocolError:
    return invalid_request(
        f"The items before this request are {size} bytes; this server continues up to {most}. Begin a new chain.",
        param="previous_response_id",
        code="context_length_exceeded",
    )
