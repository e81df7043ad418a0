"""The playground's page and its keys: for who may spend, in their own tenant, for an hour, one at a time."""

from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tenants.keys import find_principal, forget, issue_key
from tenants.members import remove
from tenants.models import ApiKey, Membership, Tenant
from tenants.scoping import operator_scope
from tenants.signals import access_changed

PAGE = "/admin/playground/"
KEY = f"{PAGE}key/"
Person = Callable[..., Client]


@pytest.fixture
def person(friend: Tenant) -> Person:
    """Makes the browser of somebody who has this role in the friend."""

    def make(role: str, **options: Any) -> Client:
        user = User.objects.create_user(role, f"{role}@example.com", "a long password")
        with operator_scope():
            Membership.objects.create(tenant=friend, user=user, role=role)
        client = Client(**options)
        client.force_login(user)
        return client

    return make


def key_for(browser: Client, tenant: Tenant) -> str:
    answered = browser.post(KEY, {"tenant": str(tenant.id)})
    assert answered.status_code == 200
    assert "no-store" in answered.headers["Cache-Control"]
    return str(answered.json()["key"])


@pytest.mark.parametrize("role", ["owner", "admin"])
def test_who_may_change_gets_a_key_of_their_tenant_for_an_hour(
    role: str, person: Person, friend: Tenant
) -> None:
    text = key_for(person(role), friend)
    principal = find_principal(text)
    assert principal is not None
    assert principal.tenant_id == friend.id
    with operator_scope():
        key = ApiKey.objects.get()
    assert key.purpose == "playground"
    assert key.created_by.username == role
    assert 3590 <= (key.expires_at - key.created_at).total_seconds() <= 3610


def test_the_key_before_is_revoked_and_other_peoples_stay(person: Person, friend: Tenant) -> None:
    owner, other = person("owner"), person("admin")
    first, theirs, second = key_for(owner, friend), key_for(other, friend), key_for(owner, friend)
    forget()
    assert find_principal(first) is None
    assert find_principal(theirs) is not None
    assert find_principal(second) is not None


def test_a_member_who_only_looks_has_no_playground(person: Person, friend: Tenant) -> None:
    browser = person("member")
    assert browser.get(PAGE).status_code == 403
    assert browser.post(KEY, {"tenant": str(friend.id)}).status_code == 403
    assert "Playground" not in browser.get("/admin/tenants/apikey/").content.decode()
    with operator_scope():
        assert not ApiKey.objects.exists()


def test_nobody_gets_a_key_of_another_tenant(person: Person, friend: Tenant, stranger: Tenant) -> None:
    browser = person("owner")
    assert browser.post(KEY, {"tenant": str(stranger.id)}).status_code == 403
    assert browser.post(KEY, {"tenant": "none"}).status_code == 400
    assert str(stranger.id) not in browser.get(PAGE).content.decode()
    with operator_scope():
        assert not ApiKey.objects.exists()


def test_an_operator_asks_in_the_name_of_any_tenant(
    operator: Client, friend: Tenant, stranger: Tenant
) -> None:
    page = operator.get(PAGE).content.decode()
    assert str(friend.id) in page
    assert str(stranger.id) in page
    principal = find_principal(key_for(operator, stranger))
    assert principal is not None
    assert principal.tenant_id == stranger.id


def test_a_key_is_asked_for_by_a_post_from_the_page_alone(person: Person, friend: Tenant) -> None:
    browser = person("owner", enforce_csrf_checks=True)
    assert browser.get(KEY).status_code == 405
    assert browser.post(KEY, {"tenant": str(friend.id)}).status_code == 403
    browser.get(PAGE)
    token = browser.cookies["csrftoken"].value
    answered = browser.post(KEY, {"tenant": str(friend.id)}, headers={"X-CSRFToken": token})
    assert answered.status_code == 200
    with operator_scope():
        assert ApiKey.objects.count() == 1


def test_the_page_holds_no_key_loads_nothing_from_elsewhere_and_says_what_it_continues(
    person: Person, friend: Tenant
) -> None:
    browser = person("owner")
    text = key_for(browser, friend)
    answered = browser.get(f"{PAGE}?previous_response_id=resp_1%22%3E%3Cscript%3E")
    page = answered.content.decode()
    assert "ak_" not in page
    assert text not in page
    assert 'value="resp_1&quot;&gt;&lt;script&gt;"' in page
    assert "default-src 'self'" in answered.headers["Content-Security-Policy"]
    assert "https://" not in answered.headers["Content-Security-Policy"]
    assert "<noscript>" in page


def test_the_page_tells_that_a_tenant_keeps_nothing(person: Person, friend: Tenant) -> None:
    browser = person("owner")
    assert 'data-keeps-nothing="no"' in browser.get(PAGE).content.decode()
    with operator_scope():
        Tenant.objects.filter(pk=friend.pk).update(zero_data_retention=True)
    assert 'data-keeps-nothing="yes"' in browser.get(PAGE).content.decode()


def test_somebody_else_is_sent_to_sign_in(db: None) -> None:
    assert Client().get(PAGE).status_code == 302
    assert Client().post(KEY).status_code == 302


@pytest.mark.parametrize("how", ["made a member", "taken out", "leaves", "switched off", "deleted"])
def test_a_key_ends_with_what_its_person_may_do(
    how: str, person: Person, friend: Tenant, django_capture_on_commit_callbacks: Any
) -> None:
    person("owner")  # the team keeps one
    operator = Client()
    operator.force_login(User.objects.create_superuser("operator", "operator@example.com", "a long password"))
    theirs = key_for(person("admin"), friend)
    app, user = issue_key(friend, name="an app's"), User.objects.get(username="admin")
    with operator_scope():
        membership = Membership.objects.get(user=user)
    assert find_principal(theirs) is not None
    assert find_principal(app) is not None
    place = f"/admin/tenants/membership/{membership.pk}"
    access_changed.connect(told := Mock())
    with django_capture_on_commit_callbacks(execute=True):
        match how:
            case "made a member":
                operator.post(f"{place}/change/", {"role": "member"})
            case "taken out":
                operator.post(f"{place}/delete/", {"post": "yes"})
            case "leaves":
                remove(friend.id, membership.pk, by=user)
            case "switched off":
                fields = {"username": "admin", "email": user.email}
                operator.post(f"/admin/auth/user/{user.pk}/change/", fields)
            case "deleted":
                operator.post(f"/admin/auth/user/{user.pk}/delete/", {"post": "yes"})
    access_changed.disconnect(told)
    told.assert_called()  # so that every process forgets at once, as this one does here
    forget()
    assert find_principal(theirs) is None
    assert find_principal(app) is not None
