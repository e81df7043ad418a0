"""Files in the admin: who sees, uploads, downloads and deletes whose, and what is written down of it."""

import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from responses_api.admin.file_form import FileForm
from responses_api.models import File, FileBlob
from responses_api.protocol.files import PURPOSES
from responses_api.services import indexing
from tenants.keys import new_key
from tenants.models import AuditEvent, Tenant
from tenants.scoping import operator_scope, tenant_scope
from tests.integration.admin.people import person_of
from tests.integration.builders import stored_file

FILES = "/admin/responses_api/file/"


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody reads the files of these tests."""
    monkeypatch.setattr("responses_api.services.uploads.ask", lambda: None)


def sent(content: bytes = b"Herons wade.", name: str = "herons.txt", **fields: str) -> dict[str, Any]:
    return {"file": SimpleUploadedFile(name, content, "text/plain"), "purpose": "user_data", **fields}


def text_of(browser: Client, path: str = FILES) -> str:
    answer = browser.get(path)
    assert answer.status_code == 200, answer
    return answer.content.decode()


def files() -> list[tuple[str, str]]:
    with operator_scope():
        return list(File.objects.order_by("id").values_list("tenant__name", "filename"))


def actions() -> list[tuple[str, str, str]]:
    with operator_scope():
        rows = AuditEvent.objects.filter(action__startswith="file.").order_by("created_at")
        return list(rows.values_list("action", "subject", "actor"))


def test_the_purposes_of_the_form_are_those_of_the_api() -> None:
    assert {name for name, _ in FileForm.base_fields["purpose"].choices} == {*PURPOSES}  # type: ignore[attr-defined]


@pytest.mark.parametrize("role", ["owner", "admin", "member"])
def test_the_people_of_a_tenant_see_its_files_and_no_others(
    role: str, friend: Tenant, stranger: Tenant
) -> None:
    own, foreign = stored_file(friend, "own.txt"), stored_file(stranger, "foreign.txt")
    indexing.fail(friend.id, own["id"], "The PDF is broken.")
    browser = person_of(friend, role)
    page = text_of(browser)
    assert "own.txt" in page
    assert "foreign.txt" not in page
    one = text_of(browser, f"{FILES}{own['id']}/change/")
    assert "The PDF is broken." in one
    assert "12\xa0bytes" in one
    assert browser.get(f"{FILES}{foreign['id']}/change/").status_code == 404


def test_the_operator_sees_whose_each_is(operator: Client, friend: Tenant, stranger: Tenant) -> None:
    stored_file(friend, "own.txt")
    stored_file(stranger, "foreign.txt")
    page = text_of(operator)
    assert all(text in page for text in ("own.txt", "foreign.txt", "Friend &amp; Sons", "Stranger Ltd"))


@pytest.mark.parametrize("role", ["owner", "admin"])
def test_owners_and_admins_upload(role: str, friend: Tenant, stranger: Tenant) -> None:
    answer = person_of(friend, role, "berta").post(f"{FILES}add/", sent(name="../Über mich.txt"))
    assert answer.status_code == 302, answer.content
    assert files() == [("Friend & Sons", "Über mich.txt")]
    with tenant_scope(friend.id):
        row = File.objects.get()
        assert bytes(FileBlob.objects.get().data) == b"Herons wade."
    assert (row.status, row.media_type, row.uploaded_by) == ("uploaded", "text/plain", "berta@example.com")
    assert actions() == [("file.uploaded", "Über mich.txt", "berta@example.com")]


def test_the_operator_uploads_for_a_tenant(operator: Client, friend: Tenant, stranger: Tenant) -> None:
    assert operator.post(f"{FILES}add/", sent()).status_code == 200  # whose would it be?
    assert operator.post(f"{FILES}add/", sent(tenant=str(friend.id))).status_code == 302
    assert files() == [("Friend & Sons", "herons.txt")]


def test_members_only_look_and_download(friend: Tenant) -> None:
    own = stored_file(friend)
    browser = person_of(friend, "member")
    assert "Download" in text_of(browser, f"{FILES}{own['id']}/change/")
    for path in ("add/", f"{own['id']}/delete/"):
        assert browser.get(f"{FILES}{path}").status_code == 403
        assert browser.post(f"{FILES}{path}", sent(post="yes")).status_code == 403
    assert len(files()) == 1


def test_a_download_is_the_file_and_is_written_down(friend: Tenant, stranger: Tenant) -> None:
    own = stored_file(friend, "über.html", b"<script>alert(1)</script>")
    path = f"{FILES}{own['id']}/content/"
    browser = person_of(friend, "member", "max")
    assert browser.get(path).status_code == 404
    answer: Any = browser.post(path)
    assert answer.headers["Content-Disposition"] == "attachment; filename*=utf-8''%C3%BCber.html"
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert actions() == [("file.downloaded", "über.html", "max@example.com")]
    assert person_of(stranger, "owner").post(path).status_code == 404
    answer.close()


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (b"x" * 101, "a.txt", "larger than the 100 bytes"),
        (b"x" * 61, "a.txt", "delete some first"),
    ],
)
def test_what_the_api_refuses_is_refused_beside_the_field(
    content: bytes, name: str, words: str, friend: Tenant, settings: Settings
) -> None:
    settings.MAX_FILE_BYTES, settings.TENANT_FILE_BYTES = 100, 100
    stored_file(friend, content=b"y" * 40)
    answer = person_of(friend, "owner").post(f"{FILES}add/", sent(content, name))
    assert answer.status_code == 200
    assert words in answer.content.decode()
    assert len(files()) == 1


def test_a_tenant_that_keeps_nothing_uploads_nothing(friend: Tenant) -> None:
    with operator_scope():
        Tenant.objects.filter(id=friend.id).update(zero_data_retention=True)
    answer = person_of(friend, "owner").post(f"{FILES}add/", sent())
    assert "zero data retention" in answer.content.decode()
    assert files() == []


def test_deleting_takes_the_content_along_and_is_written_down(friend: Tenant, stranger: Tenant) -> None:
    own, foreign = stored_file(friend, "own.txt"), stored_file(stranger)
    browser = person_of(friend, "owner", "berta")
    assert "own.txt" in text_of(browser, f"{FILES}{own['id']}/delete/")
    assert browser.post(f"{FILES}{foreign['id']}/delete/", {"post": "yes"}).status_code == 404
    assert browser.post(f"{FILES}{own['id']}/delete/", {"post": "yes"}).status_code == 302
    assert files() == [("Stranger Ltd", "herons.txt")]
    with operator_scope():
        assert FileBlob.objects.count() == 1
    assert actions() == [("file.deleted", "own.txt", "berta@example.com")]


def test_selected_ones_are_deleted_together(friend: Tenant) -> None:
    ids = [stored_file(friend, f"{n}.txt")["id"] for n in range(3)]
    asked = {"action": "delete_selected", "_selected_action": ids[:2], "post": "yes"}
    assert person_of(friend, "admin").post(FILES, asked).status_code == 302
    assert files() == [("Friend & Sons", "2.txt")]
    assert [action for action, _, _ in actions()] == ["file.deleted"] * 2


def test_a_page_of_the_list_takes_as_many_queries_whatever_it_shows(friend: Tenant) -> None:
    browser = person_of(friend, "owner")
    keys = [new_key(friend, name=f"key {n}")[0] for n in range(3)]
    counts = []
    for _ in range(2):
        with CaptureQueriesContext(connection) as captured:
            page = text_of(browser)
        counts.append(len(captured))
        for n in range(6):
            made = stored_file(friend, f"{n}.txt")
            with tenant_scope(friend.id):
                File.objects.filter(id=made["id"]).update(key_id=keys[n % 3].id)
    page = text_of(browser)
    assert "key 2" in page
    with CaptureQueriesContext(connection) as captured:
        text_of(browser)
    assert len(captured) <= counts[1] + 1
    assert not any("fileblob" in query["sql"] for query in captured.captured_queries)


def test_a_tenants_page_says_how_much_its_files_take(friend: Tenant, settings: Settings) -> None:
    settings.TENANT_FILE_BYTES = 1 << 20
    stored_file(friend, content=bytes(1 << 18))
    page = text_of(person_of(friend, "owner"), f"/admin/tenants/tenant/{friend.id}/change/")
    assert re.search(r"256\.0\s*KB of 1\.0\s*MB", page)
