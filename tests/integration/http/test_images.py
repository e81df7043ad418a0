"""Images for models that see them, and for models that do not."""

from collections.abc import Callable
from typing import Any

import pytest

from responses_api.models import Backend
from responses_api.protocol.plain import Json
from responses_api.services import routing
from tests.support.checks import assert_unknown_to, checked_response
from tests.support.client import Client
from tests.support.upstream import ScriptedUpstream
from workers.attachments import NOTE

PIXEL = "data:image/png;base64,iVBORw0KGgo="
LOOK: Json = {
    "role": "user",
    "content": [
        {"type": "input_text", "text": "What is this?"},
        {"type": "input_image", "image_url": PIXEL},
    ],
}


def create(client: Client, **body: Any) -> Json:
    """The response to a request that succeeds."""
    answer = client.create(**body)
    assert answer.status == 200, answer.body
    created: Json = answer.json()
    return created


@pytest.fixture
def images(backend: Backend) -> Callable[[str], None]:
    """Says what becomes of images."""

    def say(what: str) -> None:
        Backend.objects.update(images=what)
        routing.read_models()

    return say


def test_a_model_that_sees_gets_the_image(friend: Client, upstream: ScriptedUpstream) -> None:
    answer = friend.create(input=[LOOK])
    assert answer.json()["output"][0]["content"][0]["text"] == "I see an image. You said: What is this?"
    sent = upstream.requests()[-1].body["messages"][-1]["content"]
    assert sent[1] == {"type": "image_url", "image_url": {"url": PIXEL}}


def test_a_model_that_sees_none_reads_that_there_was_one(
    friend: Client, stranger: Client, upstream: ScriptedUpstream, images: Callable[[str], None]
) -> None:
    images("noted")
    first = checked_response(friend, create(friend, input=[LOOK]))
    second = checked_response(friend, create(friend, input="And now?", previous_response_id=first["id"]))
    assert second["status"] == "completed"
    asked, _, _ = upstream.requests()[-1].body["messages"]
    assert asked == {"role": "user", "content": f"What is this?{NOTE}"}
    assert_unknown_to(stranger, first["id"])


def test_what_is_stored_keeps_the_image(friend: Client, images: Callable[[str], None]) -> None:
    images("noted")
    first = checked_response(friend, create(friend, input=[LOOK]))
    (item,) = friend.get(f"/responses/{first['id']}/input_items").json()["data"]
    assert item["content"][1]["image_url"] == PIXEL


def test_a_model_that_takes_none_refuses_with_its_place(
    friend: Client, upstream: ScriptedUpstream, images: Callable[[str], None]
) -> None:
    images("refused")
    answer = friend.create(input=[{"role": "user", "content": "Look:"}, LOOK])
    assert (answer.status, answer.error["code"]) == (400, "unsupported_value")
    assert answer.error["param"] == "input[1].content[1]"
    assert upstream.requests() == []


def test_an_image_in_the_chain_is_refused_as_the_chains(
    friend: Client, images: Callable[[str], None]
) -> None:
    first = friend.create(input=[LOOK]).json()
    images("refused")
    answer = friend.create(input="And now?", previous_response_id=first["id"])
    assert (answer.status, answer.error["param"]) == (400, "previous_response_id")
