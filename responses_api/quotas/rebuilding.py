"""Counters made anew: from the ledger, and from what is reserved now. Needed at a tenant's first request with a limit,
and where Valkey was lost.

While one process does it the tenant's requests wait. What is settled meanwhile is written down beside: it was reserved
when the ledger was asked, and is left out of its sums.
"""

import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import structlog

from responses_api.eventlog.connection import blocking_client
from responses_api.models import Response
from responses_api.models.response import UNFINISHED
from responses_api.quotas import names
from responses_api.quotas.counters import COSTS, HOMES, RUNNING, TOKENS, Reservation, scopes_of
from responses_api.quotas.gate import kept
from responses_api.quotas.scripts import BEGIN, FINISH
from responses_api.quotas.windows import windows_about
from tenants.ledger import Sum, sums
from tenants.scoping import tenant_scope

log = structlog.get_logger(__name__)

LOCK_SECONDS: Final = 10.0
"""How long a process may take; whoever wants the counters waits no longer either."""

Window = tuple[str, tuple[int, int]]
"""A window: its kind, its first second and the first one after it."""


class NotCounted(Exception):
    """The counters were not made in time: too many others were at it. Trying again later helps."""


@dataclass(frozen=True, slots=True)
class Looked:
    """What a look at the database found: the windows, what the ledger adds up to in them, lost reservations."""

    windows: Sequence[Window]
    found: Sequence[Sum]
    lost: Sequence[Reservation]


def rebuild(tenant_id: uuid.UUID, letters: Mapping[str, str], at: int) -> bool:
    """Make these counters (letters by scope) of the windows about `at`. Blocks, but waits for nobody: for threads.

    False where another is at it, or something came between: the caller looks again, a little later. Raises RedisError,
    OSError and the database's errors.
    """
    token, began = uuid.uuid4().hex, time.monotonic()
    held = begin(tenant_id, token)
    if held is None or not finish(tenant_id, token, letters, look(tenant_id, letters, at, held)):
        return False
    seconds = round(time.monotonic() - began, 3)
    log.info("counters were made", tenant_id=str(tenant_id), counters=dict(letters), seconds=seconds)
    return True


def begin(tenant_id: uuid.UUID, token: str) -> list[str] | None:
    """Take the tenant's lock under this token; the responses that have something reserved, None where it is taken."""
    prefix = names.prefix(tenant_id)
    keys = [prefix + name for name in ("open", "lock", "during")]
    held = BEGIN.run(blocking_client(), keys, [token, int(LOCK_SECONDS * 1000)])
    return None if held is None else [raw.decode() for raw in held]


def look(tenant_id: uuid.UUID, letters: Mapping[str, str], at: int, held: Sequence[str]) -> Looked:
    """Add up the ledger without those that are `held`, and find the background responses that should be."""
    windows = windows_for(letters, at)
    with tenant_scope(tenant_id):
        lost = _lost(tenant_id, set(held))
        without = [*held, *(reservation.response_id for reservation in lost)]
        found = sums(tenant_id, {span for _, span in windows}, without=without) if windows else []
    return Looked(windows, found, lost)


def windows_for(letters: Mapping[str, str], at: int) -> list[Window]:
    """The windows about `at` in which these letters are counted."""
    kinds = sorted({HOMES[letter] for several in letters.values() for letter in several} - {RUNNING})
    return [(kind, span) for kind in kinds for span in windows_about(kind, at)]


def finish(tenant_id: uuid.UUID, token: str, letters: Mapping[str, str], looked: Looked) -> bool:
    """Write the counters and give the lock back. False where something came between: then it has to be done again."""
    prefix = names.prefix(tenant_id)
    totals = _totals(prefix, letters, looked)
    arguments: list[Any] = [
        token,
        prefix,
        *kept(),
        len(letters),
        *(part for pair in letters.items() for part in pair),
        len(looked.windows),
        *(part for kind, span in looked.windows for part in (f"{kind}:", span[0])),
        len(totals),
        *(part for (key, field), value in totals.items() for part in (key, field, value)),
        len(looked.lost),
        *(part for reservation in looked.lost for part in (reservation.response_id, reservation.to_text())),
    ]
    keys = [prefix + name for name in ("counted", "open", "lock", "during")]
    return bool(FINISH.run(blocking_client(), keys, arguments))


def _totals(prefix: str, letters: Mapping[str, str], looked: Looked) -> dict[tuple[str, str], int]:
    """The values of the counters, by key and field."""
    totals: dict[tuple[str, str], int] = {}
    for total, kind, start in _by_window(looked.windows, looked.found):
        for scope in scopes_of(total.key_id, total.model):
            for letter in letters.get(scope, ""):
                if HOMES[letter] == kind:
                    at = (f"{prefix}{kind}:{start}", scope + letter)
                    totals[at] = totals.get(at, 0) + _amount(total, letter)
    return totals


def _by_window(windows: Sequence[Window], found: Sequence[Sum]) -> Iterator[tuple[Sum, str, int]]:
    """Each sum with the windows that it is of: the first day of a month may begin both."""
    for total in found:
        for kind, (start, stop) in windows:
            if (start, stop) == (total.start, total.stop):
                yield total, kind, start


def _amount(total: Sum, letter: str) -> int:
    return total.nanos if letter in COSTS else total.tokens if letter in TOKENS else total.requests


def _lost(tenant_id: uuid.UUID, held: set[str]) -> list[Reservation]:
    """What was reserved for background responses that have not ended and is reserved no more."""
    rows = Response.objects.filter(tenant_id=tenant_id, status__in=UNFINISHED)
    return [
        Reservation(
            row.id,
            tenant_id,
            row.key_id,
            row.model,
            row.created_at,
            row.score["reserved"]["tokens"],
            row.score["reserved"]["nanos"],
        )
        for row in rows.only("id", "key_id", "model", "created_at", "score")
        if row.id not in held and (row.score or {}).get("reserved")
    ]
