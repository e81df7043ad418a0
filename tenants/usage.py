"""What was used: the totals of the roll-up and the ledger rows that are not in them yet, read as one.

Both are read by one statement, so by one view of the database: no row is missed and none counted twice while a roll-up
runs. Requests count for the time at which they were admitted.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from django.db import connection

from tenants.histogram import SLOTS, percentile
from tenants.rollup import COUNTS, HISTOGRAMS, LEDGER, SPAN_SECONDS, SUMS, TOTALS, counts_of_ledger, slotted
from tenants.scoping import EVERYONE, ScopeMissing, current_scope

Span = Literal["hour", "day"]
Group = Literal["starts_at", "tenant_id", "key_id", "model"]

GROUPS: Final[tuple[Group, ...]] = ("starts_at", "tenant_id", "key_id", "model")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Which usage is asked for, from `start` up to and without `end` (unix seconds, both on the edge of a span).

    `by` are the groups; what is None in `key_id`, `model` and `tenant_id` is not asked for. `after` is the group (its
    values in the order of `by`) that the last page ended with, `limit` the most groups that are wanted.
    """

    span: Span
    start: int
    end: int
    by: tuple[Group, ...] = ()
    tenant_id: uuid.UUID | None = None
    key_id: uuid.UUID | None = None
    model: str | None = None
    after: tuple[Any, ...] | None = None
    limit: int | None = None
    with_durations: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a group used. The fields of groups that were not asked for are None; `cost_nanos` are nano-units."""

    starts_at: int | None = None
    tenant_id: uuid.UUID | None = None
    key_id: uuid.UUID | None = None
    model: str | None = None
    requests: int = 0
    completed: int = 0
    incomplete: int = 0
    failed: int = 0
    cancelled: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost_nanos: int = 0
    duration: tuple[int, ...] = ()
    first_event: tuple[int, ...] = ()

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    def duration_ms(self, share: float) -> int | None:
        """What `share` (0 … 1) of the requests took at most; None where nothing was measured."""
        return percentile(self.duration, share)

    def first_event_ms(self, share: float) -> int | None:
        """As `duration_ms`, until the model's first word."""
        return percentile(self.first_event, share)


def read_usage(question: Question) -> list[Usage]:
    """What was used, one entry for each group that used anything, in the order of the groups.

    Without groups there is one entry, whatever was used. Raises `ScopeMissing` outside of a scope.
    """
    statement, parameters = _statement(question)
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return [_usage(question, row) for row in cursor.fetchall()]


def _usage(question: Question, row: Sequence[Any]) -> Usage:
    names = (*question.by, *COUNTS, *SUMS)
    slots = row[len(names) :]
    durations: dict[str, Any] = {
        name: tuple(int(count) for count in slots[at * SLOTS : (at + 1) * SLOTS])
        for at, name in enumerate(HISTOGRAMS if question.with_durations else ())
    }
    plain: dict[str, Any] = {
        name: value if name in question.by else int(value) for name, value in zip(names, row, strict=False)
    }
    return Usage(**plain, **durations)


def _statement(question: Question) -> tuple[str, list[Any]]:
    """Both halves grouped by themselves, and the sum of the two."""
    columns = (*COUNTS, *SUMS)
    where, parameters = _where(question)
    seconds = SPAN_SECONDS[question.span]
    by = ", ".join(question.by)
    sums = [f"coalesce(sum({name}), 0) AS {name}" for name in columns]
    wanted = list(HISTOGRAMS) if question.with_durations else []
    slots = [f"coalesce(sum({name}[{slot}]), 0)" for name in wanted for slot in range(1, SLOTS + 1)]
    # An array of counts cannot be summed as one; where none are wanted, the halves do not make them either.
    ledger = ", ".join(
        f"{value} AS {name}"
        for name, value in zip((*columns, *wanted), counts_of_ledger(bool(wanted)), strict=True)
    )
    places = ", ".join(GROUPS)
    ledger_rows = slotted(
        f"*, created_at - created_at %% {seconds} AS starts_at", f"{LEDGER} WHERE NOT is_rolled_up"
    )
    union = f"""
SELECT {places}, {", ".join((*columns, *wanted))} FROM {TOTALS} WHERE span = '{question.span}' AND {where("starts_at")}
UNION ALL
SELECT {places}, {ledger} FROM ({ledger_rows} AND {where("created_at")}) AS live GROUP BY {places}"""
    group = f"GROUP BY {by} ORDER BY {by}" if by else ""
    limit = f"LIMIT {int(question.limit)}" if question.limit is not None else ""
    head = f"{by}, " if by else ""
    rows = f"SELECT * FROM ({union}) AS either {_beyond(question)}"
    statement = f"SELECT {head}{', '.join((*sums, *slots))} FROM ({rows}) AS usage {group} {limit}"
    return statement, [*parameters, *parameters, *(question.after or ())]


def _where(question: Question) -> tuple[Any, list[Any]]:
    """The conditions on either half, as a function of its column of time, and their parameters."""
    filters = {"tenant_id": _tenant(question), "key_id": question.key_id, "model": question.model}
    given = {name: value for name, value in filters.items() if value is not None}

    def where(time: str) -> str:
        return " AND ".join((f"{time} >= %s AND {time} < %s", *(f"{name} = %s" for name in given)))

    return where, [question.start, question.end, *given.values()]


def _tenant(question: Question) -> uuid.UUID | None:
    """The tenant whose rows are meant: the scope's, whatever is asked; for the operator the one that is asked for."""
    scope = current_scope()
    if scope is None:
        raise ScopeMissing("Usage was read outside of a tenant scope; wrap it in tenant_scope(tenant_id).")
    return question.tenant_id if scope == EVERYONE else uuid.UUID(scope)


def _beyond(question: Question) -> str:
    if question.after is None:
        return ""
    marks = ", ".join(["%s"] * len(question.by))
    return f"WHERE ({', '.join(question.by)}) > ({marks})"
