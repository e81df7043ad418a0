"""Browse: stored responses by what is known of them, newest first, a page at a time.

Nothing here counts, and no question costs more than it has to. A page is a walk along one index that begins with what
is asked and ends with the id; ids are in the order of time, so that a time is a range of ids. What that index does not
know is looked at row by row, `WINDOW` rows at most: then the page says how far it came, and the next goes on there.

Whoever calls is in a scope. The operator, whose scope is everybody, may ask for one tenant's responses or for all.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from django.db import OperationalError, connection, transaction
from psycopg.errors import QueryCanceled

from responses_api.models import Item
from responses_api.models.metadata import metadata_digest
from responses_api.models.response import NOT_COMPLETED
from responses_api.protocol.ids import RESPONSE
from tenants.models import ApiKey
from tenants.scoping import EVERYONE, current_scope

WINDOW: Final = 20_000
"""Rows that are looked at for one page."""

SECONDS: Final = 5.0
"""The longest that a page may take."""

WHOLE_ID: Final = len(RESPONSE) + 1 + 44
_LAST: Final = "~"
"""Sorts after every character of an id."""
_LAST_MS: Final = 2**48 - 1


class TooSlow(Exception):
    """The database did not find a page in `SECONDS`."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked for. `since_ms` and `until_ms` are unix milliseconds, the second not included.

    `beginning` is how an id begins; `chained_to` a whole id: that response and those that continue it; `among` are the
    only ids that may be found. A page is `before` an id, or `after` one.
    """

    tenant_id: uuid.UUID | None = None
    status: str = ""
    model: str = ""
    key_id: uuid.UUID | None = None
    metadata: tuple[str, str] | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    beginning: str = ""
    chained_to: str = ""
    among: tuple[str, ...] | None = None
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """A page of ids, newest first.

    `has_older` and `has_newer` say whether anything may follow on either side. `ended_at` is the id at which the walk
    ended although the page is not full: what lies beyond was not looked at.
    """

    ids: list[str]
    has_older: bool
    has_newer: bool
    ended_at: str | None = None


@dataclass(slots=True)
class _Sql:
    """Conditions, joined by AND, and their parameters."""

    conditions: list[str]
    params: list[Any]

    def add(self, condition: str, *params: Any) -> None:
        self.conditions.append(condition)
        self.params.extend(params)

    def __str__(self) -> str:
        return " AND ".join(self.conditions) or "true"


def browse(question: Question, limit: int) -> Found:
    """A page of at most `limit` ids. Raises `TooSlow`."""
    walk = _Walk(question, limit)
    with _bounded(sorts=walk.leads_to_few):
        ids = walk.page()
        ended_at = walk.end() if len(ids) <= limit else None
    more = len(ids) > limit or ended_at is not None
    ids = ids[:limit]
    if question.after:
        return Found(ids[::-1], has_older=True, has_newer=more, ended_at=ended_at)
    return Found(ids, has_older=more, has_newer=bool(question.before), ended_at=ended_at)


@contextmanager
def _bounded(*, sorts: bool) -> Iterator[None]:
    """Let no statement take longer than `SECONDS`; the transaction outlives one that does. Raises `TooSlow`.

    Unless it `sorts`, the planner is kept from reading everything and sorting it: it takes one row in two hundred for
    visible, whatever a scope sees, and so the window for more than there is.
    """
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('statement_timeout'), current_setting('enable_sort')")
            before = cursor.fetchone()
            _set(cursor, f"{SECONDS * 1000:.0f}ms", before[1] if sorts else "off")
            yield
            _set(cursor, *before)
    except OperationalError as error:
        if isinstance(error.__cause__, QueryCanceled):
            raise TooSlow from error
        raise


def _set(cursor: Any, timeout: str, sort: str) -> None:
    cursor.execute(
        "SELECT set_config('statement_timeout', %s, true), set_config('enable_sort', %s, true)",
        [timeout, sort],
    )


class _Walk:
    """One walk: along which index, and what is looked at on the way."""

    def __init__(self, question: Question, limit: int) -> None:
        self._question = question
        self._tenant = _tenant_of(question)
        self._range = _range_of(question)
        self._order = "ASC" if question.after else "DESC"
        self._most = limit + 1
        named, rest = self._split()
        self._named, self._rest = named, rest
        self._window = WINDOW if rest.conditions else self._most

    @property
    def leads_to_few(self) -> bool:
        """Whether what is asked has few rows, which may be sorted."""
        return bool(self._question.chained_to) or self._question.among is not None

    def page(self) -> list[str]:
        """The ids of the page, in the order of the walk, one more than fits where there are more."""
        source, params = self._source()
        sql = f"SELECT id FROM ({source}) walked WHERE {self._rest} ORDER BY id {self._order} LIMIT {self._most}"
        return [row[0] for row in _rows(sql, [*params, *self._rest.params])]

    def end(self) -> str | None:
        """The id that the walk ended at, where it ended because of its bound."""
        if not self._rest.conditions:
            return None
        source, params = self._source()
        rows = _rows(f"SELECT id FROM ({source}) walked OFFSET {self._window - 1} LIMIT 1", params)
        return rows[0][0] if rows else None

    def _split(self) -> tuple[_Sql, _Sql]:
        """What the index is asked for, and what is looked at row by row."""
        named, rest = _Sql([], []), _Sql([], [])
        by_index = self._asked()
        # Of all tenants, an index is good for what is asked alone: it is walked for each tenant, and those are merged.
        if by_index and (self._tenant is not None or len(by_index) == 1):
            condition, *params = by_index.pop(0)
            named.add(condition, *params)
        for condition, *params in by_index:
            rest.add(condition, *params)
        if self._question.status == "completed":
            rest.add("status = %s", "completed")
        return named, rest

    def _asked(self) -> list[tuple[Any, ...]]:
        """What is asked that has an index, the most telling first."""
        question = self._question
        asked: list[tuple[Any, ...]] = []
        if question.among is not None:
            asked.append(("id = ANY(%s)", list(question.among)))
        if question.chained_to:
            asked.append(("(id = %s OR previous_id = %s)", question.chained_to, question.chained_to))
        if question.metadata is not None:
            asked.append((_WITH_METADATA, metadata_digest(*question.metadata)))
        if question.status in NOT_COMPLETED:
            asked.append(("status = %s", question.status))
        if question.key_id is not None:
            asked.append(("key_id = %s", question.key_id))
        if question.model:
            asked.append(("model = %s", question.model))
        return asked

    def _source(self) -> tuple[str, list[Any]]:
        """The rows of the walk, in order, `self._window` at most."""
        end = f"ORDER BY id {self._order} LIMIT {self._window}"
        params = [*self._named.params, *(bound for _, bound in self._range)]
        if self._tenant is None and self._named.conditions:
            of_tenant = f"{self._table('tenant.id')} {end}"
            sql = f"SELECT of_tenant.* FROM tenants_tenant tenant CROSS JOIN LATERAL ({of_tenant}) of_tenant {end}"
            return sql, params
        return f"{self._table('%s')} {end}", [self._tenant, *params]

    def _table(self, tenant: str) -> str:
        if self._named.conditions == [_WITH_METADATA]:
            ids = " AND ".join([f"tenant_id = {tenant}", "digest = %s", *self._within("response_id")])
            return _BY_METADATA.format(ids=ids)
        of_tenant = "%s::uuid IS NULL" if self._tenant is None and tenant == "%s" else f"tenant_id = {tenant}"
        return f"{_BY_ROW} WHERE {' AND '.join([of_tenant, *self._named.conditions, *self._within('id')])}"

    def _within(self, column: str) -> list[str]:
        return [f"{column} {comparison} %s" for comparison, _ in self._range]


_BY_ROW: Final = "SELECT id, previous_id, status, model, key_id FROM responses_api_response"
_WITH_METADATA: Final = (
    "EXISTS (SELECT FROM responses_api_metadataentry entry"
    " WHERE entry.response_id = id AND entry.digest = %s)"
)
# The entries are in the order of the ids; each leads to its row by primary key.
_BY_METADATA: Final = """
SELECT entry.id, row.previous_id, row.status, row.model, row.key_id
  FROM (SELECT response_id AS id FROM responses_api_metadataentry WHERE {ids}) entry CROSS JOIN LATERAL (
    SELECT * FROM responses_api_response WHERE id = entry.id OFFSET 0
  ) row
