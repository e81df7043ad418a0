"""A tenant's data as a whole: purged, exported, deleted by its owner, and by nobody else."""

import asyncio
import io
import json
import zipfile
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client as Browser
from django.utils import timezone

from responses_api.models import Item, Response
from responses_api.services.housekeeping import purge_and_tell
from responses_api.services.identity import now
from responses_api.services.tenant_end import end_asked_for
from tenants.keys import find_principal, forget
from tenants.models import AuditEvent, Membership, Tenant
from tenants.scoping import operator_scope, tenant_scope
from tests.isolation.world import Estate, make_estate, tenant_tables
from tests.support.tenants import tenant_names
from workers.tasks import end_tenant, purge_tenant

TENANTS = "/admin/tenants/tenant/"


@pytest.fixture
def friend(database: None) -> Estate:
    """A tenant with one of everything."""
    forget()
    return make_estate("friend")


@pytest.fixture
def stranger(database: None) -> Estate:
    """Another one."""
    return make_estate("stranger")


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[Any, ...]]]:
    """The tasks that were sent to the broker, instead of sending them."""
    tasks: list[tuple[str, tuple[Any, ...]]] = []
    monkeypatch.setattr(
        "responses_api.services.housekeeping._send", lambda name, *args: tasks.append((name, args))
    )
    return tasks


def browser_of(user: User) -> Browser:
    browser = Browser()
    browser.force_login(user)
    return browser


def page(estate: Estate, name: str) -> str:
    return f"{TENANTS}{estate.tenant.id}/{name}/"


def actions(tenant: Tenant | None) -> list[str]:
    with operator_scope():
        return list(AuditEvent.objects.filter(tenant=tenant).values_list("action", flat=True))


def an_admin_of(estate: Estate) -> User:
    user = User.objects.create_user(f"admin-{estate.mark}", email=f"admin@{estate.mark}.example")
    with tenant_scope(estate.tenant.id):
        Membership.objects.create(tenant=estate.tenant, user=user, role="admin")
    return user


def count(model: Any, estate: Estate) -> int:
    with tenant_scope(estate.tenant.id):
        return int(model.objects.count())


def test_whoever_belongs_to_a_tenant_is_shown_that_one(friend: Estate, stranger: Estate) -> None:
    for user in (friend.owner, friend.member):
        browser = browser_of(user)
        assert browser.get(TENANTS).headers["Location"] == page(friend, "change")
        shown = browser.get(page(friend, "change")).content.decode()
        assert friend.mark in shown
        assert ("Delete this tenant" in shown) == (user == friend.owner)


def test_an_owner_changes_how_long_things_are_kept(friend: Estate) -> None:
    principal = find_principal(friend.key_text)
    assert principal is not None
    assert not principal.zero_data_retention
    form = {"name": friend.mark, "retention_days": "30", "zero_data_retention": "on", "is_active": ""}
    assert browser_of(friend.owner).post(page(friend, "change"), form).status_code == 302
    with operator_scope():
        row = Tenant.objects.get(id=friend.tenant.id)
        event = AuditEvent.objects.get(action="tenant.changed")
    assert (row.retention_days, row.zero_data_retention, row.is_active) == (30, True, True)
    assert event.details == {"retention_days": 30, "zero_data_retention": True}
    assert event.actor == friend.owner.email


@pytest.mark.parametrize("days", ["0", "36501", "-1", "x", ""])
def test_a_retention_that_is_none_is_refused(friend: Estate, days: str) -> None:
    form = {"name": friend.mark, "retention_days": days}
    answered = browser_of(friend.owner).post(page(friend, "change"), form)
    assert (answered.status_code == 302) == (days == "")


def test_members_and_admins_only_look(friend: Estate, sent: list[Any]) -> None:
    for user in (friend.member, an_admin_of(friend)):
        browser = browser_of(user)
        for name, form in (
            ("change", {"name": "Mine"}),
            ("purge", {"days": "0"}),
            ("end", {"name": friend.mark}),
        ):
            assert browser.post(page(friend, name), form).status_code == 403
        assert browser.post(page(friend, "export")).status_code == 403
    assert sent == []
    assert tenant_names() == [friend.mark]


def test_an_owner_purges_and_reads_in_the_audit_log_how_many_there_were(
    friend: Estate, stranger: Estate, sent: list[Any]
) -> None:
    owner = browser_of(friend.owner)
    assert "older than this are deleted" in owner.get(page(friend, "purge")).content.decode()
    assert owner.post(page(friend, "purge"), {"days": "x"}).status_code == 400
    assert owner.post(page(friend, "purge"), {"days": "0"}).status_code == 302
    ((name, args),) = sent
    assert name == purge_tenant.name
    purge_tenant.run(*args)
    assert (count(Response, friend), count(Response, stranger)) == (0, 2)
    assert actions(friend.tenant)[:2] == ["tenant.purged", "tenant.purge_asked"]
    with operator_scope():
        assert AuditEvent.objects.get(action="tenant.purged").details["responses"] == 2


def test_what_is_younger_stays(friend: Estate) -> None:
    assert purge_and_tell(friend.tenant.id, now() - 60) == 0
    assert count(Response, friend) == 2


