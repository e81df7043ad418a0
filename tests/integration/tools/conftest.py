"""Who asks in the tests of the loop."""

from collections.abc import Iterator

import pytest

from tests.support.asgi import AsgiServer
from tests.support.client import Client
from tests.support.websocket import Socket


@pytest.fixture
def socket(server: AsgiServer, friend: Client) -> Iterator[Socket]:
    """A socket of the friend's."""
    with Socket(server, friend.key) as opened:
        yield opened
