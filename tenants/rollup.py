"""The roll-up: adds the ledger up by the hour and by the day, so that a month of it is read in no time.

A row of the ledger is marked and added in one statement. So it is counted once, however often and by however many
processes this runs and wherever one of them dies; and a row that comes late finds its hour, however long that is over.
What reads (`tenants.usage`) takes the totals and the rows that are not marked together, and is right at any moment.
"""

from typing import Final

from django.db import connection

from tenants.histogram import BOUNDS_MS, SLOTS
from tenants.models import UsageRecord, UsageTotal
from tenants.models.usage import STATES
from tenants.scoping import operator_scope

BATCH: Final = 20_000
"""Rows that one transaction adds up."""

_LOCK: Final = 0x616E7469_726F6C6C
"""The advisory lock of who rolls up: two at once would wait for each other's totals."""

SPAN_SECONDS: Final = {"hour": 3600, "day": 86_400}
COUNTS: Final = ("requests", *(state for state, _ in STATES))
SUMS: Final = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens", "cost_nanos")
HISTOGRAMS: Final = {"duration": "duration_ms", "first_event": "first_event_ms"}
"""The columns of counts, and the durations of the ledger that they count."""

LEDGER: Final = UsageRecord._meta.db_table
TOTALS: Final = UsageTotal._meta.db_table


def roll_up() -> int:
    """Add up what is in the ledger and was not added yet; returns how many rows that were."""
    added = 0
    while True:
        batch = _roll_up_batch()
        added += batch
        if batch < BATCH:
            return added


def _roll_up_batch() -> int:
    with operator_scope(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_LOCK])
        if not cursor.fetchone()[0]:
            return 0
        cursor.execute(_STATEMENT, [BATCH])
        return int(cursor.fetchone()[0])


def counts_of_ledger(histograms: bool = True) -> list[str]:
    """The columns of a total, made of ledger rows by SQL; `slotted` makes the rows that they are made of."""
    states = [f"count(*) FILTER (WHERE status = '{state}')" for state, _ in STATES]
    sums = [f"coalesce(sum({name}), 0)::bigint" for name in SUMS]
    arrays = [_array([_in_slot(name, slot) for slot in range(SLOTS)]) for name in HISTOGRAMS]
    return ["count(*)", *states, *sums, *(arrays if histograms else [])]


def slotted(columns: str, source: str) -> str:
    """SQL: rows of the ledger, each with the slots that its durations fall into."""
    bounds = f"ARRAY[{', '.join(map(str, BOUNDS_MS))}]::bigint[]"
    slots = [
        f"width_bucket({column}::bigint, {bounds}) AS {name}_slot" for name, column in HISTOGRAMS.items()
    ]
    return f"SELECT {columns}, {', '.join(slots)} FROM {source}"


def _in_slot(name: str, slot: int) -> str:
    return f"count(*) FILTER (WHERE {name}_slot = {slot})"


def _array(entries: list[str]) -> str:
    return f"ARRAY[{', '.join(entries)}]"


def _added(name: str) -> str:
    """SQL: what a total has and what is to be added, together."""
    if name not in HISTOGRAMS:
        return f"{name} = total.{name} + excluded.{name}"
    slots = range(1, SLOTS + 1)
    return f"{name} = {_array([f'total.{name}[{slot}] + excluded.{name}[{slot}]' for slot in slots])}"


def _statement() -> str:
    columns = (*COUNTS, *SUMS, *HISTOGRAMS)
    spans = ", ".join(f"('{name}', {seconds})" for name, seconds in SPAN_SECONDS.items())
    place = "tenant_id, span, starts_at, key_id, model"
    return f"""
WITH waiting AS (
  SELECT response_id FROM {LEDGER} WHERE NOT is_rolled_up LIMIT %s FOR UPDATE SKIP LOCKED
), taken AS (
  UPDATE {LEDGER} AS ledger SET is_rolled_up = true FROM waiting
  WHERE ledger.response_id = waiting.response_id RETURNING ledger.*
), counted AS ({slotted("*", "taken")}
), added AS (
  INSERT INTO {TOTALS} AS total ({place}, {", ".join(columns)})
  SELECT tenant_id, span.name, created_at - created_at %% span.seconds, key_id, model, {", ".join(counts_of_ledger())}
  FROM counted CROSS JOIN (VALUES {spans}) AS span (name, seconds)
  GROUP BY 1, 2, 3, 4, 5
  ON CONFLICT ({place}) DO UPDATE SET {", ".join(map(_added, columns))}
)
SELECT count(*) FROM taken"""


_STATEMENT: Final = _statement()
