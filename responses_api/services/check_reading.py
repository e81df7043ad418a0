"""What the checks of the routes have found, as pages show it: the newest look at each place, and the looks before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.db.models import Count, Q, QuerySet

from responses_api.conformance.scenario import select_scenarios
from responses_api.models import ConformanceResult, ConformanceRun
from responses_api.services.route_checks import places

_MOST_SHOWN: Final = 50


@dataclass(frozen=True, slots=True)
class Column:
    """A place of the matrix: its newest run, if it had one; `is_routed` says whether it is served there now."""

    model: str
    backend: str
    kind: str
    is_routed: bool
    run: ConformanceRun | None


@dataclass(frozen=True, slots=True)
class Row:
    """A scenario of the matrix, with what it came to in each column; None where it was not played."""

    scenario: str
    sentence: str
    cells: Sequence[ConformanceResult | None]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Scenario × place."""

    columns: Sequence[Column]
    rows: Sequence[Row]


def matrix() -> Matrix:
    """The newest run of each place, inside the operator's scope; what is not routed any more stands last."""
    newest = ConformanceRun.objects.order_by("model", "backend", "-started_at", "-id")
    runs = {(run.model, run.backend): run for run in newest.distinct("model", "backend")}
    columns = [
        Column(place.model, place.backend, place.kind, True, runs.pop((place.model, place.backend), None))
        for place in places()
    ]
    columns += [Column(run.model, run.backend, run.kind, False, run) for run in runs.values()]
    shown = [column.run.pk for column in columns if column.run is not None]
    results = ConformanceResult.objects.filter(run__in=shown).defer("exchange").order_by("position", "id")
    found = {(result.scenario, result.run_id): result for result in results}
    known = sentences()
    names = dict.fromkeys([*known, *(scenario for scenario, _ in found)])
    rows = [
        Row(
            name,
            known.get(name, ""),
            [found.get((name, column.run.pk)) if column.run is not None else None for column in columns],
        )
        for name in names
    ]
    return Matrix(columns, rows)


def history(model: str = "", backend: str = "") -> QuerySet[ConformanceRun]:
    """The latest runs, newest first, each with how many of its scenarios ended how; of one model or backend."""
    runs = ConformanceRun.objects.all()
    if model:
        runs = runs.filter(model=model)
    if backend:
        runs = runs.filter(backend=backend)
    ends = {
        name: Count("results", filter=Q(results__end=end))
        for name, end in (
            ("passed", "passed"),
            ("failed", "failed"),
            ("inconclusive", "inconclusive"),
            ("not_supported", "not supported"),
        )
    }
    return runs.annotate(**ends).order_by("-started_at", "-id")[:_MOST_SHOWN]


def sentences() -> Mapping[str, str]:
    """What holds where a scenario passes, by its name, in the order of the suite."""
    return {one.id: one.sentence for one in select_scenarios()}
