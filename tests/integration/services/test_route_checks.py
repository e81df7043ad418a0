"""Checks of the routes: what is asked, what is kept, when, and by how many at once."""

import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise

import pytest
from django.utils import timezone
from pytest_django import Settings

from responses_api.conformance.judging import ENDS
from responses_api.conformance.scenario import select_scenarios
from responses_api.eventlog.alone import Taken, alone, is_taken
from responses_api.eventlog.connection import blocking_client
from responses_api.models import Backend, ConformanceResult, ConformanceRun, Route
from responses_api.models.conformance import ENDS as STORED_ENDS
from responses_api.protocol.plain import Json
from responses_api.services import check_asking
from responses_api.services.checking_key import TENANT_ID, checking_tenant
from responses_api.services.route_checks import LOCK, Check, check_due, check_places, places
from tenants.keys import find_principal, forget
from tenants.models import ApiKey, Membership, Tenant
from tenants.scoping import operator_scope
from tests.support.client import wait_until
from tests.support.minds import able
from tests.support.respondent import Respondent, Said, message
from tests.support.tenants import make_tenant


def on_two_routes() -> None:
    for name, position in (("west", 1), ("east", 0)):
        backend = Backend.objects.create(name=name, base_url="http://127.0.0.1:9/v1")
        Route.objects.create(model="fast", backend=backend, upstream_model="inner", position=position)
    switched_off = Backend.objects.create(name="off", base_url="http://127.0.0.1:9/v1", is_enabled=False)
    Route.objects.create(model="fast", backend=switched_off)


@pytest.fixture(autouse=True)
def routes(database: None) -> Iterator[None]:
    blocking_client().delete(LOCK)
    forget()
    on_two_routes()
    yield
    assert not is_taken(LOCK)


def of(base_url: str, *only: str, occasion: str = "command", **more: object) -> Check:
    return Check(base_url, occasion, select_scenarios(only or ["text"]), timeout=5, **more)  # type: ignore[arg-type]


def keys() -> list[ApiKey]:
    with operator_scope():
        return list(ApiKey.objects.filter(tenant_id=TENANT_ID))


def runs(backend: str = "") -> list[ConformanceRun]:
    found = ConformanceRun.objects.all()
    return list(found.filter(backend=backend) if backend else found)


def test_the_ends_that_are_stored_are_those_that_there_are() -> None:
    assert [end for end, _ in STORED_ENDS] == [*ENDS]


def test_the_places_are_the_enabled_ones_in_the_routes_order() -> None:
    assert [(place.backend, place.upstream_model) for place in places()] == [
        ("east", "inner"),
        ("west", "inner"),
    ]
    assert [place.backend for place in places(backend="west")] == ["west"]
    assert places("slow") == places("fast", "off") == []


def test_each_place_is_asked_by_a_key_of_its_own_that_is_revoked() -> None:
    with Respondent(able) as server:
        found = check_places(places(), of(server.base_url, "text", "usage"))
        asked = [(sent["Antiphon-Backend"], sent["Authorization"]) for sent in server.headers]
        models = {body["model"] for body in server.requests}
    assert [[judged.end for judged in one.judged] for one in found] == [["passed", "passed"]] * 2
    assert [name for name, _ in asked] == ["east"] * 3 + ["west"] * 3
    assert len({key for _, key in asked}) == 2
    assert models == {"fast"}
    assert [
        (key.revoked_at is not None, key.allowed_models, key.expires_at is not None) for key in keys()
    ] == [(True, ["fast"], True)] * 2
    assert all(find_principal(key.removeprefix("Bearer ")) is None for _, key in asked)


def test_what_failed_is_stored_with_its_exchange() -> None:
    def mind(body: Json) -> Said:
        return Said([message("<think> \x00")])

    with Respondent(mind) as server:
        check_places(places(backend="east"), of(server.base_url))
    (run,) = runs()
    assert (run.model, run.backend, run.kind, run.upstream_model) == (
        "fast",
        "east",
        "chat_completions",
        "inner",
    )
    (result,) = ConformanceResult.objects.all()
    assert (result.scenario, result.end, "a mark of" in result.sentence) == ("text", "failed", True)
    exchange: Json = result.exchange  # type: ignore[assignment]
    assert exchange["request"] == "POST /responses"
    assert "<think>" in exchange["received"]


def test_a_key_is_revoked_where_the_run_breaks_down() -> None:
    def break_down(found: object) -> None:
        raise RuntimeError("out of paper")

    with Respondent(able) as server, pytest.raises(RuntimeError, match="out of paper"):
        check_places(places(), of(server.base_url), break_down)
    assert [key.revoked_at is not None for key in keys()] == [True]


