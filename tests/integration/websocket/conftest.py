"""Sockets of the two tenants. Whatever a test leaves open is closed at its end."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.support.asgi import AsgiServer
from tests.support.client import Client
from tests.support.websocket import Socket

Connect = Callable[..., Socket]


@pytest.fixture
def connect(server: AsgiServer) -> Iterator[Connect]:
    """Opens a socket as a client (or without one, with a key of one's own)."""
    with ExitStack() as opened:

        def socket(client: Client | None, **options: Any) -> Socket:
            key = options.pop("key", client.key if client else None)
            return opened.enter_context(Socket(server, key, **options))

        yield socket


@pytest.fixture
def socket(connect: Connect, friend: Client) -> Socket:
    """A socket of the friend's."""
    return connect(friend)
