"""Secrets of a tool whose worker is not there: killed in the middle of a call, or not yet started."""

import os
from collections.abc import Iterator

import pytest

from responses_api.dispatch import AMQP_QUEUE, GENERATE
from tests.e2e.mcp.conftest import SETTINGS
from tests.e2e.mcp.secret import KEY, MARKER, PROMPT, TOKEN, ended, look, tool
from tests.e2e.test_tiers import AMQP_VARIABLE
from tests.support import searching
from tests.support.client import Json
from tests.support.mcp_server import RealMcpServer
from tests.support.service import Service


@pytest.fixture
def amqp_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with RabbitMQ as its broker."""
    if AMQP_VARIABLE not in os.environ:
        pytest.skip(f"{AMQP_VARIABLE} is not set")
    settings = {**SETTINGS, "CELERY_BROKER_URL": os.environ[AMQP_VARIABLE]}
    with Service("amqp_secrets", tmp_path_factory.mktemp("amqp"), settings) as service:
        yield service


def test_a_killed_worker_leaves_no_secret_behind(service: Service, server: RealMcpServer) -> None:
    server.token = TOKEN
    asked: Json = {"input": f"{PROMPT}: be slow.", "tools": [tool(server, allowed_tools=["slow"])]}
    mark = service.mark()
    with (
        service.friend.stream(**asked) as live,
        service.friend.stream(**asked, background=True) as background,
    ):
        for stream in (live, background):
            stream.read_event("antiphon:mcp_call.in_progress")
        service.kill_worker()
        look(service)
        server.released.set()
        service.start_worker()
        told = [stream.read_all(timeout=60).decode() for stream in (live, background)]
    told += [ended(service.friend, stream.events[0]["response"]["id"]) for stream in (live, background)]
    look(service)
    assert "worker_lost" in told[0]
    assert "not known whether it took effect" in told[1]
    assert MARKER not in "".join(told)
    assert MARKER not in service.logs(mark, last=1 << 30)


def test_what_waits_in_rabbitmq_has_no_secret(amqp_service: Service, server: RealMcpServer) -> None:
    service = amqp_service
    server.token = TOKEN
    asked: Json = {"input": f"{PROMPT}: use echo.", "tools": [tool(server, allowed_tools=["echo"])]}
    service.worker.stop()
    service.beat.stop()
    with service.friend.stream(**asked, store=False) as live:
        background = service.friend.create(**asked, background=True).json()
        waiting = searching.messages(service.env["CELERY_BROKER_URL"], AMQP_QUEUE)
        look(service)
        service.worker.start()
        told = [live.read_all(timeout=60).decode(), ended(service.friend, background["id"])]
    assert GENERATE in waiting
    assert MARKER not in waiting
    assert all("The tool returned" in text for text in told)
    assert {call.headers["x-api-key"] for call in server.calls()} == {KEY}
    assert MARKER not in "".join(told)
