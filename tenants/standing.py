"""Where limits stand: what is used of each, what is reserved, and when it begins anew."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from tenants.metrics import is_money
from tenants.models import UsageRecord
from tenants.scoping import tenant_scope
from tenants.usage import Question, Usage, read_usage
from tenants.windows import window_of

DAY: Final = 86_400


class AnyLimit(Protocol):
    """What is needed of a limit: a row of the table, or its plain data (`tenants.limits.LimitSpec`)."""

    @property
    def id(self) -> uuid.UUID:
        """Which limit it is."""

    @property
    def key_id(self) -> uuid.UUID | None:
        """The key that is limited, or None: all of them together."""

    @property
    def model(self) -> str:
        """The model that is limited, or nothing: all of them together."""

    @property
    def metric(self) -> str:
        """What is counted."""

    @property
    def amount(self) -> int:
        """How much there may be."""

    @property
    def is_hard(self) -> bool:
        """Whether it refuses what would go beyond it."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a limit stands, in its own unit. `resets_at` is in unix seconds; None where nothing begins anew."""

    used: int
    reserved: int
    resets_at: int | None


Reader = Callable[[uuid.UUID, Sequence[AnyLimit], int], dict[uuid.UUID, Standing]]
"""Reads where limits of one tenant stand at a unix second, by the limits' ids."""


def of_ledger(tenant_id: uuid.UUID, limits: Sequence[AnyLimit], now: int) -> dict[uuid.UUID, Standing]:
    """Where limits stand by what has ended: nothing is known of what runs."""
    spans = {span for limit in limits if (span := window_of(limit.metric, now)) is not None}
    with tenant_scope(tenant_id):
        used = {span: _used(*span) for span in spans}
    return {limit.id: _standing(limit, used, now) for limit in limits}


def _used(start: int, end: int) -> list[Usage]:
    """What each key used of each model in a window."""
    if start % DAY == 0:
        return read_usage(Question(span="day", start=start, end=end, by=("key_id", "model")))
    rows = UsageRecord.objects.filter(created_at__gte=start, created_at__lt=end)
    columns = ("key_id", "model", "input_tokens", "output_tokens", "cost_nanos")
    return [Usage(requests=1, **row) for row in rows.values(*columns)]


def _standing(limit: AnyLimit, used: dict[tuple[int, int], list[Usage]], now: int) -> Standing:
    span = window_of(limit.metric, now)
    if span is None:
        return Standing(0, 0, None)
    concerned = (
        usage
        for usage in used[span]
        if limit.key_id in (None, usage.key_id) and limit.model in ("", usage.model)
    )
    return Standing(sum(_counted(limit.metric, usage) for usage in concerned), 0, span[1])


def _counted(metric: str, usage: Usage) -> int:
    if metric.startswith("requests_"):
        return usage.requests
    return usage.cost_nanos if is_money(metric) else usage.tokens


_reader: Reader = of_ledger


def read_by(reader: Reader) -> None:
    """Have another one read from now on: who counts what runs, too. (Tenants know nothing of who that is.)"""
    global _reader
    _reader = reader


def standings(tenant_id: uuid.UUID, limits: Sequence[AnyLimit], now: int) -> dict[uuid.UUID, Standing]:
    """Where limits of one tenant stand, by their ids."""
    return _reader(tenant_id, limits, now) if limits else {}
