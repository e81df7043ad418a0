"""What several of these tests ask for."""

from collections.abc import Iterator
from typing import Any

import pytest

from responses_api.eventlog import names
from responses_api.eventlog.connection import blocking_client
from tests.support.client import Client
from tests.support.upstream import ScriptedUpstream

VALKEY: Any = blocking_client()


@pytest.fixture
def untouched(friend: Client, stranger: Client, upstream: ScriptedUpstream) -> Iterator[Client]:
    """The friend's client; afterwards nothing was asked, queued or kept of what it sent."""
    before = {*VALKEY.keys(names.job("*"))}
    yield friend
    assert upstream.requests() == []
    assert {*VALKEY.keys(names.job("*"))} <= before
    for client in (friend, stranger):
        assert client.get("/responses").json()["data"] == []
