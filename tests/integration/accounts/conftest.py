"""Nobody has tried anything yet, sign-up is open, and mails are in the outbox."""

import pytest
from django.core.cache import cache
from django.test import Client
from pytest_django import Settings

from tenants.models import Tenant
from tests.integration.accounts.people import forget_attempts, person
from tests.support.tenants import make_tenant


@pytest.fixture(autouse=True)
def fresh(settings: Settings, db: None) -> None:
    """What other tests tried counts for nothing. (`cache.clear()` would empty the whole Valkey database.)"""
    settings.SIGNUP = "open"
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    forget_attempts(cache)


@pytest.fixture
def friend(fresh: None) -> Tenant:
    """A tenant."""
    return make_tenant("Friend & Sons")


@pytest.fixture
def stranger(fresh: None) -> Tenant:
    """Another tenant."""
    return make_tenant("Stranger Ltd")


@pytest.fixture
def owner(friend: Tenant) -> Client:
    """The browser of the friend's owner."""
    return person("owner@friend.example", friend, "owner")


@pytest.fixture
def admin(friend: Tenant) -> Client:
    """The browser of an admin of the friend."""
    return person("admin@friend.example", friend, "admin")


@pytest.fixture
def member(friend: Tenant) -> Client:
    """The browser of somebody who only looks."""
    return person("member@friend.example", friend, "member")


@pytest.fixture
def foreigner(stranger: Tenant) -> Client:
    """The browser of the stranger's owner."""
    return person("owner@stranger.example", stranger, "owner")