"""


def _tenant_of(question: Question) -> uuid.UUID | None:
    """The one tenant whose responses are walked; None for all of them."""
    scope = current_scope()
    if scope is not None and scope != EVERYONE:
        return uuid.UUID(scope)
    if question.tenant_id is None and question.key_id is not None:
        owner: uuid.UUID | None = (
            ApiKey.objects.filter(id=question.key_id).values_list("tenant_id", flat=True).first()
        )
        return owner
    return question.tenant_id


def _range_of(question: Question) -> list[tuple[str, str]]:
    """The range of ids: comparisons and what is compared with."""
    bounds = []
    if question.since_ms is not None:
        bounds.append((">=", _id_at(question.since_ms)))
    if question.until_ms is not None:
        bounds.append(("<", _id_at(question.until_ms)))
    if question.beginning:
        bounds += [(">=", question.beginning), ("<=", question.beginning + _LAST)]
    if question.before:
        bounds.append(("<", question.before))
    if question.after:
        bounds.append((">", question.after))
    return bounds


def _id_at(unix_ms: int) -> str:
    """What the ids of this millisecond begin with; ids of earlier ones sort before it."""
    return f"{RESPONSE}_{min(max(unix_ms, 0), _LAST_MS):012x}"


def responses_of_items(beginning: str, limit: int) -> tuple[str, ...]:
    """The ids of the responses that have items whose ids begin like this, of `limit` such items at most."""
    items = Item.objects.filter(id__gte=beginning, id__lte=beginning + _LAST).order_by("-id")
    return tuple(dict.fromkeys(items.values_list("response_id", flat=True)[:limit]))


def _rows(sql: str, params: list[Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        rows: list[Any] = cursor.fetchall()
        return rows
