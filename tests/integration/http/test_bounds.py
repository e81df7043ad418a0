"""What one request may cost: items and values are bounded before anything is built of them."""

import gzip
import json

import pytest
from pytest_django import Settings

from tests.support.checks import checked_response
from tests.support.client import Answer, Client
from tests.support.upstream import ScriptedUpstream


def assert_error(answer: Answer, status: int, code: str | None) -> object:
    assert (answer.status, answer.error["type"], answer.error["code"]) == (status, "invalid_request", code)
    return answer.error["param"]


def message(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def test_more_items_than_are_allowed_are_refused(
    friend: Client, stranger: Client, upstream: ScriptedUpstream, settings: Settings
) -> None:
    settings.MAX_ITEMS = 5
    checked_response(friend, friend.create(input=[message("x")] * 5).json())
    refused = friend.create(input=[message("x")] * 6)
    assert assert_error(refused, 400, "context_length_exceeded") == "input"
    assert len(upstream.requests()) == 1


def test_a_chain_with_more_items_than_are_allowed_is_refused(
    friend: Client, stranger: Client, settings: Settings
) -> None:
    settings.MAX_ITEMS = 5
    first = friend.create(input=[message("x")] * 4).json()
    refused = friend.create(input=[message("y")], previous_response_id=first["id"])
    assert assert_error(refused, 400, "context_length_exceeded") == "previous_response_id"
    foreign = stranger.create(input="y", previous_response_id=first["id"])
    assert_error(foreign, 400, "previous_response_not_found")


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_a_body_of_more_values_than_anybody_means_is_413(
    encoding: str, friend: Client, upstream: ScriptedUpstream
) -> None:
    body = json.dumps({"model": friend.model, "input": "x", "junk": []}).encode()
    body = body.replace(b"[]", b"[" + b"[]," * 600_000 + b"1]")
    raw = gzip.compress(body, 1) if encoding == "gzip" else body
    answer = friend.request("POST", "/responses", raw, {"Content-Encoding": encoding})
    assert_error(answer, 413, None)
    assert upstream.requests() == []
