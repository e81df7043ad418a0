"""The browsers of people who belong to a tenant."""

from django.contrib.auth.models import User
from django.test import Client

from tenants.models import Membership, Tenant
from tenants.scoping import tenant_scope


def person_of(tenant: Tenant, role: str, name: str = "") -> Client:
    """The browser of somebody with this role in the tenant."""
    name = name or f"{role}-{tenant.name}".lower().replace(" ", "-")
    user = User.objects.create_user(name, email=f"{name}@example.com", password="a long password")
    with tenant_scope(tenant.id):
        Membership.objects.create(tenant=tenant, user=user, role=role)
    client = Client()
    client.force_login(user)
    return client
