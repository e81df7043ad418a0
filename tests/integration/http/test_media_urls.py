"""Images and files by address: sent on, fetched by the worker, or refused, as the backend's row says."""

import base64
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pytest_django import Settings

from responses_api.models import Backend
from responses_api.protocol.plain import Json
from responses_api.services import routing
from tests.integration.http.routes import add_target
from tests.support.chat import chat_error
from tests.support.checks import assert_unknown_to, checked_response
from tests.support.client import Client
from tests.support.pictures import PDF, PNG, Gallery, gallery
from tests.support.upstream import ScriptedUpstream

Rows = Callable[..., None]


def look(*urls: str) -> Json:
    """A message with images at these addresses."""
    images = [{"type": "input_image", "image_url": url} for url in urls]
    return {"role": "user", "content": [{"type": "input_text", "text": "What is this?"}, *images]}


def read(url: str, **fields: str) -> Json:
    """A message with a file at this address."""
    return {"role": "user", "content": [{"type": "input_file", "file_url": url, **fields}]}


def inline(media_type: str, content: bytes) -> str:
    return f"data:{media_type};base64,{base64.b64encode(content).decode()}"


@pytest.fixture
def row(backend: Backend) -> Rows:
    """Changes the backend's row."""

    def change(**fields: Any) -> None:
        Backend.objects.update(**fields)
        routing.read_models()

    return change


@pytest.fixture
def pictures(settings: Settings) -> Iterator[Gallery]:
    """A server that workers may fetch from, and no other one."""
    with gallery() as found:
        settings.EGRESS_ALLOW = [found.url.removeprefix("http://")]
        found.things |= {
            "/a.png": ("image/png", PNG),
            "/lies.png": ("image/png", b"<html>"),
            "/paper": ("application/octet-stream", PDF),
            "/notes.md": ("text/markdown", b"# Notes"),
            "/program": ("application/pdf", b"\x7fELF\x02\x01"),
        }
        yield found


def sent(upstream: ScriptedUpstream) -> list[Json]:
    """The parts of the last message that the backend got."""
    parts: list[Json] = upstream.requests()[-1].body["messages"][-1]["content"]
    return parts


def test_an_address_is_sent_on_where_the_row_says_nothing(
    friend: Client, upstream: ScriptedUpstream, pictures: Gallery
) -> None:
    url = "http://10.0.0.1/which-is-the-backends-to-reach.png"
    assert friend.create(input=[look(url)]).status == 200
    assert sent(upstream)[1]["image_url"]["url"] == url
    assert pictures.asked == []


def test_an_image_is_fetched_and_sent_inline_and_the_conversation_keeps_its_address(
    friend: Client, stranger: Client, upstream: ScriptedUpstream, pictures: Gallery, row: Rows
) -> None:
    row(media_urls="fetched")
    url = f"{pictures.url}/a.png"
    response = checked_response(friend, friend.create(input=[look(url, url)]).json())
    images = [part["image_url"]["url"] for part in sent(upstream)[1:]]
    assert images == [inline("image/png", PNG)] * 2
    assert pictures.asked == ["/a.png"], "once, however often it is named"
    assert "authorization" not in {name.lower() for name in pictures.headers[0]}
    (item,) = friend.get(f"/responses/{response['id']}/input_items").json()["data"]
    assert item["content"][1]["image_url"] == url
    assert_unknown_to(stranger, response["id"])
    again = friend.create(input="And now?", previous_response_id=response["id"])
    assert again.status == 200
    assert pictures.asked == ["/a.png"] * 2, "another response sees what is there now"


def test_files_become_what_chat_completions_takes(
    friend: Client, upstream: ScriptedUpstream, pictures: Gallery, row: Rows
) -> None:
    row(media_urls="fetched")
    for message, name, media_type, content in (
        (read(f"{pictures.url}/paper"), "paper.pdf", "application/pdf", PDF),
        (read(f"{pictures.url}/paper", filename="my.pdf"), "my.pdf", "application/pdf", PDF),
        (read(f"{pictures.url}/notes.md"), "notes.md", "text/plain", b"# Notes"),
        (read(f"{pictures.url}/a.png"), "a.png", "image/png", PNG),
    ):
        assert friend.create(input=[message]).status == 200
        assert sent(upstream)[0]["file"] == {"filename": name, "file_data": inline(media_type, content)}


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/missing.png", "answered with status 404"),
        ("/lies.png", "holds no image of a known type"),
        ("/paper", "holds no image of a known type"),
        ("/inside", "leads nowhere that may be reached from here"),
        ("/round", "sends one on more than 5 times"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_an_address_that_gives_nothing_is_a_400_before_the_first_event(
    friend: Client,
    stranger: Client,
    upstream: ScriptedUpstream,
    pictures: Gallery,
    row: Rows,
    path: str,
    says: str,
    stream: bool,
) -> None:
    row(media_urls="fetched")
    pictures.moved |= {"/inside": "http://127.0.0.2:1/", "/round": "/round"}
    answer = friend.create(input=[{"role": "user", "content": "x"}, look(pictures.url + path)], stream=stream)
    error = answer.json()["error"]
    assert (answer.status, error["code"], error["param"]) == (
        400,
        "url_not_fetched",
        "input[1].content[1].image_url",
    )
    assert error["message"].startswith(f"The address in 'input[1].content[1].image_url' {says}")
    assert upstream.requests() == []
    assert friend.get("/responses").json()["data"] == stranger.get("/responses").json()["data"] == []


def test_a_program_is_no_file(friend: Client, pictures: Gallery, row: Rows) -> None:
    row(media_urls="fetched")
    answer = friend.create(input=[read(f"{pictures.url}/program")])
    assert (answer.status, answer.error["param"]) == (400, "input[0].content[0].file_url")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.2/a.png",
        "https://169.254.169.254/latest",
        "https://[::ffff:127.0.0.1]/",
        "https://2130706433/",
        "https://user:word@example.com/",
        "https://example.com:99999/",
    ],
)
def test_an_address_that_may_not_be_is_refused_without_a_connection_and_a_worker(
    friend: Client, upstream: ScriptedUpstream, pictures: Gallery, row: Rows, url: str
) -> None:
    row(media_urls="fetched")
    answer = friend.create(
        input=[look(url)], background=True
    )  # which a worker could not refuse with a status
    assert (answer.status, answer.error["code"]) == (400, "url_not_fetched")
    assert answer.error["param"] == "input[0].content[1].image_url"
    assert upstream.requests() == []


