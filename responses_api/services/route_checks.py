"""The routes, checked by the conformance suite: each model at each of its backends, through the running service.

One at a time over the whole installation. What was found is stored route by route, so that a run which is broken off
has told what it knew. The suite is a client: it comes in by the front door, with a key that may choose backends.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from responses_api.conformance import scenarios as _scenarios  # noqa: F401  (registers them)
from responses_api.conformance.judging import Judged, play
from responses_api.conformance.outcomes import Broken
from responses_api.conformance.scenario import Scenario, select_scenarios
from responses_api.conformance.server import Target
from responses_api.conformance.wire import Wire
from responses_api.eventlog.alone import alone, is_taken
from responses_api.models import ConformanceResult, ConformanceRun, Route
from responses_api.services.checking_key import checking_key, checking_tenant
from responses_api.services.database import lent
from responses_api.services.pinning import HEADER
from tenants.scoping import operator_scope

log = structlog.get_logger(__name__)

LOCK: Final = "antiphon:conformance"
JOBS: Final = 2
"""How many scenarios are played at a time: a check is to be no load."""
TIMEOUT: Final = 120.0
"""Seconds for one call."""
_LOOK_SECONDS: Final = 0.2


@dataclass(frozen=True, slots=True)
class Place:
    """A model at one of its backends."""

    model: str
    backend: str
    kind: str
    upstream_model: str

    def __str__(self) -> str:
        return f"{self.model} at {self.backend} ({self.kind})"


@dataclass(frozen=True, slots=True)
class Found:
    """What was found at a place; `problem` says why nothing was played."""

    place: Place
    judged: Sequence[Judged]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """How places are checked: at which address (up to and including /v1), by what, and why now.

    `timeout` is in seconds, for one call; `should_stop` is asked every moment, and ends the run.
    """

    base_url: str
    occasion: str
    scenarios: Sequence[Scenario] = ()
    jobs: int = JOBS
    timeout: float = TIMEOUT
    should_stop: Callable[[], bool] = lambda: False


class _Stopped(Exception):
    """The run is to end now."""


def places(model: str | None = None, backend: str | None = None) -> list[Place]:
    """Every model at each of its enabled backends, in the order of the routes; those of one model or backend."""
    wanted = {"model": model, "backend__name": backend}
    routes = Route.objects.filter(
        backend__is_enabled=True, **{name: value for name, value in wanted.items() if value}
    )
    with operator_scope():  # the routes are nobody's; the scope bounds the time of the query
        return [
            Place(route.model, route.backend.name, route.backend.kind, route.upstream_model or route.model)
            for route in routes.select_related("backend").order_by("model", "position", "id")
        ]


def check_places(
    wanted: Sequence[Place], check: Check, tell: Callable[[Found], None] = lambda found: None
) -> list[Found]:
    """Check these places one after the other, and store what was found. `tell` hears of each.

    Raises `Taken` where another run is under way, RedisError, OSError.
    """
    with alone(LOCK) as is_mine:
        return _check_all(wanted, check, is_mine, tell)


def check_due(check: Check) -> list[Found]:
    """Check the places whose last look on schedule is longer ago than `ANTIPHON_CONFORMANCE_HOURS`. Raises as above."""
    with alone(LOCK) as is_mine:
        due = lent(_due)
        return _check_all(due, check, is_mine, lambda found: None) if due else []


def is_under_way() -> bool:
    """Whether a run is under way, anywhere. Raises RedisError, OSError."""
    return is_taken(LOCK)


def _due() -> list[Place]:
    if settings.CONFORMANCE_HOURS is None:
        return []
    before = timezone.now() - timedelta(hours=settings.CONFORMANCE_HOURS)
    with operator_scope():
        newest = ConformanceRun.objects.filter(occasion="schedule").order_by().values("model", "backend")
        looked: dict[tuple[str, str], datetime] = {
            (row["model"], row["backend"]): row["at"] for row in newest.annotate(at=Max("started_at"))
        }
    return [place for place in places() if looked.get((place.model, place.backend), before) <= before]


def _check_all(
    wanted: Sequence[Place], check: Check, is_mine: Callable[[], bool], tell: Callable[[Found], None]
) -> list[Found]:
    told: list[Found] = []
    scenarios = check.scenarios or select_scenarios()
    for place in wanted:
        started_at, begun = timezone.now(), time.monotonic()
        try:
            found = _check(place, check, scenarios, lambda: check.should_stop() or not is_mine())
        except _Stopped:
            log.warning("a conformance run was broken off", place=str(place))
            break
        lent(_store, found, check.occasion, started_at, time.monotonic() - begun)
        told.append(found)
        tell(found)
    return told


def _check(
    place: Place, check: Check, scenarios: Sequence[Scenario], should_stop: Callable[[], bool]
) -> Found:
    tenant = lent(checking_tenant)
    if not tenant.is_active:
        return Found(place, (), f"The tenant '{tenant.name}', whose key the suite uses, is switched off.")
    with checking_key(place.model) as key:
        target = Target(
            base_url=check.base_url,
            api_key=key,
            model=place.model,
            timeout=check.timeout,
            headers={HEADER: place.backend},
        )
        problem = asyncio.run(_problem(target))
        if problem:
            return Found(place, (), problem)
        return Found(place, asyncio.run(_play(target, scenarios, check.jobs, should_stop)))


async def _problem(target: Target) -> str:
    """Why nothing can be played at this address; empty where it is this installation's."""
    async with Wire(target.base_url, target.timeout) as wire:
        try:
            answer = await wire.send(
                "GET", "/responses?limit=1", headers={"Authorization": f"Bearer {target.api_key}"}
            )
        except Broken as broken:
            return f"There is nobody at {target.base_url}: {broken}"
    if answer.status == 200:
        return ""
    return f"What answers at {target.base_url} is not this installation: it answers its key with {answer.status}."


async def _play(
    target: Target, scenarios: Sequence[Scenario], jobs: int, should_stop: Callable[[], bool]
) -> list[Judged]:
    """Play them. Raises `_Stopped`."""
    playing = asyncio.ensure_future(play(target, scenarios, jobs=jobs))
    try:
        while not (await asyncio.wait([playing], timeout=_LOOK_SECONDS))[0]:
            if should_stop():
                raise _Stopped
        return playing.result()
    finally:
        playing.cancel()
        await asyncio.gather(playing, return_exceptions=True)


def _store(found: Found, occasion: str, started_at: datetime, seconds: float) -> None:
    """Store a run, and delete those of the same place that are too many."""
    place = found.place
    with operator_scope(), transaction.atomic():
        run = ConformanceRun.objects.create(
            model=place.model,
            backend=place.backend,
            kind=place.kind,
            upstream_model=place.upstream_model,
            occasion=occasion,
            started_at=started_at,
            seconds=round(seconds, 3),
            problem=found.problem,
        )
        ConformanceResult.objects.bulk_create(
            _result(run, position, one) for position, one in enumerate(found.judged)
        )
        mine = ConformanceRun.objects.filter(model=place.model, backend=place.backend)
        kept = [
            *mine.order_by("-started_at", "-id").values_list("id", flat=True)[: settings.CONFORMANCE_RUNS]
        ]
        mine.exclude(id__in=kept).delete()


def _result(run: ConformanceRun, position: int, one: Judged) -> ConformanceResult:
    return ConformanceResult(
        run=run,
        position=position,
        scenario=one.scenario.id,
        end=one.end,
        sentence=one.sentence,
        seconds=round(one.seconds, 3),
        exchange=one.exchange.to_plain() if one.exchange else None,
    )
