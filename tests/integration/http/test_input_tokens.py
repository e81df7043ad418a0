"""`POST /v1/responses/input_tokens`: how many tokens a request has, counted here or by its backend."""

from typing import Any

import orjson
import pytest

from responses_api.models import Backend, Item, Response
from responses_api.services import routing
from tenants.scoping import operator_scope
from tests.integration.fixtures import MODEL, UPSTREAM_KEY, UPSTREAM_MODEL
from tests.support.chat import chat_error, chat_stream
from tests.support.client import Answer, Client
from tests.support.upstream import ScriptedUpstream

TOOL = {"type": "function", "name": "lookup", "parameters": {"type": "object", "properties": {}}}


def count(client: Client, **body: Any) -> Answer:
    return client.request("POST", "/responses/input_tokens", {"model": MODEL, "input": "hello world", **body})


def tokens(client: Client, **body: Any) -> int:
    answer = count(client, **body)
    assert answer.status == 200, answer.body
    told = answer.json()
    assert told == {"object": "response.input_tokens", "input_tokens": told["input_tokens"]}
    assert isinstance(told["input_tokens"], int)
    return int(told["input_tokens"])


def counted_by(backend: Backend, name: str) -> None:
    backend.token_counting = name
    backend.save()
    routing.read_models()


def test_it_counts_everything_that_the_model_reads(friend: Client, upstream: ScriptedUpstream) -> None:
    assert tokens(friend) == 9
    assert tokens(friend, instructions="hello world") == 15
    assert tokens(friend, tools=[TOOL], tool_choice="auto", parallel_tool_calls=False) > 15
    form = {"type": "json_schema", "name": "answer", "schema": {"type": "object"}}
    assert tokens(friend, text={"format": form}, reasoning={"effort": "low"}, truncation="auto") > 9
    assert upstream.requests() == []


def test_it_counts_what_is_continued_and_only_ones_own(
    friend: Client, stranger: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_stream("hello world"))
    previous = friend.create(input="hello world").json()["id"]
    assert tokens(friend, previous_response_id=previous) == 3 * 6 + 3
    assert tokens(friend, previous_response_id=previous, input=None) == 2 * 6 + 3
    refused, unknown = (
        count(stranger, previous_response_id=previous),
        count(stranger, previous_response_id="resp_" + "0" * 44),
    )
    assert (refused.status, refused.error["code"]) == (400, "previous_response_not_found")
    assert refused.body == unknown.body.replace(b"resp_" + b"0" * 44, previous.encode())


def test_nothing_is_stored_and_nothing_else_of_a_create_request_has_an_effect(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    answer = count(
        friend, store=True, stream=True, background=True, temperature=99, conversation="c", include=["x"]
    )
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    with operator_scope():
        assert not Response.objects.exists()
        assert not Item.objects.exists()
    assert upstream.requests() == []


@pytest.mark.parametrize(
    ("body", "status", "code", "param"),
    [
        ({"model": "no-such-model"}, 404, "model_not_found", "model"),
        ({"input": None}, 400, "missing_required_parameter", "input"),
        (
            {"input": [{"role": "user", "content": [{"type": "telepathy"}]}]},
            400,
            None,
            "input[0].content[0].type",
        ),
        (
            {"input": [{"type": "function_call_output", "call_id": "c", "output": "x"}]},
            400,
            "unpaired_call_id",
            None,
        ),
        ({"tool_choice": {"type": "function", "name": "nobody"}}, 400, "invalid_value", "tool_choice"),
        ({"truncation": "sometimes"}, 400, None, "truncation"),
        ({"tools": [{"type": "web_search"}]}, 400, "unsupported_value", "tools[0].type"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_file", "file_url": "https://h/f"}]}]},
            400,
            "unsupported_value",
            "input[0].content[0].file_url",
        ),
    ],
)
def test_what_create_refuses_is_refused_here_too(
    friend: Client, body: dict[str, Any], status: int, code: str | None, param: str | None
) -> None:
    answer = count(friend, **body)
    created = friend.create(**{"input": "hello world", **body})
    assert answer.status == created.status == status, answer.body
    assert answer.body == created.body
    assert code in (None, answer.error["code"])
    assert param in (None, answer.error["param"])


def test_it_wants_a_key_and_a_json_object(friend: Client, root: Client) -> None:
    assert root.request("POST", "/v1/responses/input_tokens", {"model": MODEL}).status == 401
    assert friend.request("POST", "/responses/input_tokens", b"[]").error["type"] == "invalid_request"
    assert friend.request("POST", "/responses/input_tokens/", b"{").error["type"] == "invalid_request"
    other = friend.request("GET", "/responses/input_tokens")
    assert (other.status, other.headers["allow"]) == (405, "POST")


def test_llama_cpp_is_asked_with_the_very_request(
    friend: Client, backend: Backend, upstream: ScriptedUpstream
) -> None:
    counted_by(backend, "llama_cpp")
    upstream.reply("count", body=orjson.dumps({"input_tokens": 4711, "object": "response.input_tokens"}))
    assert tokens(friend, tools=[TOOL], instructions="Be kind") == 4711
    request = upstream.requests()[0]
    assert request.path == "/v1/chat/completions/input_tokens"
    assert request.headers["authorization"] == f"Bearer {UPSTREAM_KEY}"
    assert request.body["model"] == UPSTREAM_MODEL
    assert [message["role"] for message in request.body["messages"]] == ["system", "user"]
    assert request.body["tools"][0]["function"]["name"] == "lookup"
    assert "stream" not in request.body


def test_vllm_is_asked_for_the_tokens_of_the_messages(
    friend: Client, backend: Backend, upstream: ScriptedUpstream
) -> None:
    counted_by(backend, "vllm")
    upstream.reply(
        "tokenize", body=orjson.dumps({"count": 12, "max_model_len": 4096, "tokens": list(range(12))})
    )
    assert tokens(friend, tools=[TOOL], temperature=1) == 12
    request = upstream.requests()[0]
    assert request.path == "/tokenize"
    assert sorted(request.body) == ["messages", "model", "tools"]


@pytest.mark.parametrize(
    "reply",
    [
        {"status": 404, "body": chat_error("no such endpoint")},
        {"status": 500, "body": b"oops"},
        {"status": 200, "body": b"<html>"},
        {"status": 200, "body": b'{"tokens": []}'},
        {"status": 200, "body": b'{"input_', "end": "cut"},
    ],
)
def test_where_the_backend_does_not_count_it_is_done_here(
    friend: Client, backend: Backend, upstream: ScriptedUpstream, reply: dict[str, Any]
) -> None:
    counted_by(backend, "llama_cpp")
    upstream.reply("count", **reply)
    assert tokens(friend) == 9
    assert len(upstream.requests()) == 1


def test_a_backend_that_takes_its_time_is_not_waited_for(
    friend: Client, backend: Backend, upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.backends.client._COUNTING_SECONDS", 0.05)
    counted_by(backend, "llama_cpp")
    upstream.reply("count", end="mute")
    assert tokens(friend) == 9


def test_a_count_that_nobody_waits_for_any_more_is_given_up(
    friend: Client, backend: Backend, upstream: ScriptedUpstream
) -> None:
    counted_by(backend, "llama_cpp")
    upstream.reply("count", end="mute")
    exchange = friend.open("POST", "/responses/input_tokens", {"model": MODEL, "input": "hello"})
    request = upstream.wait_request()
    exchange.close()
    request.wait_closed()
    upstream.reply("count", body=b'{"input_tokens": 3}')
    assert tokens(friend) == 3