def test_an_address_of_an_earlier_turn_is_named_by_the_turn(
    friend: Client, pictures: Gallery, row: Rows
) -> None:
    first = friend.create(input=[look(f"{pictures.url}/gone.png")]).json()
    row(media_urls="fetched")
    answer = friend.create(input="And now?", previous_response_id=first["id"])
    assert (answer.status, answer.error["param"]) == (400, "previous_response_id")
    assert "an item of 'previous_response_id' answered with status 404" in answer.error["message"]


def test_addresses_are_refused_where_the_row_says_so_and_what_is_inline_is_not(
    friend: Client, upstream: ScriptedUpstream, pictures: Gallery, row: Rows
) -> None:
    first = friend.create(input=[look("https://example.com/a.png")]).json()
    row(media_urls="refused")
    for body, param in (
        ({"input": [look("https://example.com/a.png")]}, "input[0].content[1].image_url"),
        ({"input": [read("https://example.com/a.pdf")]}, "input[0].content[0].file_url"),
        ({"input": "And now?", "previous_response_id": first["id"]}, "previous_response_id"),
    ):
        answer = friend.create(**body)
        assert (answer.status, answer.error["code"], answer.error["param"]) == (
            400,
            "unsupported_value",
            param,
        )
        assert "inline" in answer.error["message"]
    assert friend.create(input=[look(inline("image/png", PNG))]).status == 200
    assert pictures.asked == []


def test_what_is_only_noted_is_not_fetched(
    friend: Client, upstream: ScriptedUpstream, pictures: Gallery, row: Rows
) -> None:
    for handling in ("fetched", "refused"):
        row(media_urls=handling, images="noted")
        assert friend.create(input=[look("http://10.0.0.1/a.png")]).status == 200
    assert pictures.asked == []


def test_all_of_a_request_has_one_limit_of_bytes(
    friend: Client, pictures: Gallery, row: Rows, settings: Settings
) -> None:
    row(media_urls="fetched")
    settings.MAX_FETCH_BYTES = len(PNG) + 1
    pictures.things["/b.png"] = ("image/png", PNG)
    pictures.things["/large.png"] = ("image/png", PNG + PNG)
    assert friend.create(input=[look(f"{pictures.url}/a.png")]).status == 200
    for urls in (("/a.png", "/b.png"), ("/large.png",)):
        answer = friend.create(input=[look(*(pictures.url + path for path in urls))])
        assert (answer.status, answer.error["code"]) == (400, "url_not_fetched")
        assert f"more than the {len(PNG) + 1} bytes" in answer.error["message"]


def test_a_request_may_name_a_hundred_addresses(friend: Client, pictures: Gallery, row: Rows) -> None:
    row(media_urls="fetched")
    answer = friend.create(input=[look(*(f"{pictures.url}/{place}" for place in range(101)))])
    assert (answer.status, answer.error["param"]) == (400, "input[0].content[101].image_url")
    assert pictures.asked == []


def test_tokens_are_counted_of_what_was_fetched_and_a_compaction_fetches_nothing(
    friend: Client, pictures: Gallery, row: Rows
) -> None:
    row(media_urls="fetched")
    body = {"model": "test-model", "input": [look(f"{pictures.url}/a.png")]}
    assert friend.request("POST", "/responses/input_tokens", body).status == 200
    assert pictures.asked == ["/a.png"]
    assert friend.request("POST", "/responses/compact", body).status == 200
    assert pictures.asked == ["/a.png"]


def test_nothing_of_an_address_is_in_the_log(
    friend: Client, pictures: Gallery, row: Rows, caplog: pytest.LogCaptureFixture
) -> None:
    row(media_urls="fetched")
    pictures.things["/a.png?signature=s3cret"] = pictures.things["/a.png"]
    assert friend.create(input=[look(f"{pictures.url}/a.png?signature=s3cret")]).status == 200
    friend.create(input=[look("https://127.0.0.2/?signature=s3cret")])
    assert "media fetched" in caplog.text
    assert "s3cret" not in caplog.text


def test_what_one_backend_could_not_be_given_the_next_one_fetches_itself(
    friend: Client, upstream: ScriptedUpstream, pictures: Gallery, row: Rows
) -> None:
    row(media_urls="fetched")
    add_target("second", upstream.base_url)
    url = f"{pictures.url}/missing.png"
    assert friend.create(input=[look(url)]).status == 200
    assert sent(upstream)[1]["image_url"]["url"] == url
    assert pictures.asked == ["/missing.png"]


def test_what_was_fetched_for_one_backend_is_there_for_the_next(
    friend: Client, upstream: ScriptedUpstream, pictures: Gallery, row: Rows
) -> None:
    row(media_urls="fetched")
    add_target("second", upstream.base_url, media_urls="fetched")
    upstream.reply(status=500, body=chat_error("x"))
    assert friend.create(input=[look(f"{pictures.url}/a.png")]).status == 200
    assert len(upstream.requests()) == 2
    assert pictures.asked == ["/a.png"]
