"""How much of a model's reasoning clients may see: what the backend's row says, everywhere."""

from typing import Any

import pytest
from django.db import connection

from responses_api.eventlog import names
from responses_api.eventlog.connection import blocking_client
from responses_api.models import Backend
from responses_api.protocol.plain import Json
from responses_api.services import routing
from tests.support.chat import DONE, chunk, frame
from tests.support.checks import checked_response, checked_stream, output_text
from tests.support.client import Client
from tests.support.upstream import ScriptedUpstream

VALKEY: Any = blocking_client()
THOUGHT, SUMMARY = "quiet-heron", "loud-heron"
SUMMARISED = {
    "reasoning": THOUGHT,
    "reasoning_details": [
        {"type": "reasoning.summary", "index": 0, "summary": SUMMARY},
        {"type": "reasoning.text", "index": 1, "text": THOUGHT, "signature": "c2ln"},
    ],
}
STOP = frame(chunk({}, finish="stop")) + DONE
ANSWER = frame(chunk(SUMMARISED)) + frame(chunk({"content": "4C"})) + STOP


def expose(how_much: str) -> None:
    Backend.objects.update(reasoning=how_much)
    routing.read_models()


def kinds(response: Json) -> list[str]:
    return [item["type"] for item in response["output"]]


def everything_kept() -> str:
    """All that the database and the event log hold, as text."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('antiphon.tenant_id', '*', false)")
        cursor.execute("SELECT row_to_json(r)::text FROM responses_api_response r")
        kept = cursor.fetchall()
        cursor.execute("SELECT row_to_json(i)::text FROM responses_api_item i")
        kept += cursor.fetchall()
        cursor.execute("SELECT set_config('antiphon.tenant_id', '', false)")
    log = b"".join(VALKEY.dump(key) or b"" for key in VALKEY.keys(names.journal("*")))
    return "".join(text for (text,) in kept) + log.decode("latin-1")


@pytest.mark.parametrize(("stream", "store"), [(True, True), (False, True), (True, False)])
def test_what_is_withheld_is_told_nowhere_and_goes_back_all_the_same(
    friend: Client, upstream: ScriptedUpstream, stream: bool, store: bool
) -> None:
    expose("none")
    upstream.reply(body=ANSWER)
    body: Json = {"input": "Oslo?", "store": store, "include": ["reasoning.encrypted_content"]}
    if stream:
        exchange = friend.read_stream(**body)
        first = checked_stream(exchange)
        told = "".join(str(event) for event in exchange.events)
    else:
        first = checked_response(friend, friend.create(**body).json())
        told = str(first)
    assert output_text(first) == "4C"
    for secret in (THOUGHT, SUMMARY):
        assert secret not in told
        assert secret not in everything_kept()
    reasoning = first["output"][0]
    assert (reasoning["type"], reasoning["summary"]) == ("reasoning", [])
    assert "content" not in reasoning
    history: Json = {"previous_response_id": first["id"]} if store else {}
    turn = [{"role": "user", "content": "And Rome?"}]
    again = friend.create(input=turn if store else [*first["output"], *turn], **history)
    assert again.status == 200, again.body
    (assistant,) = [m for m in upstream.requests()[-1].body["messages"] if m["role"] == "assistant"]
    assert assistant["reasoning_details"] == SUMMARISED["reasoning_details"]


def test_raw_reasoning_is_withheld_where_the_row_admits_summaries_alone(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    expose("summary")
    upstream.reply(body=frame(chunk({"reasoning": THOUGHT})) + frame(chunk({"content": "4C"})) + STOP)
    exchange = friend.read_stream(input="Oslo?")
    assert kinds(checked_stream(exchange, friend)) == ["reasoning", "message"]
    assert THOUGHT not in str(exchange.events)
    assert THOUGHT not in everything_kept()


def test_all_of_it_is_told_where_the_row_says_nothing(friend: Client, upstream: ScriptedUpstream) -> None:
    upstream.reply(body=frame(chunk({"reasoning": THOUGHT})) + frame(chunk({"content": "4C"})) + STOP)
    response = checked_stream(friend.read_stream(input="Oslo?"), friend)
    assert kinds(response) == ["reasoning", "message"]
    assert THOUGHT in str(response["output"][0])