def test_a_queue_that_is_away_is_told(friend: Estate, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise ConnectionError("broker")

    monkeypatch.setattr("responses_api.services.housekeeping._send", fail)
    answered = browser_of(friend.owner).post(page(friend, "purge"), {"days": "0"})
    assert answered.status_code == 400
    assert "nothing was deleted" in answered.content.decode()


def exported(browser: Browser, estate: Estate) -> tuple[bytes, dict[str, Any]]:
    answered: Any = browser.post(page(estate, "export"))
    assert answered.status_code == 200, answered.content

    async def whole() -> bytes:
        return b"".join([piece async for piece in answered.streaming_content])

    raw = asyncio.run(whole())
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        files = {
            name.removesuffix(".jsonl"): [json.loads(line) for line in archive.read(name).splitlines()]
            if name.endswith(".jsonl")
            else archive.read(name).decode()
            for name in archive.namelist()
        }
    return raw, files


def test_an_owner_exports_everything_and_nothing_else(friend: Estate, stranger: Estate) -> None:
    _, files = exported(browser_of(friend.owner), friend)
    text = json.dumps(files)
    assert [row["id"] for row in files["responses"]] == [friend.response_id, friend.continued_id]
    assert files["responses"][0]["output"][0]["content"][0]["text"] == f"answer {friend.mark}"
    assert len(files["items"]) == count(Item, friend) == 4
    assert {row["email"] for row in files["members"]} == {friend.owner.email, friend.member.email}
    lengths = {
        name: len(files[name]) for name in ("tenant", "keys", "limits", "policies", "usage", "invitations")
    }
    assert lengths == {"tenant": 1, "keys": 2, "limits": 1, "policies": 1, "usage": 2, "invitations": 1}
    (file,), (chunk,) = files["files"], files["chunks"]
    assert (file["id"], file["filename"]) == (friend.file_id, f"file {friend.mark}")
    assert (chunk["file_id"], chunk["text"]) == (friend.file_id, f"chunk {friend.mark}")
    assert files[f"files/{friend.file_id}/file {friend.mark}"] == f"content {friend.mark}"
    assert stranger.mark not in text
    assert "digest" not in text
    assert friend.key_text not in text
    assert actions(friend.tenant)[0] == "tenant.exported"


def test_an_export_reads_on_where_it_stopped(friend: Estate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("responses_api.services.tenant_export._AT_ONCE", 1)
    _, files = exported(browser_of(friend.owner), friend)
    assert len(files["items"]) == 4
    assert len(files["keys"]) == 2


def test_the_wrong_name_deletes_nothing(friend: Estate, sent: list[Any]) -> None:
    answered = browser_of(friend.owner).post(page(friend, "end"), {"name": "something"})
    assert answered.status_code == 400
    assert sent == []
    assert find_principal(friend.key_text) is not None


def test_a_tenant_is_out_at_once_and_gone_with_everything_in_the_end(
    friend: Estate, stranger: Estate, sent: list[Any], settings: Any
) -> None:
    owner = browser_of(friend.owner)
    foreign = stranger.fingerprint()
    assert owner.post(page(friend, "end"), {"name": friend.mark}).status_code == 302
    forget()
    assert find_principal(friend.key_text) is None
    assert owner.get("/admin/").status_code == 302
    ((name, args),) = sent
    assert name == end_tenant.name
    end_tenant.run(*args)
    # What it stored is gone; its row stays as long as something that ran could still end.
    assert count(Response, friend) == 0
    assert friend.mark in tenant_names()
    with operator_scope():
        long_ago = timezone.now() - timedelta(seconds=settings.RESPONSE_SECONDS + 3600)
        Tenant.objects.filter(id=friend.tenant.id).update(deletion_asked_at=long_ago)
    assert end_asked_for() == 1
    with tenant_scope(friend.tenant.id):
        left = {table for table, column in tenant_tables() if _rows(table, column, friend)}
    assert left == set()
    assert tenant_names() == [stranger.mark]
    assert stranger.fingerprint() == foreign
    assert actions(None) == ["tenant.deleted"]
    assert end_asked_for() == 0


def test_a_tenant_that_is_being_deleted_is_not_switched_on_again(
    friend: Estate, sent: list[Any], admin_client: Browser
) -> None:
    browser_of(friend.owner).post(page(friend, "end"), {"name": friend.mark})
    form = {"name": friend.mark, "is_active": "on"}
    assert admin_client.post(page(friend, "change"), form).status_code == 403
    assert "being deleted" in admin_client.get(TENANTS).content.decode()
    with operator_scope():
        assert not Tenant.objects.get(id=friend.tenant.id).is_active


def test_a_response_that_runs_does_not_outlive_its_tenant(friend: Estate, sent: list[Any]) -> None:
    with tenant_scope(friend.tenant.id):
        row = Response.objects.get(id=friend.response_id)
        row.status, row.request = "queued", {**row.request, "background": True}
        row.save()
    browser_of(friend.owner).post(page(friend, "end"), {"name": friend.mark})
    end_tenant.run(str(friend.tenant.id))
    assert count(Response, friend) == 0


def _rows(table: str, column: str, estate: Estate) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f'SELECT count(*) FROM "{table}" WHERE {column} = %s', [estate.tenant.id])
        return int(cursor.fetchone()[0])
