"""A service that may reach servers on loopback and logs all that it can, and a real MCP server beside it."""

from collections.abc import Iterator

import openai
import pytest

from tests.support.client import Client
from tests.support.mcp_server import RealMcpServer
from tests.support.service import MODEL, Service, adding
from tests.support.upstream import ScriptedUpstream

SETTINGS = {
    "ANTIPHON_EGRESS_ALLOW": "127.0.0.0/8",
    "ANTIPHON_TOOL_SECONDS": "5",
    "ANTIPHON_MCP_CONNECT_SECONDS": "3",
    "LOG_LEVEL": "DEBUG",
}
KINDS = {
    "chat_completions": MODEL,
    "responses": "over-responses",
    "anthropic": "over-messages",
    "gemini": "over-gemini",
}


@pytest.fixture(scope="session")
def running_mcp_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The service, with a model on a backend of each kind."""
    with Service("mcp", tmp_path_factory.mktemp("mcp"), SETTINGS) as service:
        others = [(kind, model) for kind, model in KINDS.items() if model != MODEL]
        service.manage_all(
            *(adding(kind, service.upstream.base_url, model, kind=kind) for kind, model in others)
        )
        yield service


@pytest.fixture
def service(running_mcp_service: Service) -> Iterator[Service]:
    """The service, its upstream without the scripts of other tests."""
    running_mcp_service.upstream.clear()
    yield running_mcp_service
    assert running_mcp_service.revive() == [], "a process of the service ended by itself"


@pytest.fixture
def upstream(service: Service) -> ScriptedUpstream:
    """The model: it calls the tool whose name is in what it is told, and says what came back."""
    return service.upstream


@pytest.fixture
def friend(service: Service) -> Client:
    """The tenant that the tests are about."""
    return service.friend


@pytest.fixture
def app(service: Service) -> Iterator[openai.OpenAI]:
    """The official client with the friend's key."""
    with openai.OpenAI(
        base_url=service.base_url, api_key=service.friend.key, max_retries=0, timeout=20
    ) as client:
        yield client


@pytest.fixture
def server() -> Iterator[RealMcpServer]:
    """The MCP server."""
    with RealMcpServer() as server:
        yield server
