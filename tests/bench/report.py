"""The table, var/bench.json and the bars."""

from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from tests.bench.load import LoadResult, Percentiles
from tests.bench.targets import OTHER_KINDS

COLUMNS = (
    f"{'target':<9} {'workload':<9} {'conc':>4} {'store':>5} {'per s':>8} {'events/s':>9} "
    f"{'first ms p50':>12} {'p95':>8} {'p99':>8} {'cpu ms/1k ev':>12} {'rss MB':>7}  errors"
)


@dataclass(frozen=True, slots=True)
class Row:
    """One cell of the run, as written to bench.json. Times in milliseconds; one JSON answer is one event.

    `cpu_ms_per_1000_events` and `rss_mb` cover all processes of the target; None where those are not known.
    """

    target: str
    workload: str
    concurrency: int
    store: bool | None
    per_second: float
    events_per_second: float
    first_event_ms: Percentiles
    total_ms: Percentiles
    cpu_ms_per_1000_events: float | None
    rss_mb: float | None
    errors: dict[str, int]


@dataclass(frozen=True, slots=True)
class Bar:
    """One promise: `value` has to be at least (or, when `at_most`, at most) `bound` times the peer's."""

    text: str
    ratio: float
    passed: bool


def build_row(target: str, workload: str, concurrency: int, store: bool | None, result: LoadResult) -> Row:
    """A row of one measured cell."""
    known = result.rss_mb > 0
    cpu = round(1000 * result.cpu_ms / result.events, 2) if known and result.events else None
    return Row(
        target=target,
        workload=workload,
        concurrency=concurrency,
        store=store,
        per_second=round(result.answers / result.seconds, 1),
        events_per_second=round(result.events / result.seconds, 1),
        first_event_ms=result.first_event_ms,
        total_ms=result.total_ms,
        cpu_ms_per_1000_events=cpu,
        rss_mb=round(result.rss_mb, 1) if known else None,
        errors=result.errors,
    )


def line(row: Row) -> str:
    """A row as one line of the table."""
    store = {True: "on", False: "off", None: "-"}[row.store]
    cpu = "-" if row.cpu_ms_per_1000_events is None else f"{row.cpu_ms_per_1000_events:.1f}"
    rss = "-" if row.rss_mb is None else f"{row.rss_mb:.0f}"
    first = row.first_event_ms
    errors = ", ".join(f"{count}x {kind}" for kind, count in row.errors.items())
    return (
        f"{row.target:<9} {row.workload:<9} {row.concurrency:>4} {store:>5} {row.per_second:>8.1f} "
        f"{row.events_per_second:>9.0f} {first.p50:>12.2f} {first.p95:>8.2f} {first.p99:>8.2f} "
        f"{cpu:>12} {rss:>7}  {errors}"
    )


def write_json(rows: list[Row], path: Path) -> None:
    """All rows as a JSON array."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(orjson.dumps([asdict(row) for row in rows], option=orjson.OPT_INDENT_2) + b"\n")


def find(rows: list[Row], target: str, workload: str, concurrency: int) -> Row | None:
    """The cell a bar speaks of: Antiphon's with `store` on, the peer's only one; None if it was not run."""
    stores = (None,) if target == "litellm" else (True,)
    for row in rows:
        if (row.target, row.workload, row.concurrency) == (
            target,
            workload,
            concurrency,
        ) and row.store in stores:
            return row
    return None


def throughput_bar(
    rows: list[Row], workload: str, unit: str, at_least: float, target: str = "antiphon"
) -> Bar | None:
    """At 32 at a time, `at_least` times the peer's answers a second."""
    ours, theirs = find(rows, target, workload, 32), find(rows, "litellm", workload, 32)
    if ours is None or theirs is None or not theirs.per_second:
        return None
    ratio = ours.per_second / theirs.per_second
    text = (
        f"{unit} at 32, store on: {ours.per_second:.0f} against {theirs.per_second:.0f}, at least {at_least}x"
    )
    return Bar(text, ratio, ratio >= at_least and not ours.errors)


def first_event_bar(rows: list[Row], workload: str) -> Bar | None:
    """At 1 at a time, the median time to the first event is at most half of the peer's."""
    ours, theirs = find(rows, "antiphon", workload, 1), find(rows, "litellm", workload, 1)
    if ours is None or theirs is None or not theirs.first_event_ms.p50:
        return None
    mine, other = ours.first_event_ms.p50, theirs.first_event_ms.p50
    text = f"first event of {workload} at 1, store on: {mine:.1f} ms against {other:.1f} ms, at most 0.5x"
    return Bar(text, mine / other, mine <= other / 2 and not ours.errors)


def bars(rows: list[Row]) -> list[Bar]:
    """Every bar whose two cells were run."""
    found = (
        throughput_bar(rows, "stream0", "streams/s", 5.0),
        *(throughput_bar(rows, "stream0", f"streams/s of {kind}", 5.0, kind) for kind in OTHER_KINDS),
        throughput_bar(rows, "json", "JSON requests/s", 2.5),
        first_event_bar(rows, "stream0"),
        first_event_bar(rows, "stream10"),
    )
    return [bar for bar in found if bar is not None]
