"""Somebody of two teams, with a page of each open: a form is taken in the team that it was opened in, or not at all."""

import re
from typing import Any

from django.contrib.auth.models import User
from django.test import Client as Browser

from tenants.models import ApiKey, Invitation, Limit, Membership, Tenant
from tenants.scoping import operator_scope
from tests.support.tenants import make_tenant

FORMS: dict[str, dict[str, Any]] = {
    "apikey": {"name": "laptop", "scopes": ["responses:read"], "dialect": "auto", "unserved_tools": "auto"},
    "limit": {"metric": "tokens_per_day", "amount": "5", "is_hard": "on"},
    "invitation": {"email": "guest@example.org", "role": "member"},
}


def made() -> int:
    with operator_scope():
        return sum(model.objects.count() for model in (ApiKey, Limit, Invitation))


def teams_of(user: User, *names: str) -> list[Tenant]:
    teams = [make_tenant(name) for name in names]
    with operator_scope():
        for team in teams:
            Membership.objects.create(tenant=team, user=user, role="owner")
    return teams


def test_a_form_of_another_team_makes_nothing(db: None) -> None:
    user = User.objects.create_user("ada", email="ada@example.org")
    first, second = teams_of(user, "first", "second")
    browser = Browser()
    browser.force_login(user)
    for name, form in FORMS.items():
        browser.post("/accounts/tenant/", {"tenant": str(first.id)})
        page = browser.get(f"/admin/tenants/{name}/add/").content.decode()
        whose = re.search(r'name="tenant_of_form" value="([^"]+)"', page)
        assert whose
        assert whose[1] == str(first.id)
        browser.post("/accounts/tenant/", {"tenant": str(second.id)})
        answered = browser.post(
            f"/admin/tenants/{name}/add/", {**form, "tenant_of_form": whose[1]}, follow=True
        )
        assert "Nothing was saved" in answered.content.decode()
        assert made() == 0
    # In its own team it is taken.
    browser.post("/accounts/tenant/", {"tenant": str(first.id)})
    browser.post("/admin/tenants/limit/add/", {**FORMS["limit"], "tenant_of_form": str(first.id)})
    assert made() == 1
