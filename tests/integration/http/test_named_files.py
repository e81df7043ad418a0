"""Uploaded files that a request names by their ids: the model gets their content, the conversation keeps the ids."""

import base64
from typing import Any

import pytest
from pytest_django import Settings

from responses_api.models import Backend
from responses_api.protocol.plain import Json
from responses_api.services import routing
from tests.integration.http.routes import add_target
from tests.support.chat import chat_error
from tests.support.checks import assert_unknown_to, checked_response, checked_stream
from tests.support.client import Client
from tests.support.forms import upload
from tests.support.pictures import PDF, PNG
from tests.support.upstream import ScriptedUpstream


def named(kind: str, file_id: str, **fields: str) -> Json:
    """A message with a file, or an image, by its id."""
    return {"role": "user", "content": [{"type": kind, "file_id": file_id, **fields}]}


def kept(client: Client, content: bytes, name: str) -> str:
    """The id of a file that a client has uploaded."""
    return str(upload(client, content, name).json()["id"])


def sent(upstream: ScriptedUpstream, message: int = 0) -> list[Json]:
    """The parts of a message that the backend got."""
    parts: list[Json] = upstream.requests()[-1].body["messages"][message]["content"]
    return parts


def inline(media_type: str, content: bytes) -> str:
    return f"data:{media_type};base64,{base64.b64encode(content).decode()}"


def test_a_file_is_read_by_the_model_and_stays_an_id_in_the_conversation(
    friend: Client, stranger: Client, upstream: ScriptedUpstream
) -> None:
    file_id = kept(friend, PDF, "paper.pdf")
    first = checked_response(friend, friend.create(input=[named("input_file", file_id)]).json())
    told = {"filename": "paper.pdf", "file_data": inline("application/pdf", PDF)}
    assert sent(upstream) == [{"type": "file", "file": told}]
    (item,) = friend.get(f"/responses/{first['id']}/input_items").json()["data"]
    assert item["content"] == [{"type": "input_file", "file_id": file_id}]
    second = friend.read_stream(input="And now?", previous_response_id=first["id"])
    checked_stream(second, friend)
    assert sent(upstream) == [{"type": "file", "file": told}]
    assert_unknown_to(stranger, first["id"])


def test_an_image_is_seen_by_the_model(friend: Client, upstream: ScriptedUpstream) -> None:
    file_id = kept(friend, PNG, "a.png")
    asked = named("input_image", file_id, detail="high")
    response = checked_response(friend, friend.create(input=[asked]).json())
    assert sent(upstream) == [
        {"type": "image_url", "image_url": {"url": inline("image/png", PNG), "detail": "high"}}
    ]
    (item,) = friend.get(f"/responses/{response['id']}/input_items").json()["data"]
    assert item["content"] == [
        {"type": "input_image", "file_id": file_id, "image_url": None, "detail": "high"}
    ]


def test_a_function_may_answer_with_a_file(friend: Client, upstream: ScriptedUpstream) -> None:
    file_id = kept(friend, b"# Notes", "notes.md")
    call = {"type": "function_call", "call_id": "c", "name": "fetch", "arguments": "{}"}
    part = {"type": "input_file", "file_id": file_id, "filename": "renamed.md"}
    output = {"type": "function_call_output", "call_id": "c", "output": [part]}
    assert friend.create(input=[{"role": "user", "content": "Fetch."}, call, output]).status == 200
    raw = upstream.requests()[-1].raw.decode()
    assert base64.b64encode(b"# Notes").decode() in raw or "# Notes" in raw
    assert "renamed.md" in raw
    assert file_id not in raw


@pytest.mark.parametrize("is_foreign", [True, False])
def test_a_file_that_is_not_the_tenants_is_refused_like_one_that_never_was(
    is_foreign: bool, untouched: Client, stranger: Client
) -> None:
    file_id = kept(stranger, PDF, "paper.pdf") if is_foreign else "file_1"
    for store in (True, False):
        answer = untouched.create(input=["x", named("input_file", file_id)][1:], store=store)
        assert (answer.status, answer.error["param"], answer.error["code"]) == (
            400,
            "input[0].content[0].file_id",
            "file_not_usable",
        )
        assert answer.error["message"] == (
            f"The file in 'input[0].content[0].file_id' is not kept here: '{file_id}'."
        )


def test_a_conversation_whose_file_is_gone_says_so(friend: Client, upstream: ScriptedUpstream) -> None:
    file_id = kept(friend, PDF, "paper.pdf")
    first = friend.create(input=[named("input_file", file_id)]).json()
    friend.delete(f"/files/{file_id}")
    answer = friend.create(input="And now?", previous_response_id=first["id"])
    assert (answer.status, answer.error["param"]) == (400, "previous_response_id")
    assert f"'{file_id}'" in answer.error["message"]
    assert len(upstream.requests()) == 1


def test_what_is_no_image_is_refused_by_its_place(friend: Client, upstream: ScriptedUpstream) -> None:
    file_id = kept(friend, b"only words", "a.png")
    answer = friend.create(input=[named("input_image", file_id)])
    assert (answer.status, answer.error["param"]) == (400, "input[0].content[0].file_id")
    assert "no image of a known type" in answer.error["message"]
    assert upstream.requests() == []


def test_files_that_are_too_much_together_are_refused(untouched: Client, settings: Settings) -> None:
    settings.MAX_FETCH_BYTES = 100
    file_id = kept(untouched, PDF + bytes(60 - len(PDF)), "paper.pdf")
    once = named("input_file", file_id)
    answer = untouched.create(input=[once, once])
    assert (answer.status, answer.error["param"]) == (400, "input[1].content[0].file_id")
    assert "120 bytes: more than the 100" in answer.error["message"]


def test_the_next_target_gets_the_file_too(friend: Client, upstream: ScriptedUpstream) -> None:
    with ScriptedUpstream(actor=True) as second:
        add_target("second", second.base_url)
        upstream.reply(body=chat_error("busy"), status=503)
        file_id = kept(friend, PNG, "a.png")
        assert friend.create(input=[named("input_image", file_id)]).status == 200
        assert sent(second) == sent(upstream)


@pytest.mark.parametrize("kind", ["input_image", "input_file"])
@pytest.mark.parametrize("fields", [{"images": "noted"}, {"images": "refused"}])
def test_a_model_that_sees_no_images_sees_none_of_these(
    fields: dict[str, Any], kind: str, friend: Client, upstream: ScriptedUpstream
) -> None:
    Backend.objects.update(**fields)
    routing.read_models()
    answer = friend.create(input=[named(kind, kept(friend, PNG, "a.png"))])
    assert answer.status == (200 if fields["images"] == "noted" else 400)
    assert all(b"base64" not in request.raw for request in upstream.requests())


def test_its_tokens_are_counted(friend: Client) -> None:
    content = ("heron " * 2_000).encode()
    file_id = kept(friend, content, "birds.txt")
    by_id = _count(friend, named("input_file", file_id))
    data = inline("text/plain", content)
    part = {"type": "input_file", "filename": "birds.txt", "file_data": data}
    whole = _count(friend, {"role": "user", "content": [part]})
    assert by_id == whole > 1_000


def _count(client: Client, message: Json) -> int:
    asked = {"model": client.model, "input": [message]}
    return int(client.request("POST", "/responses/input_tokens", asked).json()["input_tokens"])
