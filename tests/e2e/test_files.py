"""Files, by the official `openai` client and by raw bytes, against the running service."""

import hashlib
import io
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator

import openai
import pytest

from tests.e2e.web import StartWeb, resident
from tests.support.client import Client, wait_until
from tests.support.service import Service

MEGABYTE = 1 << 20


class Measured(io.RawIOBase):
    """A file of so many random-looking bytes that is made while it is read."""

    def __init__(self, size: int) -> None:
        self.left = size
        self.digest = hashlib.sha256()
        self._piece = os.urandom(MEGABYTE)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        wanted = self.left if size < 0 else min(size, self.left)
        piece = (self._piece * (wanted // MEGABYTE + 1))[:wanted]
        self.left -= wanted
        self.digest.update(piece)
        return piece


def test_a_file_goes_up_is_found_and_comes_down_again_and_is_deleted(app: openai.OpenAI) -> None:
    content = b"The heron stands in the shallows.\r\n--\r\n" * 100
    made = app.files.create(
        file=("../über “heron”.txt", content),
        purpose="user_data",
        expires_after={"anchor": "created_at", "seconds": 3600},
    )
    assert (made.object, made.filename, made.bytes) == ("file", "über “heron”.txt", len(content))
    assert (made.purpose, made.expires_at) == ("user_data", made.created_at + 3600)
    assert app.files.retrieve(made.id).filename == made.filename
    assert (
        app.files.wait_for_processing(made.id, poll_interval=0.2, max_wait_seconds=40).status == "processed"
    )
    assert made.id in [file.id for file in app.files.list(purpose="user_data")]
    downloaded = app.files.content(made.id)
    assert downloaded.content == content
    assert downloaded.response.headers["content-disposition"].startswith("attachment; filename*=utf-8''")
    assert downloaded.response.headers["x-content-type-options"] == "nosniff"
    deleted = app.files.delete(made.id)
    assert (deleted.id, deleted.deleted) == (made.id, True)
    for gone in (app.files.retrieve, app.files.content, app.files.delete):
        with pytest.raises(openai.NotFoundError):
            gone(made.id)


def test_a_list_of_files_is_paged_by_the_client(app: openai.OpenAI) -> None:
    made = [app.files.create(file=(f"{n}.txt", b"x"), purpose="assistants").id for n in range(5)]
    found = [file.id for file in app.files.list(purpose="assistants", limit=2)]
    assert [file_id for file_id in found if file_id in made] == made[::-1]
    oldest_first = [file.id for file in app.files.list(purpose="assistants", limit=2, order="asc")]
    assert oldest_first == found[::-1]


def test_the_same_content_again_is_another_file(app: openai.OpenAI) -> None:
    first, second = (app.files.create(file=("a.txt", b"the same"), purpose="user_data") for _ in range(2))
    assert first.id != second.id
    app.files.delete(first.id)
    assert app.files.content(second.id).content == b"the same"


def test_files_of_another_tenant_are_not_there(app: openai.OpenAI, stranger_app: openai.OpenAI) -> None:
    made = app.files.create(file=("a.txt", b"mine"), purpose="user_data")
    for hidden in (stranger_app.files.retrieve, stranger_app.files.content, stranger_app.files.delete):
        with pytest.raises(openai.NotFoundError) as refused:
            hidden(made.id)
        assert refused.value.body == {
            "message": f"File with id '{made.id}' not found.",
            "type": "not_found",
            "param": None,
            "code": None,
        }
    assert list(stranger_app.files.list()) == []
    assert app.files.content(made.id).content == b"mine"


def test_a_large_file_takes_little_memory_and_comes_back_as_it_was(
    service: Service, start_web: StartWeb, record_property: Callable[[str, object], None]
) -> None:
    web = start_web()
    before, most = resident(web), [0]
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.02):
            most[0] = max(most[0], resident(web))

    watching = threading.Thread(target=watch)
    watching.start()
    begun = time.monotonic()
    with openai.OpenAI(base_url=web.name, api_key=service.friend.key, max_retries=0, timeout=60) as client:
        content = Measured(60 * MEGABYTE)
        made = client.files.create(file=("large.bin", content.read()), purpose="user_data")
        uploaded = time.monotonic()
        digest = hashlib.sha256()
        with client.files.with_streaming_response.content(made.id) as answer:
            for piece in answer.iter_bytes():
                digest.update(piece)
        downloaded = time.monotonic()
        client.files.delete(made.id)
    over.set()
    watching.join()
    assert digest.digest() == content.digest.digest()
    record_property("60 MB up", f"{uploaded - begun:.1f} s")
    record_property("60 MB down", f"{downloaded - uploaded:.1f} s")
    record_property("memory of the web process", f"+{(most[0] - before) / MEGABYTE:.0f} MB")
    assert most[0] - before < 40 * MEGABYTE


def test_too_large_a_file_is_refused_at_once_where_its_size_is_told(
    service: Service, start_web: StartWeb
) -> None:
    web = start_web()
    before = resident(web)
    with (
        openai.OpenAI(base_url=web.name, api_key=service.friend.key, max_retries=0, timeout=60) as client,
        pytest.raises(openai.APIStatusError) as refused,
    ):
        client.files.create(file=("large.bin", bytes(100 * MEGABYTE)), purpose="user_data")
    assert refused.value.status_code == 413
    assert "larger than the 67108864 bytes" in str(refused.value)
    assert resident(web) - before < 40 * MEGABYTE


def chunked(service: Service, pieces: Iterator[bytes]) -> bytes:
    """Send a form with a file without saying how large it is; what the server answered, and whether it closed."""
    head = (
        f"POST /v1/files HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {service.friend.key}\r\n"
        "Content-Type: multipart/form-data; boundary=b\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    begin = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
    with socket.create_connection(("127.0.0.1", service.port), timeout=20) as peer:
        peer.sendall(head.encode() + b"%x\r\n%b\r\n" % (len(begin), begin))
        for piece in pieces:
            try:
                peer.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))
            except OSError:
                break
        answer = b""
        while data := peer.recv(65536):
            answer += data
    return answer


def test_too_large_a_file_is_refused_where_its_size_is_not_told(service: Service, friend: Client) -> None:
    piece = bytes(MEGABYTE)
    answer = chunked(service, (piece for _ in range(100)))
    assert answer.startswith(b"HTTP/1.1 413 "), answer[:500]
    assert b"connection: close" in answer.lower()
    assert b"larger than the 67108864 bytes" in answer


def test_an_upload_that_breaks_off_leaves_nothing(service: Service, friend: Client) -> None:
    head = (
        f"POST /v1/files HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {friend.key}\r\n"
        "Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 50000000\r\n\r\n"
        '--b\r\nContent-Disposition: form-data; name="file"; filename="broken"\r\n\r\n'
    )
    mark = service.mark()
    with socket.create_connection(("127.0.0.1", service.port), timeout=20) as peer:
        peer.sendall(head.encode() + bytes(3 * MEGABYTE))
    wait_until(lambda: "client left" in service.logs(mark), timeout=10, what="the web process noticing")


def test_a_refusal_before_the_body_reaches_a_client_that_goes_on_sending(service: Service) -> None:
    head = (
        "POST /v1/files HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ak_none\r\n"
        "Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 50000000\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", service.port), timeout=20) as peer:
        peer.sendall(head.encode())
        for _ in range(50):
            peer.sendall(bytes(1_000_000))
        answer = b""
        while data := peer.recv(65536):
            answer += data
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert answer.count(b"HTTP/1.1") == 1
