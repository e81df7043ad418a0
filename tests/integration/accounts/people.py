"""People, their browsers and their mail."""

import re
from typing import Any
from urllib.parse import urlsplit

from allauth.account.models import EmailAddress
from django.conf import settings
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client
from redis import Redis

from tenants.members import join
from tenants.models import AuditEvent, Membership, Tenant
from tenants.scoping import operator_scope, tenant_scope

PASSWORD = "correct horse battery"


def forget_attempts(cache: Any) -> None:
    """Forget how often somebody tried."""
    with Redis.from_url(settings.VALKEY_URL) as client:
        for key in client.scan_iter(f"{cache.key_prefix}:*"):
            client.delete(key)


def account(email: str, *, verified: bool = True) -> User:
    """An account with an address."""
    user = User.objects.create_user(f"u-{email}", email, PASSWORD)
    EmailAddress.objects.create(user=user, email=email, verified=verified, primary=True)
    return user


def person(email: str, tenant: Tenant | None = None, role: str = "member") -> Client:
    """The browser of somebody who is signed in, in a tenant or none."""
    user = account(email)
    if tenant is not None:
        with tenant_scope(tenant.id):
            join(tenant.id, user, role, actor="test")
    client = Client()
    client.force_login(user)
    return client


def membership(email: str, tenant: Tenant) -> Membership:
    """Somebody's membership."""
    with operator_scope():
        found: Membership = Membership.objects.select_related("user").get(user__email=email, tenant=tenant)
    return found


def members_of(tenant: Tenant) -> dict[str, str]:
    """The roles of a tenant's people, by their addresses."""
    with operator_scope():
        return dict(Membership.objects.filter(tenant=tenant).values_list("user__email", "role"))


def acts() -> list[tuple[str, str, str]]:
    """What the audit log has: the act, its subject, who did it; the oldest first."""
    with operator_scope():
        rows = AuditEvent.objects.order_by("created_at", "id")
        return list(rows.values_list("action", "subject", "actor"))


def last_mail() -> mail.EmailMessage:
    """The mail that was sent last."""
    assert mail.outbox, "no mail was sent"
    return mail.outbox[-1]


def link_in(message: mail.EmailMessage) -> str:
    """The path of the one link in a mail."""
    found = re.findall(r"https?://\S+", str(message.body))
    assert len(found) == 1, message.body
    parts = urlsplit(found[0])
    assert parts.netloc == "testserver"
    return str(parts.path)


def sign_up(client: Client, email: str, password: str = PASSWORD, **more: str) -> Any:
    """Fill in the sign-up form."""
    return client.post("/accounts/signup/", {"email": email, "password1": password, **more})


def sign_in(client: Client, login: str, password: str = PASSWORD, **more: str) -> Any:
    """Fill in the sign-in form."""
    return client.post("/accounts/login/", {"login": login, "password": password, **more})


def text_of(answer: Any) -> str:
    """A page's text."""
    return str(answer.content.decode())
