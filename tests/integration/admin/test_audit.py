"""The audit log in the admin: each act leaves a row, rows are read and never touched, nobody reads a stranger's."""

from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from responses_api.models import Backend
from tenants import audit
from tenants.admin.audit import facts
from tenants.models import ApiKey, AuditEvent, Invitation, Limit, Membership, Tenant
from tenants.models.key import all_scopes
from tenants.scoping import operator_scope, tenant_scope
from tests.integration.admin.people import person_of
from tests.integration.admin.stored import page_of, store

LOG = "/admin/tenants/auditevent/"
BACKEND = {
    "name": "example",
    "kind": "chat_completions",
    "base_url": "https://api.example.com/v1",
    "api_key_env": "EXAMPLE_KEY",
    "token_counting": "vllm",
    "images": "noted",
    "files": "sent",
    "media_urls": "sent",
    "default_options": "",
    "structured_output": "sent",
    "tools": "native",
    "reasoning": "raw",
    "thinking_tags": "told",
    "is_enabled": "on",
    "connect_timeout": "5",
    "first_byte_timeout": "60",
    "idle_timeout": "60",
    "total_timeout": "600",
    "routes-TOTAL_FORMS": "0",
    "routes-INITIAL_FORMS": "0",
}
KEY = {"name": "mine", "scopes": all_scopes(), "dialect": "auto", "unserved_tools": "auto"}
PASSWORD = "a password that is quite long"


def written(tenant: Tenant, action: str, subject: str = "something", **details: Any) -> AuditEvent:
    with tenant_scope(tenant.id):
        audit.record(action, subject, tenant_id=tenant.id, **details)
        event: AuditEvent = AuditEvent.objects.all()[0]
    return event


def actions() -> list[str]:
    with operator_scope():
        return list(AuditEvent.objects.order_by("created_at").values_list("action", flat=True))


def text_of(browser: Client, path: str = LOG) -> str:
    answer = browser.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.mark.parametrize("role", ["owner", "admin", "member"])
def test_the_people_of_a_tenant_read_what_was_done_to_it_and_to_no_other(
    role: str, friend: Tenant, stranger: Tenant
) -> None:
    own, foreign = written(friend, "key.issued", "the-laptop"), written(stranger, "key.issued", "foreign-key")
    browser = person_of(friend, role)
    page = text_of(browser)
    assert "the-laptop" in page
    assert "foreign-key" not in page
    assert "the-laptop" in text_of(browser, f"{LOG}{own.id}/change/")
    assert browser.get(f"{LOG}{foreign.id}/change/").status_code == 404


def test_the_operator_reads_all_of_it(operator: Client, friend: Tenant, stranger: Tenant) -> None:
    written(friend, "key.issued", "the-laptop")
    written(stranger, "key.issued", "foreign-key")
    page = text_of(operator)
    assert "the-laptop" in page
    assert "foreign-key" in page
    assert "Stranger Ltd" in page


def test_not_even_an_operator_changes_it(operator: Client, friend: Tenant) -> None:
    event = written(friend, "key.issued")
    for browser in (operator, person_of(friend, "owner")):
        for path in (f"{LOG}add/", f"{LOG}{event.id}/change/", f"{LOG}{event.id}/delete/"):
            assert browser.post(path, {"actor": "nobody", "post": "yes"}).status_code == 403
        browser.post(LOG, {"action": "delete_selected", "_selected_action": str(event.id), "post": "yes"})
    with operator_scope():
        left = AuditEvent.objects.get(id=event.id)
    assert (left.actor, left.action) == (event.actor, event.action)


def test_it_is_narrowed_by_action_by_person_and_by_time(friend: Tenant) -> None:
    written(friend, "key.issued", "first-subject", actor="manage.py")
    written(friend, "limit.set", "second-subject", actor="Antiphon")
    with tenant_scope(friend.id):
        AuditEvent.objects.filter(action="limit.set").update(created_at="2020-01-01T00:00:00Z")
    browser = person_of(friend, "member")
    for query, is_second in (
        ("action=key.issued", False),
        ("action=limit.set", True),
        ("actor=Antiphon", True),
        ("actor=manage.py", False),
        ("days=7", False),
        ("q=second", True),
    ):
        page = text_of(browser, f"{LOG}?{query}")
        assert ("second-subject" in page) == is_second, query
        assert ("first-subject" in page) != is_second, query


def test_pages_are_turned_without_counting_the_table(friend: Tenant) -> None:
    for number in range(51):
        written(friend, "key.issued", f"subject-{number:03d}-")
    browser = person_of(friend, "member")
    with CaptureQueriesContext(
        connection,
    ) as queries:
        first = text_of(browser)
    assert not [query["sql"] for query in queries if "COUNT(" in query["sql"]]
    assert "subject-050-" in first
    assert "subject-000-" not in first
    assert ">Older<" in first
    assert ">Newer<" not in first
    second = text_of(browser, f"{LOG}?p=2")
    assert "subject-000-" in second
    assert "subject-050-" not in second
    assert ">Newer<" in second
    assert ">Older<" not in second


