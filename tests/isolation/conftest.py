"""The two walls, tried together and the second one alone; and everybody who might come."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import models
from django.test import Client as Browser

from responses_api.models import Backend
from tenants import keys, scoping
from tests.integration.fixtures import MODEL, client
from tests.integration.websocket.conftest import connect
from tests.isolation.world import Estate, make_estate
from tests.support.asgi import AsgiServer
from tests.support.client import Client

__all__ = ["MODEL", "connect"]


@pytest.fixture(params=["both walls", "row-level security alone"], autouse=True)
def wall(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every test runs twice: the second time the managers filter nothing, and PostgreSQL alone hides foreign rows."""
    if request.param == "row-level security alone":

        def unfiltered(manager: Any) -> models.QuerySet[Any]:
            if scoping.current_scope() is None:
                raise scoping.ScopeMissing("no scope")
            return models.Manager.get_queryset(manager)

        monkeypatch.setattr(scoping.ScopedManager, "get_queryset", unfiltered)
    return str(request.param)


@dataclass
class World:
    """Two tenants, and everybody who is not the friend."""

    friend: Estate
    stranger: Estate
    browsers: dict[str, Browser]
    """Of people who have no business with the friend: by who they are."""
    operator: Browser
    owner: Browser
    """The friend's own."""
    clients: dict[str, Client]
    """With the stranger's key, with the friend's revoked one, with none."""
    friend_client: Client


@pytest.fixture
def world(backend: Backend, server: AsgiServer) -> Iterator[World]:
    """Everybody and everything."""
    keys.forget()
    friend, stranger = make_estate("friend"), make_estate("stranger")
    passer_by = User.objects.create_user("passer-by", email="passer-by@example.org")
    staff = User.objects.create_user("staff", email="staff@example.org", is_staff=True)
    operator = User.objects.create_superuser("operator", email="operator@example.org")
    yield World(
        friend=friend,
        stranger=stranger,
        browsers={
            "nobody": Browser(),
            "a stranger's owner": browser_of(stranger.owner),
            "a stranger's member": browser_of(stranger.member),
            "somebody without a tenant": browser_of(passer_by),
            "staff without a tenant": browser_of(staff),
        },
        operator=browser_of(operator),
        owner=browser_of(friend.owner),
        clients={
            "a stranger's key": client(server, stranger.key_text),
            "a revoked key": client(server, friend.revoked_text),
            "no key": client(server, None),
        },
        friend_client=client(server, friend.key_text),
    )
    keys.forget()


def browser_of(user: User) -> Browser:
    browser = Browser(raise_request_exception=False)
    browser.force_login(user)
    return browser
