"""An operator, other staff, and two tenants: here `friend` and `stranger` are tenants, not their clients."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tenants.models import Tenant
from tests.support.tenants import make_tenant


@pytest.fixture
def operator(db: None) -> Client:
    """The browser of a superuser."""
    client = Client()
    client.force_login(User.objects.create_superuser("operator", password="a long password"))
    return client


@pytest.fixture
def staff(db: None) -> Client:
    """The browser of somebody who may log in to the admin and is no operator."""
    client = Client()
    client.force_login(User.objects.create_user("staff", password="a long password", is_staff=True))
    return client


@pytest.fixture
def friend(db: None) -> Tenant:
    """A tenant."""
    return make_tenant("Friend & Sons")


@pytest.fixture
def stranger(db: None) -> Tenant:
    """Another tenant."""
    return make_tenant("Stranger Ltd")