def test_a_run_that_is_told_to_stop_stops_and_stores_no_half_of_a_place() -> None:
    asked, go_on = threading.Event(), threading.Event()

    def slow(body: Json) -> Said:
        asked.set()
        go_on.wait(5)
        return able(body)

    with Respondent(slow) as server:
        begun = time.monotonic()
        check_places(places(), of(server.base_url, "text", "stream", should_stop=asked.is_set))
        go_on.set()
    assert time.monotonic() - begun < 4
    assert runs() == []
    assert [key.revoked_at is not None for key in keys()] == [True]


def test_nobody_and_somebody_else_at_the_address_are_problems_and_no_failures() -> None:
    check_places(places(backend="east"), of("http://127.0.0.1:9/v1"))
    with Respondent(able) as server:
        check_places(places(backend="west"), of(server.base_url.replace("/v1", "/other")))
    east, west = runs("east")[0], runs("west")[0]
    assert east.problem.startswith("There is nobody at http://127.0.0.1:9/v1")
    assert "not this installation: it answers its key with 404" in west.problem
    assert ConformanceResult.objects.count() == 0


def test_the_newest_runs_of_each_place_are_kept(settings: Settings) -> None:
    settings.CONFORMANCE_RUNS = 2
    with Respondent(able) as server:
        for _ in range(3):
            check_places(places(backend="east"), of(server.base_url))
        check_places(places(backend="west"), of(server.base_url))
    assert (len(runs("east")), len(runs("west"))) == (2, 1)
    assert ConformanceResult.objects.count() == 3
    assert runs("east")[0].started_at > runs("east")[1].started_at


# ---- who asks


def test_the_tenant_is_known_by_its_id_whoever_took_its_name() -> None:
    team = make_tenant("Conformance")
    own = checking_tenant()
    assert (own.id, own.name) == (TENANT_ID, "Conformance 2")
    assert checking_tenant().name == "Conformance 2"
    with operator_scope():
        assert not Membership.objects.filter(tenant=own).exists()
        assert not ApiKey.objects.filter(tenant=team).exists()


def test_a_tenant_that_is_switched_off_is_said_to_be() -> None:
    checking_tenant()
    with operator_scope():
        Tenant.objects.filter(id=TENANT_ID).update(is_active=False)
    (found,) = check_places(places(backend="east"), of("http://127.0.0.1:9/v1"))
    assert "'Conformance', whose key the suite uses, is switched off" in found.problem
    assert keys() == []


# ---- one at a time, and when


def test_a_second_run_is_refused_until_the_first_has_ended() -> None:
    inside, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        with alone(LOCK):
            inside.set()
            go_on.wait(10)

    holder = threading.Thread(target=hold)
    holder.start()
    assert inside.wait(10)
    with pytest.raises(Taken):
        check_places(places(), of("http://127.0.0.1:9/v1"))
    with pytest.raises(Taken):
        check_due(of("http://127.0.0.1:9/v1"))
    go_on.set()
    holder.join()
    assert runs() == []
    assert keys() == []


def test_a_lock_is_renewed_while_it_is_held_and_known_to_be_lost() -> None:
    left: list[int] = []

    def is_renewed_often() -> bool:
        left.append(blocking_client().pttl("test:alone"))
        return sum(later > earlier for earlier, later in pairwise(left)) > 4

    with alone("test:alone", 0.3) as is_mine:
        wait_until(is_renewed_often, timeout=5, what="the lock to outlive its time", every=0.02)
        assert is_mine()
        assert is_taken("test:alone")
        blocking_client().set("test:alone", "somebody else's", px=2000)
        wait_until(lambda: not is_mine(), timeout=2, what="the loss", every=0.02)
    assert is_taken("test:alone"), "what is another's is not given back"
    blocking_client().delete("test:alone")


def test_what_is_due_is_what_nobody_has_looked_at_on_schedule_for_so_long(settings: Settings) -> None:
    settings.CONFORMANCE_HOURS = 6
    with Respondent(able) as server:
        check = of(server.base_url, occasion="schedule")
        assert [found.place.backend for found in check_due(check)] == ["east", "west"]
        assert check_due(check) == [], "another worker's beat, a moment later"
        ConformanceRun.objects.filter(backend="west").update(started_at=timezone.now() - timedelta(hours=7))
        assert [found.place.backend for found in check_due(check)] == ["west"]
        check_places(places(backend="west"), of(server.base_url))
        ConformanceRun.objects.update(started_at=timezone.now() - timedelta(hours=7))
        settings.CONFORMANCE_HOURS = None
        assert check_due(check) == []


def test_many_workers_that_are_told_at_once_run_once(settings: Settings) -> None:
    settings.CONFORMANCE_HOURS = 6
    with Respondent(able) as server:
        settings.CONFORMANCE_URL = server.base_url
        workers = [
            threading.Thread(target=check_asking.check_routes, args=("schedule", lambda: False))
            for _ in range(4)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert sorted(run.backend for run in runs()) == ["east", "west"]
    assert ConformanceResult.objects.count() == 2 * len(select_scenarios())
    assert set(ConformanceResult.objects.values_list("end", flat=True)) == {"passed"}