def test_details_are_told_in_words(friend: Tenant) -> None:
    event = written(
        friend, "limit.changed", before={"amount": 5, "is_hard": True}, key=None, models=["a", "<b>"]
    )
    page = text_of(person_of(friend, "member"), f"{LOG}{event.id}/change/")
    assert "<b>before amount</b> 5" in page
    assert "<b>before is hard</b> yes" in page
    assert "<b>key</b> –" in page
    assert "<b>models</b> a, &lt;b&gt;" in page
    assert facts([{"changed": {"fields": ["Name"]}}, {"added": {}}]) == [
        ("changed fields", "Name"),
        ("added", "–"),
    ]


def test_what_the_people_of_a_tenant_do_is_written_down_without_secrets(
    friend: Tenant, stranger: Tenant
) -> None:
    browser = person_of(friend, "owner")
    person_of(friend, "member", "leaver")
    issued = browser.post("/admin/tenants/apikey/add/", KEY).content.decode()
    with operator_scope():
        key = ApiKey.objects.get()
        leaving = Membership.objects.get(user__username="leaver")
    keys, limits = "/admin/tenants/apikey/", "/admin/tenants/limit/"
    browser.post(f"{keys}{key.id}/change/", {**KEY, "name": "renamed"})
    browser.post(f"{keys}{key.id}/rotate/", {"hours": "1"})
    browser.post(keys, {"action": "revoke_selected", "_selected_action": str(key.id), "confirmed": "yes"})
    browser.post(f"{limits}add/", {"metric": "requests_per_minute", "amount": "60", "key": "", "model": ""})
    with operator_scope():
        limit = Limit.objects.get(key=None)
    browser.post(f"{limits}{limit.pk}/change/", {"amount": "5"})
    browser.post(f"{limits}{limit.pk}/delete/", {"post": "yes"})
    browser.post("/admin/tenants/invitation/add/", {"email": "new@example.com", "role": "member"})
    with operator_scope():
        invitation = Invitation.objects.get()
    invited = "/admin/tenants/invitation/"
    browser.post(invited, {"action": "revoke", "_selected_action": str(invitation.pk)})
    browser.post(f"/admin/tenants/membership/{leaving.pk}/change/", {"role": "admin"})
    browser.post(f"/admin/tenants/membership/{leaving.pk}/delete/", {"post": "yes"})
    browser.post(f"/admin/tenants/tenant/{friend.id}/change/", {"name": friend.name, "retention_days": "9"})
    browser.post(page_of(store(friend)).replace("change", "delete"), {"post": "yes"})
    assert set(actions()) >= {
        "key.issued",
        "key.changed",
        "key.rotated",
        "key.revoked",
        "limit.set",
        "limit.changed",
        "limit.lifted",
        "member.invited",
        "invitation.revoked",
        "tenant.changed",
        "response.deleted",
    }
    assert len([action for action in actions() if action.startswith("member.")]) >= 3
    with operator_scope():
        rows = list(AuditEvent.objects.all())
    assert {row.tenant_id for row in rows} == {friend.id}
    assert {row.actor for row in rows} == {"owner-friend-&-sons@example.com"}
    told = " ".join(f"{row.subject} {row.details}" for row in rows)
    assert "ak_" in issued
    assert not [
        word for word in issued.replace("<", " ").replace(">", " ").split() if is_key(word) and word in told
    ]


def is_key(word: str) -> bool:
    return word.startswith("ak_") and len(word) > 40


def test_what_an_operator_does_is_written_down_without_secrets(operator: Client, friend: Tenant) -> None:
    operator.post("/admin/tenants/tenant/add/", {"name": "New Ltd", "retention_days": ""})
    assert operator.post("/admin/responses_api/backend/add/", BACKEND).status_code == 302
    backend = Backend.objects.get()
    operator.post(f"/admin/responses_api/backend/{backend.pk}/delete/", {"post": "yes"})
    form = {"username": "second", "usable_password": "true", "password1": PASSWORD, "password2": PASSWORD}
    operator.post("/admin/auth/user/add/", form)
    user = User.objects.get(username="second")
    operator.post(
        f"/admin/auth/user/{user.pk}/password/",
        {**form, "password1": PASSWORD + "2", "password2": PASSWORD + "2"},
    )
    operator.post(f"/admin/auth/user/{user.pk}/delete/", {"post": "yes"})
    assert set(actions()) >= {
        "tenant.made",
        "backend.made",
        "backend.deleted",
        "user.made",
        "user.changed",
        "user.deleted",
    }
    with operator_scope():
        told = " ".join(f"{row.subject} {row.details}" for row in AuditEvent.objects.all())
        assert {row.actor for row in AuditEvent.objects.all()} == {"operator"}
    assert PASSWORD not in told
    assert user.password not in told


def test_commands_write_it_too(db: None) -> None:
    out = StringIO()
    call_command("create_tenant", "acme", stdout=out)
    call_command("create_key", "acme", stdout=out)
    served = ["--kind", "chat_completions", "--base-url", "https://api.example.com/v1", "--model", "small"]
    for _ in range(2):
        call_command("add_backend", "example", *served, stdout=out)
    assert sorted(actions()) == [
        "backend.changed",
        "backend.made",
        "key.issued",
        "key.issued",
        "tenant.founded",
    ]
    with operator_scope():
        rows = list(AuditEvent.objects.all())
    assert {row.actor for row in rows} == {"manage.py"}
    told = " ".join(f"{row.subject} {row.details}" for row in rows)
    assert not [word for word in out.getvalue().split() if is_key(word) and word in told]
