"""One running service for each process of the test run, and its logs beside every failure."""

from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.e2e.web import StartWeb, another_web, wait_until_it_answers
from tests.support.client import Client
from tests.support.processes import Process
from tests.support.service import MODEL, Service
from tests.support.upstream import ScriptedUpstream


@pytest.fixture(scope="session")
def running_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The service, started when the first test asks for it."""
    with Service("e2e", tmp_path_factory.mktemp("service")) as service:
        yield service


@pytest.fixture
def service(running_service: Service, request: pytest.FixtureRequest) -> Iterator[Service]:
    """The service with an upstream that has no scripts left from other tests."""
    request.node.stash[SERVICE] = (running_service, running_service.mark())
    running_service.upstream.clear()
    yield running_service
    assert running_service.revive() == [], "a process of the service ended by itself"


@pytest.fixture
def start_web(service: Service, tmp_path: Path) -> Iterator[StartWeb]:
    """Starts another web process of the service, with settings and arguments of its own."""
    with ExitStack() as started:

        def start(*arguments: str, **settings: str) -> Process:
            web = another_web(service, tmp_path, *arguments, **settings)
            web.start()
            started.callback(web.stop)
            wait_until_it_answers(web)
            return web

        yield start


@pytest.fixture
def upstream(service: Service) -> ScriptedUpstream:
    """The service's backend."""
    return service.upstream


@pytest.fixture
def friend(service: Service) -> Client:
    """The tenant a test is about."""
    return service.friend


@pytest.fixture
def stranger(service: Service) -> Client:
    """The tenant who must see nothing of it."""
    return service.stranger


@pytest.fixture
def app(service: Service) -> Iterator[openai.OpenAI]:
    """The official client with the friend's key."""
    with openai.OpenAI(
        base_url=service.base_url, api_key=service.friend.key, max_retries=0, timeout=20
    ) as client:
        yield client


@pytest.fixture
def stranger_app(service: Service) -> Iterator[openai.OpenAI]:
    """The official client with the stranger's key."""
    with openai.OpenAI(base_url=service.base_url, api_key=service.stranger.key, max_retries=0) as client:
        yield client


@pytest.fixture
def model() -> str:
    """The model that the scripted upstream serves."""
    return MODEL


SERVICE = pytest.StashKey[tuple[Service, dict[str, int]]]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put what the processes printed during a failed test into its report."""
    report = yield
    if report.failed and SERVICE in item.stash:
        service, mark = item.stash[SERVICE]
        report.sections.append(("the service", service.logs(mark)))
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Tell the figures that tests measured."""
    reports = [report for outcome in ("passed", "failed") for report in terminalreporter.getreports(outcome)]
    lines = [
        f"{name}: {value}  ({report.nodeid.rpartition('::')[2]})"
        for report in reports
        for name, value in report.user_properties
    ]
    if lines:
        terminalreporter.section("measured")
        for line in lines:
            terminalreporter.write_line(line)
