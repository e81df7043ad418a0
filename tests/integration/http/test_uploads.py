"""Files that come in: what is kept of them, what is refused, and what is left of what breaks off."""

import asyncio
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from pytest_django import Settings

from responses_api.models import File, FileBlob, FileChunk
from responses_api.services import indexing, stored_files
from responses_api.services.database import in_database
from responses_api.services.identity import now
from responses_api.services.uploads import Upload
from tenants.keys import forget
from tenants.models import ApiKey, Tenant
from tenants.scoping import operator_scope, tenant_scope
from tests.integration.admin.people import person_of
from tests.integration.builders import stored_file
from tests.support.asgi import AsgiClient, AsgiServer
from tests.support.client import Answer, Client, wait_until
from tests.support.forms import BOUNDARY, HEADERS, file_part, form, part, send, upload

MEGABYTE = 1 << 20


def left_behind() -> tuple[int, int]:
    """How many files there are, those on their way included, and how many pieces."""
    with operator_scope():
        return File.everything.count(), FileBlob.objects.count()


@pytest.fixture
def unkept(friend: Client) -> Iterator[Client]:
    """The friend's client, of whose uploads nothing is left afterwards."""
    yield friend
    wait_until(lambda: left_behind() == (0, 0), timeout=5, what="nothing left")


def assert_refused(answer: Answer, status: int, param: str | None, *words: str) -> None:
    assert (answer.status, answer.error["param"]) == (status, param), answer.body
    assert answer.error["type"] == "invalid_request"
    for word in words:
        assert word in answer.error["message"]


def test_a_file_is_told_and_listed_and_comes_back_as_it_was(friend: Client, stranger: Client) -> None:
    content = bytes(range(256)) * 10_000
    made = upload(friend, content, "photos.bin").json()
    assert (made["filename"], made["bytes"], made["expires_at"]) == ("photos.bin", 2_560_000, None)
    assert abs(made["created_at"] - now()) < 60
    assert friend.get(f"/files/{made['id']}").json()["id"] == made["id"]
    assert [file["id"] for file in friend.get("/files").json()["data"]] == [made["id"]]
    down = friend.get(f"/files/{made['id']}/content")
    assert down.body == content
    assert down.headers["content-length"] == "2560000"
    assert down.headers["content-disposition"] == 'attachment; filename="photos.bin"'
    assert down.headers["x-content-type-options"] == "nosniff"
    head = friend.request("HEAD", f"/files/{made['id']}/content")
    assert (head.status, head.body, head.headers["content-length"]) == (200, b"", "2560000")
    assert stranger.get("/files").json()["data"] == []
    assert stranger.get(f"/files/{made['id']}/content").status == 404
    assert stranger.delete(f"/files/{made['id']}").status == 404
    assert friend.delete(f"/files/{made['id']}").json()["deleted"] is True
    assert left_behind() == (0, 0)


@pytest.mark.parametrize("size", [1, MEGABYTE - 1, MEGABYTE, MEGABYTE + 1, 3 * MEGABYTE])
def test_a_file_is_whole_at_every_edge_of_a_piece(size: int, friend: Client) -> None:
    content = (b"\r\n--" + BOUNDARY.encode()[:-1] + b"x") * (size // 11 + 1)
    made = upload(friend, content[:size]).json()
    assert made["bytes"] == size
    assert friend.get(f"/files/{made['id']}/content").body == content[:size]


def test_a_form_may_come_in_any_pieces_with_its_fields_behind_the_file(friend: Client) -> None:
    whole = form(file_part(b"a\r\nb"), part('name="purpose"', b"user_data"), part('name="other"', b"ignored"))
    answer = send(friend, *(whole[at : at + 1] for at in range(len(whole))))
    assert answer.status == 200
    assert friend.get(f"/files/{answer.json()['id']}/content").body == b"a\r\nb"


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd"),
        (r"C:\files\report.pdf", "report.pdf"),
        ("a\tb\x7f.txt", "ab.txt"),
        ("invoice\u202efdp.exe", "invoicefdp.exe"),
        ("\u2066x\u2069.txt", "x.txt"),
        ("say %22hi%22.txt", 'say "hi".txt'),
        ("übung 🏳️\u200d🌈.txt", "übung 🏳️\u200d🌈.txt"),
        ("cafe\u0301.txt", "café.txt"),
        ("n" * 255, "n" * 255),
    ],
)
def test_names_are_kept_without_folders_and_without_what_cannot_be_seen(
    sent: str, kept: str, friend: Client
) -> None:
    assert upload(friend, b"x", sent).json()["filename"] == kept


