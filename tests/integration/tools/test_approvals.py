"""Calls that the client must allow first: asked for, answered in the next request, run once."""

from typing import Any

import pytest

from responses_api.services.approvals import claim
from tests.integration.tools.reading import add, call, receipts
from tests.support.abacus import Abacus, server
from tests.support.chat import chat_calls, chat_stream
from tests.support.checks import checked_response, output_text
from tests.support.client import Client, Json
from tests.support.upstream import ScriptedUpstream
from workers.runtime import process_runtime

ASKING: list[Json] = [server(require_approval="always")]
REQUEST = "antiphon:mcp_approval_request"


@pytest.fixture(autouse=True)
def _once(abacus: Abacus) -> None:
    object.__setattr__(process_runtime().serving, "claim", claim)


def answer(request: Json, approve: bool, **fields: Any) -> Json:
    return {
        "type": "mcp_approval_response",
        "approval_request_id": request["id"],
        "approve": approve,
        **fields,
    }


@pytest.fixture
def asked(friend: Client, upstream: ScriptedUpstream, abacus: Abacus) -> Json:
    """A response that asks whether a call may be run."""
    upstream.reply(body=chat_calls(add(2, 3)))
    response = checked_response(friend, friend.create(input="2 + 3?", tools=ASKING).json())
    assert (response["status"], abacus.ran, len(upstream.requests())) == ("completed", [], 1)
    assert response["output"][-1]["type"] == REQUEST
    return response


def go_on(client: Client, asked: Json, *answers: Json, **body: Any) -> Json:
    given: Json = {"tools": ASKING, "previous_response_id": asked["id"], **body}
    response = client.create(input=list(answers), **given).json()
    assert isinstance(response, dict)
    return response


def test_what_is_approved_is_run_before_the_model_is_asked(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus, asked: Json
) -> None:
    upstream.reply(body=chat_stream("It is 5."))
    request = asked["output"][-1]
    final = checked_response(friend, go_on(friend, asked, answer(request, True)))
    (receipt,) = receipts(final)
    assert (receipt["output"], receipt["approval_request_id"]) == ("5", request["id"])
    assert (output_text(final), abacus.ran) == ("It is 5.", [("add", '{"a": 2, "b": 3}')])
    told = upstream.requests()[1].body["messages"]
    assert [message["role"] for message in told] == ["user", "assistant", "tool"]
    assert told[-1]["content"] == "5"


@pytest.mark.parametrize("choice", ["required", {"type": "mcp", "server_label": "abacus"}], ids=str)
def test_a_call_that_waits_for_approval_meets_the_demand_of_a_tool_choice(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus, choice: Any
) -> None:
    upstream.reply(body=chat_calls(add(2, 3)))
    response = friend.create(input="2 + 3?", tools=ASKING, tool_choice=choice).json()
    checked_response(friend, response)
    assert (response["status"], response["error"], abacus.ran) == ("completed", None, [])
    assert response["output"][-1]["type"] == REQUEST


def test_what_is_denied_is_not_run_and_the_model_is_told(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus, asked: Json
) -> None:
    upstream.reply(body=chat_stream("Then not."))
    final = checked_response(
        friend, go_on(friend, asked, answer(asked["output"][-1], False, reason="too dear"))
    )
    assert (final["status"], abacus.ran, receipts(final)) == ("completed", [], [])
    assert upstream.requests()[1].body["messages"][-1] == {
        "role": "tool",
        "tool_call_id": upstream.requests()[1].body["messages"][-2]["tool_calls"][0]["id"],
        "content": "The call was not approved: too dear",
    }


def test_an_approval_is_used_once(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus, asked: Json
) -> None:
    upstream.reply(body=chat_stream("It is 5."), always=True)
    approval = answer(asked["output"][-1], True)
    assert go_on(friend, asked, approval)["status"] == "completed"
    again = friend.create(input=[approval], tools=ASKING, previous_response_id=asked["id"])
    assert (again.status, again.error["code"]) == (400, "approval_used")
    assert len(abacus.ran) == 1


