"""The loop with an abacus: a worker whose requests of the type `mcp` are its own to run."""

from collections.abc import Iterator, Sequence
from uuid import UUID

import pytest

from responses_api.models import Backend
from responses_api.protocol.policy import Policy
from responses_api.protocol.server_tools import MCP
from tests.support.abacus import Abacus
from tests.support.asgi import AsgiServer
from tests.support.client import Client
from tests.support.websocket import Socket
from workers.runtime import process_runtime
from workers.serving import Serving


@pytest.fixture
def abacus(running_worker: None, backend: Backend) -> Iterator[Abacus]:
    """The abacus that the worker has."""
    runtime, made = process_runtime(), Abacus()

    async def policies(tenant_id: UUID, key_id: UUID) -> Sequence[Policy]:
        return made.policies

    before = runtime.serving
    runtime.serving = Serving({MCP: made.provider}, policies, lambda *_: True, lambda _: {})
    yield made
    made.gate.set()
    runtime.serving = before


@pytest.fixture
def socket(server: AsgiServer, friend: Client) -> Iterator[Socket]:
    """A socket of the friend's."""
    with Socket(server, friend.key) as opened:
        yield opened