@pytest.mark.parametrize("name", ["", "..", "a/", "\u202e", "n" * 256])
def test_names_that_no_file_can_have_are_refused(name: str, unkept: Client) -> None:
    assert_refused(upload(unkept, b"x", name), 400, "file", "name")


@pytest.mark.parametrize(
    ("body", "status", "param"),
    [
        (form(file_part(b"x")), 400, "purpose"),
        (form(file_part(b"x"), purpose="batch"), 400, "purpose"),
        (form(purpose="user_data"), 400, "file"),
        (form(part('name="file"', b"x"), purpose="user_data"), 400, "file"),
        (form(file_part(b"x"), file_part(b"y"), purpose="user_data"), 400, "file"),
        (form(file_part(b""), purpose="user_data"), 400, "file"),
        (form(purpose="user_data" * 1000), 400, None),
        (form(*[part('name="a"', b"")] * 51), 400, None),
        (form(file_part(b"x"), purpose="user_data")[:-8], 400, None),
        (form(part("filename=a", b"x")), 400, None),
        (b"--other\r\n", 400, None),
        (b"", 400, None),
    ],
    ids=[
        "no purpose", "a purpose that is not served", "no file", "a field as file", "two files", "an empty file",
        "a long field", "many fields", "cut off", "no name", "another boundary", "nothing",
    ],
)  # fmt: skip
def test_a_form_that_is_not_right_is_refused_and_leaves_nothing(
    body: bytes, status: int, param: str | None, unkept: Client
) -> None:
    assert_refused(send(unkept, body), status, param)


@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": "application/json"},
        {"content-type": "multipart/form-data"},
        {"content-encoding": "gzip"},
    ],
)
def test_what_is_no_form_is_415(headers: dict[str, str], unkept: Client) -> None:
    body = form(file_part(b"x"), purpose="user_data")
    answer = unkept.request("POST", "/files", body, {**HEADERS, **headers})
    assert_refused(answer, 415, None)


@pytest.mark.parametrize("declares", [True, False])
def test_too_large_a_file_is_413_as_soon_as_it_is(declares: bool, unkept: Client, settings: Settings) -> None:
    settings.MAX_FILE_BYTES = 3 * MEGABYTE
    whole = form(file_part(bytes(3 * MEGABYTE + 1)), purpose="user_data")
    headers = {"content-length": str(len(whole))} if declares else {}
    assert_refused(send(unkept, whole, **headers), 413, "file", "3145728 bytes")
    # Its end never comes: the answer does not wait for it.
    endless = (form(file_part(bytes(3 * MEGABYTE + 1)))[:-30], *[bytes(MEGABYTE)] * 20)
    assert_refused(send(unkept, *endless, **headers), 413, "file")


def test_one_that_says_it_is_far_too_large_is_not_even_read(unkept: Client, settings: Settings) -> None:
    settings.MAX_FILE_BYTES = MEGABYTE
    answer = send(unkept, b"--", **{"content-length": str(100 * MEGABYTE)})
    assert_refused(answer, 413, "file", "1048576 bytes")


def test_a_large_file_takes_the_memory_of_a_few_pieces(friend: Client) -> None:
    # The least of three: what this process does beside it, such as to load a model, is not the file's.
    assert min(most_memory(friend) for _ in range(3)) < 12 * MEGABYTE


