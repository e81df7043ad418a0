"""The conformance suite catches each planted fault, by the rule that speaks of it and no other."""

import asyncio
from collections.abc import Iterable, Iterator

import pytest

from responses_api.conformance import rules as _rules  # noqa: F401  (registers them)
from responses_api.conformance.outcomes import FAIL
from responses_api.conformance.registry import select
from responses_api.conformance.runner import run
from responses_api.conformance.server import Target
from tests.support.faults import (
    again,
    answers,
    background,
    chains,
    sealed,
    sockets,
    stored,
    streams,
    tenants,
    tolerance,
    tools,
    validation,
)
from tests.support.faults.fault import Fault
from tests.support.faults.proxy import FaultyProxy
from tests.support.service import MODEL, Service

# Those about replay that wait for no slow answer.
QUICKLY_RESUMED = tuple(rule.id for rule in select(["resume"]) if rule.id != "resume.background")
# Faults, and the topics or rules that see such answers: the others would only take time.
PLANTED: list[tuple[list[Fault], tuple[str, ...]]] = [
    (streams.FRAMING, ("framing", "streams")),
    (streams.EVENTS, ("framing", "streams")),
    (answers.RESOURCE, ("resource", "streams.cut-reason")),
    (answers.RETRIEVED, ("resource", "streams", "stored")),
    (answers.ERRORS, ("errors",)),
    (answers.LIMITS, ("tolerance", "run")),
    (chains.CHAINS, ("chains",)),
    (tools.TOOLS, ("tools",)),
    (stored.STORED, ("stored", "chains")),
    (tolerance.TOLERANCE, ("tolerance", "models")),
    (background.BACKGROUND, ("background",)),
    (again.REPLAY, ("resume",)),
    (again.PLACES, QUICKLY_RESUMED),
    (again.IDEMPOTENCY, ("idempotency",)),
    (tenants.OF_KEYS, ("idempotency",)),
    (tenants.OF_STREAMS, QUICKLY_RESUMED),
    (sealed.COMPACTION, ("compaction",)),
    (sealed.REASONING, ("reasoning",)),
    (sealed.COUNTING, ("counting",)),
    (tenants.OF_CHAINS, ("chains",)),
    (tenants.OF_LISTS, ("stored",)),
    (tenants.OF_BACKGROUND, ("background",)),
    (tenants.OF_HANDSHAKES, ("websocket",)),
    (tenants.OF_SOCKETS, ("websocket-chains",)),
    (sockets.TURNS, ("websocket",)),
    (sockets.REFUSALS, ("websocket-errors",)),
    (sockets.MEMORY, ("websocket-chains",)),
]
EVERY_TOPIC = {topic for _, topics in PLANTED for topic in topics} | {"validation"}


@pytest.fixture(scope="module")
def proxy(running_service: Service) -> Iterator[FaultyProxy]:
    """A proxy before the service."""
    with FaultyProxy(running_service.base_url) as running:
        yield running


def failed(service: Service, proxy: FaultyProxy, faults: list[Fault], topics: Iterable[str]) -> set[str]:
    """The rules that fail while the faults are planted."""
    assert service.friend.key is not None
    target = Target(proxy.base_url, service.friend.key, MODEL, other_key=service.stranger.key, timeout=10)
    proxy.faults = faults
    results = asyncio.run(run(target, select(topics), jobs=16))
    return {result.rule.id for result in results if result.verdict == FAIL}


def test_nothing_fails_without_a_fault(service: Service, proxy: FaultyProxy) -> None:
    assert failed(service, proxy, [], EVERY_TOPIC) == set()


@pytest.mark.parametrize(
    ("fault", "topics"),
    [pytest.param(fault, topics, id=str(fault)) for faults, topics in PLANTED for fault in faults],
)
def test_a_fault_fails_its_rule(
    service: Service, proxy: FaultyProxy, fault: Fault, topics: tuple[str, ...]
) -> None:
    assert failed(service, proxy, [fault], topics) == set(fault.rules)


NOT_PLANTED = {
    "truncation.disabled": "needs a model that takes little",
    "truncation.auto": "needs a model that takes little",
    "websocket.limit": "needs a server whose limit comes soon",
}


def test_every_rule_has_a_fault() -> None:
    planted = [*validation.VALIDATION_FAULTS, *(fault for faults, _ in PLANTED for fault in faults)]
    caught = {rule for fault in planted for rule in fault.rules}
    assert {rule.id for rule in select()} - caught == NOT_PLANTED.keys()


def test_each_limit_that_is_not_kept_fails_its_rule(service: Service, proxy: FaultyProxy) -> None:
    faults = validation.VALIDATION_FAULTS
    expected = {rule for fault in faults for rule in fault.rules}
    assert failed(service, proxy, faults, ["validation"]) == expected
