"""The figures of the dashboard: usage as the rows of tables, and as what the theme's charts draw. Pure."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from tenants.metrics import NANOS, short_money
from tenants.usage import Usage

_P50: Final = 0.5
_P95: Final = 0.95
_COLOURS: Final = ("#9333ea", "#f59e0b")

COLUMNS: Final = (
    "requests",
    "errors",
    "input tokens",
    "output tokens",
    "cost",
    "first event",
    "whole answer",
)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table: its name, and by `COLUMNS` its figures, each with what there is to say of it.

    `share` is its part of the largest row, in percent.
    """

    name: str
    cells: tuple[tuple[str, str], ...]
    share: int = 0
    link: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart: `data` and `options` are JSON for the theme's script."""

    title: str
    kind: str
    data: str
    options: str


@dataclass(frozen=True, slots=True)
class Tile:
    """One large figure, with a smaller one below it."""

    title: str
    figure: str
    below: str = ""


def row(name: str, usage: Usage, currency: str, *, largest: int = 0, link: str = "") -> Row:
    """What a day, a model or a key used, as text."""
    cells = (
        (f"{usage.requests:,}", f"{usage.cancelled:,} cancelled" if usage.cancelled else ""),
        (f"{usage.failed:,}", _share(usage.failed, usage.requests)),
        (f"{usage.input_tokens:,}", f"{usage.cached_tokens:,} cached"),
        (f"{usage.output_tokens:,}", f"{usage.reasoning_tokens:,} reasoning"),
        (short_money(usage.cost_nanos, currency), ""),
        _pair(usage.first_event_ms),
        _pair(usage.duration_ms),
    )
    return Row(name, cells, round(100 * usage.requests / largest) if largest else 0, link)


def tiles(usage: Usage, currency: str) -> list[Tile]:
    """The whole period in large figures."""
    return [
        Tile("Requests", f"{usage.requests:,}", f"{usage.cancelled:,} cancelled"),
        Tile("Errors", f"{usage.failed:,}", f"{_share(usage.failed, usage.requests)} of the requests"),
        Tile(
            "Tokens",
            f"{usage.tokens:,}",
            f"{usage.input_tokens:,} in ({usage.cached_tokens:,} cached), {usage.output_tokens:,} out",
        ),
        Tile("Cost", short_money(usage.cost_nanos, currency)),
        Tile(
            "First event",
            duration(usage.first_event_ms(_P50)),
            f"95% within {duration(usage.first_event_ms(_P95))}",
        ),
        Tile(
            "Whole answer",
            duration(usage.duration_ms(_P50)),
            f"95% within {duration(usage.duration_ms(_P95))}",
        ),
    ]


def charts(days: Sequence[Usage], currency: str) -> list[Chart]:
    """The days as charts."""
    labels = [day_name(usage.starts_at or 0)[5:] for usage in days]

    def values(of: Callable[[Usage], Any]) -> list[Any]:
        return [of(usage) for usage in days]

    def seconds(of: Callable[[Usage], int | None]) -> list[float | None]:
        return [None if (told := of(usage)) is None else told / 1000 for usage in days]

    succeeded = values(lambda usage: usage.requests - usage.failed)
    return [
        _chart(
            "Requests", "bar", labels, {"succeeded": succeeded, "failed": values(lambda usage: usage.failed)}
        ),
        _chart(
            "Tokens",
            "bar",
            labels,
            {
                "input": values(lambda usage: usage.input_tokens),
                "output": values(lambda usage: usage.output_tokens),
            },
        ),
        _chart(f"Cost, {currency}", "bar", labels, {"cost": values(lambda usage: usage.cost_nanos / NANOS)}),
        _chart(
            "Seconds until half of the requests had it",
            "line",
            labels,
            {
                "first event": seconds(lambda usage: usage.first_event_ms(_P50)),
                "whole answer": seconds(lambda usage: usage.duration_ms(_P50)),
            },
        ),
    ]


def _chart(title: str, kind: str, labels: list[str], sets: dict[str, list[Any]]) -> Chart:
    datasets = [
        {
            "label": name,
            "data": values,
            "backgroundColor": colour,
            "borderColor": colour,
            "borderWidth": 2 if kind == "line" else 0,
            "pointRadius": 2,
            "spanGaps": True,
        }
        for (name, values), colour in zip(sets.items(), _COLOURS, strict=False)
    ]
    is_stacked = kind == "bar"
    axis = {
        "stacked": is_stacked,
        "grid": {"display": True, "color": "#9ca3af40"},
        "ticks": {"color": "#9ca3af"},
    }
    options = {
        "animation": False,
        "responsive": True,
        "maintainAspectRatio": False,
        "plugins": {"legend": {"display": len(sets) > 1, "labels": {"color": "#9ca3af", "boxWidth": 12}}},
        "scales": {
            "x": {**axis, "grid": {"display": False}, "ticks": {"color": "#9ca3af", "maxTicksLimit": 8}},
            "y": {**axis, "beginAtZero": True, "ticks": {"color": "#9ca3af", "maxTicksLimit": 6}},
        },
    }
    return Chart(title, kind, json.dumps({"labels": labels, "datasets": datasets}), json.dumps(options))


def added(usages: Sequence[Usage]) -> Usage:
    """All of these together."""
    sums: dict[str, Any] = {name: sum(getattr(usage, name) for usage in usages) for name in _NUMBERS}
    histograms: dict[str, Any] = {
        name: tuple(map(sum, zip(*(getattr(usage, name) for usage in usages), strict=True)))
        for name in _HISTOGRAMS
    }
    return Usage(**sums, **histograms)


_HISTOGRAMS: Final = ("duration", "first_event")
_NUMBERS: Final = (
    "requests",
    "completed",
    "incomplete",
    "failed",
    "cancelled",
    "input_tokens",
    "cached_tokens",
    "output_tokens",
    "reasoning_tokens",
    "cost_nanos",
)


def every_day(days: Sequence[Usage], start: int, end: int) -> list[Usage]:
    """The days of a period, those too on which nothing was used."""
    found = {usage.starts_at: usage for usage in days}
    return [found.get(at, Usage(starts_at=at)) for at in range(start, end, 86_400)]


def day_name(starts_at: int) -> str:
    """A day as it is written: 2026-11-30."""
    return datetime.fromtimestamp(starts_at, UTC).strftime("%Y-%m-%d")


def duration(milliseconds: int | None) -> str:
    """A time for people."""
    if milliseconds is None:
        return "–"
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    return f"{milliseconds / 1000:.1f} s" if milliseconds < 100_000 else f"{milliseconds / 60_000:.0f} min"


def _pair(of: Callable[[float], int | None]) -> tuple[str, str]:
    half = of(_P50)
    return (duration(half), "" if half is None else f"95%: {duration(of(_P95))}")


def _share(part: int, whole: int) -> str:
    if not whole or not part:
        return "0%"
    share = 100 * part / whole
    return f"{share:.1f}%" if share < 10 else f"{share:.0f}%"