def most_memory(client: Client) -> int:
    """What an upload of 40 megabytes takes at most, with all that is done meanwhile."""
    piece = bytes(64 * 1024)
    # Of a purpose for which no reader takes it up, and has it whole.
    begin, end = form(file_part(b""), purpose="vision").split(b"\r\n\r\n\r\n")
    pieces = (begin + b"\r\n\r\n", *[piece] * 640, b"\r\n" + end)
    tracemalloc.start()
    try:
        answer = send(client, *pieces)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (answer.status, answer.json()["bytes"]) == (200, 40 * MEGABYTE)
    return most


def test_a_tenants_files_have_room_together(friend: Client, stranger: Client, settings: Settings) -> None:
    settings.TENANT_FILE_BYTES = 2 * MEGABYTE
    first = upload(friend, bytes(MEGABYTE)).json()
    answer = upload(friend, bytes(MEGABYTE + 1))
    assert_refused(answer, 413, "file", "2097152 bytes", "delete some")
    assert answer.error["code"] == "storage_full"
    assert upload(friend, bytes(MEGABYTE)).status == 200
    assert upload(friend, b"x").error["code"] == "storage_full"
    assert upload(stranger, bytes(2 * MEGABYTE)).status == 200
    friend.delete(f"/files/{first['id']}")
    assert upload(friend, bytes(MEGABYTE)).status == 200


def test_those_on_their_way_hold_their_room(
    friend: Client, friend_tenant: Tenant, settings: Settings
) -> None:
    settings.TENANT_FILE_BYTES = 2 * MEGABYTE
    first = Upload(friend_tenant.id)
    first.begin("first.txt", "", 2 * MEGABYTE)
    assert upload(friend, b"x").error["code"] == "storage_full"
    first.abandon()
    assert upload(friend, b"x").status == 200


def test_no_bound_is_no_bound(friend: Client, settings: Settings) -> None:
    settings.TENANT_FILE_BYTES = None
    assert upload(friend, bytes(MEGABYTE)).status == 200


def test_an_upload_whose_client_leaves_is_deleted(unkept: Client, server: AsgiServer) -> None:
    body = form(file_part(bytes(2 * MEGABYTE)))[:-30]
    begun: list[int] = []

    async def receive() -> Any:
        if not begun:
            begun.append(0)
            return {"type": "http.request", "body": body, "more_body": True}
        begun.append((await in_database(left_behind))[1])
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        raise AssertionError(message)

    assert isinstance(unkept, AsgiClient)
    scope = unkept._scope("POST", "/files", HEADERS, True)
    server.run(server.application(scope, receive, send)).result(10)
    assert begun == [0, 1]


def test_one_on_its_way_is_nobodys_to_see(friend: Client, friend_tenant: Tenant) -> None:
    made = stored_file(friend_tenant)
    with operator_scope():
        File.everything.update(status="uploading")
    assert friend.get("/files").json()["data"] == []
    for method, path in (("GET", ""), ("GET", "/content"), ("DELETE", "")):
        assert friend.request(method, f"/files/{made['id']}{path}").status == 404


def test_a_tenant_that_keeps_nothing_uploads_nothing(unkept: Client, friend_tenant: Tenant) -> None:
    with operator_scope():
        Tenant.objects.filter(id=friend_tenant.id).update(zero_data_retention=True)
    forget()
    answer = upload(unkept, b"x")
    assert_refused(answer, 400, "file", "zero data retention")
    assert answer.error["code"] == "unsupported_value"


def test_a_file_expires_when_it_was_said(friend: Client) -> None:
    fields = {"purpose": "user_data", "expires_after[anchor]": "created_at", "expires_after[seconds]": "3600"}
    made = send(friend, form(file_part(b"x"), **fields)).json()
    assert made["expires_at"] == made["created_at"] + 3600
    upload(friend, b"it stays")
    with operator_scope():
        File.everything.filter(id=made["id"]).update(expires_at=now() - 1)
    assert friend.get(f"/files/{made['id']}").status == 404
    assert len(friend.get("/files").json()["data"]) == 1
    assert stored_files.purge() == 1
    assert left_behind() == (1, 1)