def test_a_stranger_can_approve_nothing(
    friend: Client, stranger: Client, upstream: ScriptedUpstream, abacus: Abacus, asked: Json
) -> None:
    approval = answer(asked["output"][-1], True)
    refused = stranger.create(input=[approval], tools=ASKING, previous_response_id=asked["id"])
    assert (refused.status, refused.error["code"]) == (400, "previous_response_not_found")
    alone = stranger.create(input=[approval], tools=ASKING)
    assert (alone.status, alone.error["code"]) == (400, "approval_request_not_found")
    assert abacus.ran == []


def test_other_calls_of_the_round_have_run_when_the_client_is_asked(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    upstream.reply(body=chat_calls(call("abacus__add", 1, 1, "call_1"), call("free__add", 2, 2, "call_2")))
    tools = [*ASKING, server("free")]
    final = checked_response(friend, friend.create(input="Both", tools=tools).json())
    assert [item["type"] for item in final["output"][-2:]] == [REQUEST, "antiphon:mcp_call"]
    assert (receipts(final)[0]["output"], final["status"]) == ("4", "completed")
    assert len(upstream.requests()) == 1


@pytest.mark.parametrize("in_chain", [True, False], ids=["chain", "input"])
@pytest.mark.parametrize("field", ["server_label", "name", "arguments"])
def test_what_is_approved_is_what_was_asked(
    friend: Client, abacus: Abacus, asked: Json, field: str, in_chain: bool
) -> None:
    request = asked["output"][-1]
    edited = {**request, field: '{"a": 100, "b": 3}' if field == "arguments" else "fail"}
    told = [] if in_chain else [{"role": "user", "content": "2 + 3?"}, request]
    chain = {"previous_response_id": asked["id"]} if in_chain else {}
    tools = [*ASKING, server("fail")]
    refused = friend.create(input=[*told, edited, answer(request, True)], tools=tools, **chain)
    assert (refused.status, refused.error["param"]) == (400, f"input[{len(told)}]")
    assert "must ask for the same call" in refused.error["message"]
    assert abacus.ran == []


def test_a_request_that_was_sent_edited_before_it_was_approved_is_run_as_it_was_asked(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus, asked: Json
) -> None:
    upstream.reply(body=chat_stream("It waits."))
    upstream.reply(body=chat_stream("It is 5."))
    request = asked["output"][-1]
    edited = {**request, "arguments": '{"a": 100, "b": 3}'}
    between = go_on(friend, asked, edited)
    assert (between["status"], abacus.ran) == ("completed", [])
    go_on(friend, between, answer(request, True))
    assert abacus.ran == [("add", '{"a": 2, "b": 3}')]


def test_one_response_runs_so_many_approved_calls_and_no_more(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    requests = [
        {"type": REQUEST, "id": f"mcpr_{at}", "server_label": "abacus", "name": "add", "arguments": "{}"}
        for at in range(129)
    ]
    answers = [answer(request, True) for request in requests]
    refused = friend.create(input=[*requests, *answers], tools=ASKING)
    assert (refused.status, refused.error["param"]) == (400, "input[257].approval_request_id")
    assert "128 that one response runs" in refused.error["message"]
    upstream.reply(body=chat_stream("Done."))
    final = checked_response(friend, friend.create(input=[*requests, *answers[1:]], tools=ASKING).json())
    assert (final["status"], len(abacus.ran), len(receipts(final))) == ("completed", 128, 128)


def test_a_tool_that_is_gone_is_told_so(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus, asked: Json
) -> None:
    upstream.reply(body=chat_stream("It is gone."))
    abacus.names = ["subtract"]
    final = checked_response(friend, go_on(friend, asked, answer(asked["output"][-1], True)))
    (receipt,) = receipts(final)
    assert (receipt["status"], receipt["error"]) == ("failed", "The tool is not offered any more.")
