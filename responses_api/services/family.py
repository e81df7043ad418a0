"""Family: the conversation that a response belongs to, as a tree, in two queries whatever its size."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import connection

MOST: Final = 200
"""Responses that are read in each direction."""

# LATERAL and OFFSET 0 hold the planner to the indexes, as in `chains`.
_UP: Final = """
WITH RECURSIVE up AS (
    SELECT id, previous_id, 0 AS far FROM responses_api_response WHERE id = %(id)s AND tenant_id = %(tenant)s
  UNION ALL
    SELECT r.id, r.previous_id, up.far + 1
      FROM up CROSS JOIN LATERAL (
        SELECT id, previous_id, tenant_id FROM responses_api_response WHERE id = up.previous_id OFFSET 0
      ) r
     WHERE r.tenant_id = %(tenant)s AND up.far < %(most)s
)
SELECT id, previous_id FROM up ORDER BY far
"""
_DOWN: Final = """
WITH RECURSIVE down AS (
    SELECT id FROM responses_api_response WHERE id = ANY(%(from)s) AND tenant_id = %(tenant)s
  UNION
    SELECT r.id FROM down CROSS JOIN LATERAL (
        SELECT id FROM responses_api_response
         WHERE tenant_id = %(tenant)s AND previous_id = down.id ORDER BY id LIMIT %(most)s OFFSET 0
      ) r
), near AS (
    SELECT id FROM down LIMIT %(limit)s
)
SELECT r.id, r.previous_id, r.status, r.model, r.created_at
  FROM near CROSS JOIN LATERAL (SELECT * FROM responses_api_response WHERE id = near.id OFFSET 0) r
 ORDER BY r.id
"""


@dataclass(frozen=True, slots=True)
class Relative:
    """One response of the tree. `depth` counts the forks on the way to it that are not its conversation's main line."""

    id: str
    status: str
    model: str
    created_at: int
    depth: int
    is_fork: bool
    is_self: bool


@dataclass(frozen=True, slots=True)
class Family:
    """The tree, each response below the one that it continues.

    `missing` is the id that the oldest of them continues, where that is not stored any more; `is_cut` whether there may
    be more of the conversation than is told.
    """

    relatives: list[Relative]
    missing: str
    is_cut: bool


def family_of(row: Any) -> Family:
    """The conversation of a response, inside a scope that sees it."""
    with connection.cursor() as cursor:
        cursor.execute(_UP, {"id": row.id, "tenant": row.tenant_id, "most": MOST})
        up = cursor.fetchall()
        ancestors = [response_id for response_id, _ in up]
        limit = MOST + len(ancestors)
        cursor.execute(_DOWN, {"from": ancestors, "tenant": row.tenant_id, "most": MOST, "limit": limit})
        found = cursor.fetchall()
    before_first = up[-1][1] or "" if up else ""
    is_cut = len(up) > MOST or len(found) >= limit
    relatives = list(_tree(found, set(ancestors), row.id))
    return Family(relatives, "" if len(up) > MOST else before_first, is_cut)


def _tree(found: Sequence[Any], ancestors: set[str], own_id: str) -> Iterator[Relative]:
    """Each response below the one it continues, forks right below it and one step in; the main line, which leads to
    `own_id` where it can, goes on below them.
    """
    known = {response_id for response_id, *_ in found}
    children: dict[str | None, list[Any]] = defaultdict(list)
    for entry in found:
        children[entry[1] if entry[1] in known else None].append(entry)
    waiting = [(entry, 0, False) for entry in reversed(children[None])]
    while waiting:
        entry, depth, is_fork = waiting.pop()
        response_id, _, status, model, created_at = entry
        yield Relative(response_id, status, model, created_at, depth, is_fork, response_id == own_id)
        following = sorted(children[response_id], key=lambda child: (child[0] not in ancestors, child[0]))
        if following:
            main, *forks = following
            waiting.append((main, depth, False))
            waiting += [(fork, depth + 1, True) for fork in reversed(forks)]