@pytest.mark.parametrize(
    ("anchor", "seconds", "param"),
    [
        ("last_active_at", "3600", "expires_after[anchor]"),
        (None, "3600", "expires_after[anchor]"),
        ("created_at", None, "expires_after[seconds]"),
        ("created_at", "3599", "expires_after[seconds]"),
        ("created_at", "2592001", "expires_after[seconds]"),
        ("created_at", "1e4", "expires_after[seconds]"),
        ("created_at", "٣٦٠٠", "expires_after[seconds]"),
    ],
)
def test_an_expiry_that_makes_no_sense_is_refused(
    anchor: str | None, seconds: str | None, param: str, unkept: Client
) -> None:
    told = {"expires_after[anchor]": anchor, "expires_after[seconds]": seconds, "purpose": "user_data"}
    fields = {name: value for name, value in told.items() if value is not None}
    assert_refused(send(unkept, form(file_part(b"x"), **fields)), 400, param)


def test_what_was_left_of_an_upload_is_deleted_after_a_while(friend_tenant: Tenant) -> None:
    stored_file(friend_tenant)
    stored_file(friend_tenant)
    with operator_scope():
        older = File.everything.order_by("id").first()
        assert older is not None
        File.everything.filter(id=older.id).update(status="uploading", created_at=now() - 4000)
        File.everything.exclude(id=older.id).update(status="uploading")
    assert stored_files.purge() == 1
    assert left_behind() == (1, 1)


def test_a_list_is_paged_in_both_orders_and_by_purpose(friend: Client, friend_tenant: Tenant) -> None:
    ids = [
        stored_file(friend_tenant, purpose=purpose)["id"]
        for purpose in ("assistants", "user_data", "user_data", "vision", "user_data")
    ]
    first = friend.get("/files?limit=2").json()
    assert [file["id"] for file in first["data"]] == ids[:2:-1]
    assert (first["first_id"], first["last_id"], first["has_more"]) == (ids[4], ids[3], True)
    rest = friend.get(f"/files?after={first['last_id']}").json()
    assert ([file["id"] for file in rest["data"]], rest["has_more"]) == (ids[2::-1], False)
    named = friend.get("/files?purpose=user_data&order=asc").json()
    assert [file["id"] for file in named["data"]] == [ids[1], ids[2], ids[4]]
    for wrong in ("limit=0", "limit=10001", "order=up", "purpose=batch", "after=file_1"):
        assert friend.get(f"/files?{wrong}").error["param"] == wrong.partition("=")[0]


def test_a_file_for_models_to_see_is_not_read(friend: Client) -> None:
    assert upload(friend, b"x", "a.png", "vision").json()["status"] == "processed"


def test_a_worker_reads_what_was_uploaded(friend: Client) -> None:
    made = upload(friend, b"Herons wade.").json()
    assert made["status"] == "uploaded"
    wait_until(
        lambda: friend.get(f"/files/{made['id']}").json()["status"] == "processed",
        timeout=10,
        what="a worker",
    )


def test_deleting_a_file_takes_everything_of_it_along(friend: Client, friend_tenant: Tenant) -> None:
    made = stored_file(friend_tenant)
    indexing.store_chunks(friend_tenant.id, made["id"], [indexing.NewChunk("Herons wade.", 1, ("Birds",))])
    friend.delete(f"/files/{made['id']}")
    with tenant_scope(friend_tenant.id):
        assert FileChunk.objects.count() == 0
    assert left_behind() == (0, 0)


def test_a_key_that_has_expired_uploads_nothing(unkept: Client, friend_tenant: Tenant) -> None:
    with operator_scope():
        ApiKey.objects.update(expires_at=datetime(2026, 1, 1, tzinfo=UTC))
    forget()
    assert upload(unkept, b"x").status == 401


def test_a_person_downloads_what_a_key_uploaded(friend: Client, friend_tenant: Tenant) -> None:
    content = bytes(range(256)) * 6000
    made = upload(friend, content).json()
    browser = person_of(friend_tenant, "member")
    answer: Any = browser.post(f"/admin/responses_api/file/{made['id']}/content/")

    async def whole() -> bytes:
        return b"".join([piece async for piece in answer.streaming_content])

    assert answer.headers["Content-Length"] == str(len(content))
    assert asyncio.run(whole()) == content
