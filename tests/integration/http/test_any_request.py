"""Whatever the published schema allows to ask is answered or refused, and whatever an upstream says comes to an end."""

import random
from collections.abc import Iterator

import openresponses_types
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.integration.fixtures import MODEL
from tests.support.chat import ToolCall, chat_calls, chat_json, chat_stream
from tests.support.checks import checked_response, checked_stream
from tests.support.client import Client, Json
from tests.support.schemas import allowed_by
from tests.support.upstream import ScriptedUpstream


def as_a_client_may(body: Json) -> Json:
    """The body with a model and an input; calls and outputs mostly pair, as they do in real conversations."""
    given = body.get("input") or "Hello"
    if isinstance(given, list) and len(given) != 2:
        calls = [item["call_id"] for item in given if item.get("type") == "function_call"]
        given = [item for item in given if item.get("type") != "function_call_output"]
        given += [{"type": "function_call_output", "call_id": call_id, "output": "x"} for call_id in calls]
    return {**body, "model": MODEL, "input": given}


REQUESTS = allowed_by(
    openresponses_types.CreateResponseBody.model_json_schema(),
    {
        "call_id": st.uuids().map(str),
        "name": st.sampled_from(["look", "hear"]),
        "image_url": st.sampled_from(["https://pics.test.invalid/a.png", "data:image/png;base64,AAAA"]),
        "file_url": st.just("https://pics.test.invalid/a.pdf"),
        "encrypted_content": st.just("not ours"),
        "previous_response_id": st.none(),
        "background": st.just(False),
        "temperature": st.floats(0, 2),
        "top_p": st.floats(0, 1),
        "presence_penalty": st.floats(-2, 2),
        "frequency_penalty": st.floats(-2, 2),
        "start_index": st.integers(0, 9),
        "end_index": st.integers(0, 9),
    },
).map(as_a_client_may)
# What a model may be blamed for: it was told to call, and did not.
_BLAMED = {"tool_call_missing", "tool_not_allowed"}


@settings(max_examples=150, deadline=None, suppress_health_check=[*HealthCheck])
@given(REQUESTS.filter(lambda body: body.get("service_tier") != "flex"))  # which nobody serves here
def test_what_the_schema_allows_is_answered_or_refused_with_a_reason(
    friend: Client, stranger: Client, body: Json
) -> None:
    if body.get("stream"):
        with friend.open("POST", "/responses", body) as exchange:
            exchange.read_all()
        if exchange.status == 200:
            checked_stream(exchange, friend if body.get("store") is not False else None)
        status, error = exchange.status, exchange.answer().error if exchange.status != 200 else None
    else:
        answer = friend.request("POST", "/responses", body)
        status, error = answer.status, answer.error if answer.status != 200 else None
        if error is None and body.get("store") is not False:
            checked_response(friend, answer.json())
    assert status in (200, 400) or (error is not None and error["code"] in _BLAMED), error
    assert error is None or error["message"]
    assert stranger.get("/responses").json()["data"] == []


ANSWERS = [
    chat_stream("Say", "  hello", "\n\n", "twice — 🙂", usage=(11, 6)),
    chat_calls(ToolCall("look", '{"a": [1, "ö"]}'), ToolCall("hear", "{}", "call_2"), text="Let me"),
    chat_json("A whole answer.", calls=[ToolCall("look")]),
]


def spoiled(chance: random.Random) -> bytes:
    """An upstream's answer with a few faults: bytes lost, doubled, changed, moved or invented."""
    body = bytearray(chance.choice(ANSWERS))
    for _ in range(chance.choice([1, 1, 2, 5, 30])):
        at, size = chance.randrange(len(body) + 1), chance.choice([1, 2, 7, 60, 400])
        piece = body[at : at + size]
        match chance.randrange(5):
            case 0:
                del body[at : at + size]
            case 1:
                body[at:at] = piece
            case 2:
                body[at : at + 1] = chance.randbytes(1)
            case 3:
                del body[at : at + size]
                body[chance.randrange(len(body) + 1) :][:0] = piece
            case _:
                body[at:at] = chance.choice(
                    [b"\n\n", b"data: ", b"[DONE]", b"null", b"\x00", b"\xf0\x9f", b'"', b"}"]
                )
    return bytes(body)


@pytest.fixture
def answering(upstream: ScriptedUpstream) -> Iterator[ScriptedUpstream]:
    """An upstream that says what it is told to, and nothing afterwards."""
    yield upstream
    upstream.clear()


def test_whatever_an_upstream_says_the_stream_ends_once_and_by_the_rules(
    friend: Client, answering: ScriptedUpstream
) -> None:
    chance = random.Random(20261130)
    tools = [{"type": "function", "name": name} for name in ("look", "hear")]
    ended: dict[str, int] = {}
    for _ in range(120):
        answering.clear()
        answering.reply(body=spoiled(chance))
        exchange = friend.read_stream(input="Hello", tools=tools)
        if exchange.status != 200:
            # Nothing had been told yet: an error is clearer than a stream of one.
            ended["refused"] = ended.get("refused", 0) + 1
            assert exchange.answer().error["type"] == "model_error", exchange.raw
            continue
        final = checked_stream(exchange, friend)
        ended[final["status"]] = ended.get(final["status"], 0) + 1
        if final["status"] == "failed":
            assert final["error"]["code"] != "server_error", final["error"]
    assert min(ended[status] for status in ("completed", "failed")) > 10
