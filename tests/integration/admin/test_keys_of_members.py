"""Keys in the hands of a tenant's people: owners and admins change theirs, members look, strangers see nothing."""

import re
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tenants.admin.keys import ApiKeyAdmin
from tenants.keys import find_principal, forget, issue_key
from tenants.models import ApiKey, AuditEvent, Membership, Tenant
from tenants.models.key import all_scopes
from tenants.scoping import operator_scope

KEYS = "/admin/tenants/apikey/"
Person = Callable[[str], Client]


@pytest.fixture
def person(friend: Tenant) -> Person:
    """Makes the browser of somebody who has this role in the friend."""

    def make(role: str) -> Client:
        user = User.objects.create_user(role, f"{role}@example.com", "a long password")
        with operator_scope():
            Membership.objects.create(tenant=friend, user=user, role=role)
        client = Client()
        client.force_login(user)
        return client

    return make


def key_of(tenant: Tenant) -> ApiKey:
    with operator_scope():
        key: ApiKey = ApiKey.objects.get(tenant=tenant)
    return key


def form(**fields: object) -> dict[str, object]:
    return {"name": "mine", "scopes": all_scopes(), "dialect": "auto", "unserved_tools": "auto", **fields}


@pytest.mark.parametrize("role", ["owner", "admin"])
def test_owners_and_admins_issue_keys_of_their_own_tenant_whatever_they_send(
    role: str, person: Person, friend: Tenant, stranger: Tenant
) -> None:
    browser = person(role)
    page = browser.get(f"{KEYS}add/").content.decode()
    assert 'name="tenant"' not in page
    answered = browser.post(f"{KEYS}add/", form(tenant=str(stranger.id)))
    (text,) = re.findall(r">(ak_[\w-]{43})<", answered.content.decode())
    principal = find_principal(text)
    assert principal is not None
    assert principal.tenant_id == friend.id
    made = key_of(friend)
    assert made.created_by is not None
    with operator_scope():
        event = AuditEvent.objects.get(action="key.issued")
        assert not ApiKey.objects.filter(tenant=stranger).exists()
    assert (event.tenant_id, event.actor) == (friend.id, f"{role}@example.com")
    assert f"by {role}@example.com" in browser.get(f"{KEYS}{made.id}/change/").content.decode()


def test_an_owner_changes_rotates_and_revokes_a_key(person: Person, friend: Tenant) -> None:
    text = issue_key(friend, name="app")
    key, browser = key_of(friend), person("owner")
    assert browser.post(f"{KEYS}{key.id}/change/", form(name="renamed")).status_code == 302
    assert key_of(friend).name == "renamed"
    assert browser.post(f"{KEYS}{key.id}/rotate/", {"hours": "1"}).status_code == 200
    chosen = {"action": "revoke_selected", "_selected_action": str(key.id), "confirmed": "yes"}
    assert browser.post(KEYS, chosen).status_code == 302
    forget()
    assert find_principal(text) is None


def test_a_member_looks_and_changes_nothing(person: Person, friend: Tenant) -> None:
    text = issue_key(friend, name="app")
    key, browser = key_of(friend), person("member")
    for page in (KEYS, f"{KEYS}{key.id}/change/"):
        told = browser.get(page).content.decode()
        assert "app" in told
        assert f"{key.prefix}…{key.last_four}" in told
        assert "Revoke" not in told
        assert "Rotate" not in told
    chosen = {"action": "revoke_selected", "_selected_action": str(key.id), "confirmed": "yes"}
    browser.post(KEYS, chosen)
    assert browser.get(f"{KEYS}add/").status_code == 403
    assert browser.post(f"{KEYS}add/", form()).status_code == 403
    assert browser.post(f"{KEYS}{key.id}/change/", form(name="other")).status_code == 403
    assert browser.get(f"{KEYS}{key.id}/rotate/").status_code == 403
    assert browser.post(f"{KEYS}{key.id}/rotate/", {"hours": "0"}).status_code == 403
    forget()
    assert find_principal(text) is not None
    assert key_of(friend).name == "app"


def test_nobody_reaches_a_key_of_another_tenant(person: Person, friend: Tenant, stranger: Tenant) -> None:
    text = issue_key(stranger, name="theirs")
    key, browser = key_of(stranger), person("owner")
    assert "theirs" not in browser.get(KEYS).content.decode()
    assert browser.get(f"{KEYS}{key.id}/change/").status_code == 404
    assert browser.post(f"{KEYS}{key.id}/change/", form(name="stolen")).status_code == 404
    assert browser.get(f"{KEYS}{key.id}/rotate/").status_code == 404
    assert browser.post(f"{KEYS}{key.id}/rotate/", {"hours": "0"}).status_code == 404
    browser.post(KEYS, {"action": "revoke_selected", "_selected_action": str(key.id), "confirmed": "yes"})
    forget()
    assert find_principal(text) is not None
    assert key_of(stranger).name == "theirs"


def test_what_a_page_did_before_it_failed_is_undone(
    person: Person, friend: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = issue_key(friend, name="laptop")
    key = key_of(friend)
    browser = person("owner")
    browser.raise_request_exception = False

    def fail(*_: object) -> None:
        raise RuntimeError("the page cannot be made")

    monkeypatch.setattr(ApiKeyAdmin, "_issued", fail)
    assert browser.post(f"{KEYS}{key.pk}/rotate/", {"hours": "0"}).status_code == 500
    assert key_of(friend).expires_at is None
    forget()
    assert find_principal(text) is not None
    with operator_scope():
        assert not AuditEvent.objects.filter(action="key.rotated").exists()


def test_what_only_the_operator_gives_is_kept_or_taken_away_and_never_given(
    person: Person, friend: Tenant
) -> None:
    issue_key(friend, name="plain")
    browser, plain, chooses = person("owner"), key_of(friend), [*all_scopes(), "backends:choose"]
    page = browser.post(f"{KEYS}{plain.id}/change/", form(scopes=chooses)).content.decode()
    assert "backends:choose is not one of the available choices" in page
    assert key_of(friend).scopes == all_scopes()
    with operator_scope():
        ApiKey.objects.filter(id=plain.id).update(scopes=chooses)
    assert browser.post(f"{KEYS}{plain.id}/change/", form(scopes=chooses)).status_code == 302
    assert key_of(friend).scopes == chooses
    browser.post(f"{KEYS}{plain.id}/change/", form())
    assert key_of(friend).scopes == all_scopes()
