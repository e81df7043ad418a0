"""Item references: items of the tenant's stored responses, named by their ids instead of sent again.

Specification: `ItemReferenceParam`. An item that is unknown, deleted, another tenant's, or of a response that has not
ended: all of these look alike to a caller.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from django.conf import settings
from django.db import connection

from responses_api.models.response import UNFINISHED
from responses_api.protocol.errors import ProtocolError, invalid_request
from responses_api.protocol.plain import Json
from responses_api.protocol.sse import decode
from responses_api.protocol.wording import quoted
from tenants.scoping import current_scope

REFERENCE: Final = "item_reference"

# By primary key, item by item (see `chains` for OFFSET 0). More bytes than are allowed stay in the database.
_NAMED: Final = """
WITH named AS MATERIALIZED (
    SELECT wanted.id, item.data::text AS data
      FROM unnest(%(ids)s::text[]) AS wanted(id) CROSS JOIN LATERAL (
        SELECT response_id, data FROM responses_api_item
         WHERE id = wanted.id AND tenant_id = %(tenant)s OFFSET 0
      ) item CROSS JOIN LATERAL (
        SELECT status FROM responses_api_response
         WHERE id = item.response_id AND tenant_id = %(tenant)s OFFSET 0
      ) response
     WHERE response.status <> ALL(%(unfinished)s)
), size AS (
    SELECT coalesce(sum(octet_length(data)), 0) AS bytes FROM named
)
SELECT named.id, size.bytes, CASE WHEN size.bytes <= %(most)s THEN named.data END
  FROM named CROSS JOIN size
"""


def has_references(items: Sequence[Json]) -> bool:
    """Whether there is anything to resolve."""
    return any(item["type"] == REFERENCE for item in items)


def resolve(items: Sequence[Json]) -> list[Json]:
    """`items` with each reference replaced, at its place, by the item it names. Call inside the tenant's scope.

    Raises `ProtocolError` 400: `item_not_found` naming the reference, `context_length_exceeded` where the named items
    are larger than `ANTIPHON_MAX_CONTEXT_BYTES`.
    """
    wanted = Counter(item["id"] for item in items if item["type"] == REFERENCE)
    named = _read(wanted)
    for index, item in enumerate(items):
        if item["type"] == REFERENCE and item["id"] not in named:
            raise _unknown(item["id"], index)
    return [named[item["id"]] if item["type"] == REFERENCE else item for item in items]


def _read(wanted: Counter[str]) -> dict[str, Json]:
    """The items of these ids, as far as there are any; `wanted` counts how often each is named."""
    most = settings.MAX_CONTEXT_BYTES
    with connection.cursor() as cursor:
        cursor.execute(
            _NAMED,
            {
                "ids": list(wanted),
                "tenant": current_scope(),
                "most": most,
                "unfinished": list(UNFINISHED),
            },
        )
        rows = cursor.fetchall()
    size = rows[0][1] if rows else 0
    if size <= most:
        # The database counts each item once.
        size = sum(len(data.encode()) * wanted[item_id] for item_id, _, data in rows)
    if size > most:
        raise _too_large(size, most)
    return {item_id: decode(data) for item_id, _, data in rows}


def _unknown(item_id: str, index: int) -> ProtocolError:
    return invalid_request(
        f"The item '{quoted(item_id)}' was not found: 'input[{index}]' must name an item of a stored response.",
        param=f"input[{index}].id",
        code="item_not_found",
    )


def _too_large(size: int, most: int) -> ProtocolError:
    return invalid_request(
        f"The items that the input refers to are {size} bytes; this server takes up to {most}.",
        param="input",
        code="context_length_exceeded",
    )
