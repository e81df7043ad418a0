"""`/openapi.json`, `/docs` and `/llms.txt`: there for everybody, cheap to ask again, and from nowhere else."""

import gzip
import re

import pytest

from responses_api.http.reference.calls import CALLS
from responses_api.http.reference.document import document
from responses_api.http.reference.events import events
from responses_api.http.reference.refusals import EVERY
from tests.support.client import Client

PAGES = ("/openapi.json", "/docs", "/llms.txt")
ADDRESS = re.compile(r"""(?:src|href)="([^"#]+)""")


@pytest.mark.parametrize("path", PAGES)
def test_it_needs_no_key_and_any_host_has_it(path: str, root: Client) -> None:
    for address in (path, path + "/"):
        answer = root.request("GET", address, headers={"host": "10.1.2.3:8000"})
        assert answer.status == 200
        assert answer.body
    assert root.request("HEAD", path).status == 200
    wrong_key = root.request("GET", path, headers={"authorization": "Bearer ak_unknown"})
    assert wrong_key.body == root.get(path).body


@pytest.mark.parametrize("path", PAGES)
def test_it_can_only_be_read(path: str, root: Client) -> None:
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        answer = root.request(method, path, {})
        assert (answer.status, answer.error["type"], answer.headers["allow"]) == (
            405,
            "invalid_request",
            "GET, HEAD",
        )


def test_openapi_is_json_of_this_very_service(root: Client) -> None:
    answer = root.get("/openapi.json")
    assert answer.headers["content-type"] == "application/json"
    assert answer.body == document()
    assert answer.json()["servers"][0]["url"] == "/"


@pytest.mark.parametrize("path", ["/openapi.json", "/llms.txt"])
def test_who_has_it_is_told_so_without_a_body(path: str, root: Client) -> None:
    first = root.get(path)
    again = root.request("GET", path, headers={"if-none-match": first.headers["etag"]})
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", first.headers["etag"])
    assert root.request("GET", path, headers={"if-none-match": '"another"'}).body == first.body


@pytest.mark.parametrize("path", PAGES)
def test_it_is_compressed_for_who_can_read_that(path: str, root: Client) -> None:
    plain = root.get(path)
    small = root.request("GET", path, headers={"accept-encoding": "gzip"})
    assert small.headers["content-encoding"] == "gzip"
    assert gzip.decompress(small.body) == plain.body
    assert len(small.body) < len(plain.body) / 2


def test_the_agents_page_has_every_call_event_and_error(root: Client) -> None:
    answer = root.get("/llms.txt")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    page = answer.body.decode()
    for call in CALLS:
        assert f"`{call.method.upper()} {call.path}" in page
    for name in [name for event in events() for name in event.names]:
        assert f"`{name}`" in page
    for code in [refusal.example.code for refusal in EVERY if refusal.example.code]:
        assert f"`{code}`" in page
    assert "&#" not in page
    assert "&lt;" not in page


def test_the_page_for_people_loads_its_parts_from_here_alone(root: Client) -> None:
    answer = root.get("/docs")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    page = answer.body.decode()
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy.partition("style-src")[0]
    assert "http" not in policy
    assert "<style" not in page
    assert "<script>" not in page
    parts = [part for part in ADDRESS.findall(page) if part.startswith("/")]
    assert {"/openapi.json", "/llms.txt"} < set(parts)
    assert len([part for part in parts if part.startswith("/static/")]) >= 5
    for part in parts:
        assert root.get(part).status == 200, part
    elsewhere = {part for part in ADDRESS.findall(page) if not part.startswith("/")}
    assert elsewhere == {"https://www.openresponses.org"}
