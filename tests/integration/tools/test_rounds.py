"""The loop: what the model calls of the service's own tools is run, and the model goes on, within one response."""

import pytest

from responses_api.protocol.server_tools import MCP_CALL, MCP_LIST_TOOLS
from tests.integration.tools.reading import TOOLS, add, call, receipts
from tests.support.abacus import Abacus, server
from tests.support.chat import ToolCall, chat_calls, chat_stream
from tests.support.checks import checked_response, checked_stream, output_text
from tests.support.client import Client, Json
from tests.support.upstream import ScriptedUpstream


@pytest.mark.parametrize("stream", [True, False])
def test_a_call_is_run_and_the_model_goes_on(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus, stream: bool
) -> None:
    upstream.reply(body=chat_calls(add(2, 3), text="Let me see."))
    upstream.reply(body=chat_stream("It is ", "5.", usage=(20, 3)))
    body: Json = {"input": "2 + 3?", "tools": TOOLS}
    if stream:
        final = checked_stream(friend.read_stream(**body), friend)
    else:
        final = checked_response(friend, friend.create(**body).json())
    listed, said, ran, answer = final["output"]
    assert (final["status"], said["content"][0]["text"], output_text({"output": [answer]})) == (
        "completed",
        "Let me see.",
        "It is 5.",
    )
    assert (ran["type"], ran["status"], ran["output"]) == (MCP_CALL, "completed", "5")
    assert final["usage"]["input_tokens"] == 27
    assert final["usage"]["output_tokens"] == 8
    assert abacus.ran == [("add", '{"a": 2, "b": 3}')]
    assert final["tools"] == TOOLS
    offered = [tool["function"]["name"] for tool in upstream.requests()[0].body["tools"]]
    assert offered == list(abacus.names)
    assert (listed["type"], [tool["name"] for tool in listed["tools"]]) == (
        MCP_LIST_TOOLS,
        list(abacus.names),
    )
    assert abacus.closed == 1


def test_the_calls_of_a_round_run_side_by_side(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    upstream.reply(body=chat_calls(call("meet", 1, 2, "call_1"), call("meet", 3, 4, "call_2")))
    upstream.reply(body=chat_stream("3 and 7."))
    final = checked_response(friend, friend.create(input="Both?", tools=TOOLS).json())
    assert [item["output"] for item in final["output"][1:3]] == ["3", "7"]
    assert abacus.ended == ["done", "done"]


def test_rounds_go_on_until_the_model_calls_nothing(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    for a in range(4):
        upstream.reply(body=chat_calls(add(a, a)))
    upstream.reply(body=chat_stream("Done."))
    final = checked_response(friend, friend.create(input="Add up", tools=TOOLS).json())
    assert [item["output"] for item in final["output"][1:-1]] == ["0", "2", "4", "6"]
    assert final["usage"]["total_tokens"] == 5 * 12


def test_a_tool_that_fails_is_told_to_client_and_model(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    upstream.reply(body=chat_calls(call("fail", 1, 2)))
    upstream.reply(body=chat_stream("It failed."))
    final = checked_response(friend, friend.create(input="Try", tools=TOOLS).json())
    (receipt,) = receipts(final)
    assert (receipt["status"], receipt["output"], receipt["error"]) == (
        "failed",
        None,
        "The abacus fell over.",
    )
    assert final["status"] == "completed"


@pytest.mark.parametrize("arguments", ['{"a": 1', "[1]", '"x"'])
def test_arguments_that_are_no_object_are_not_run(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus, arguments: str
) -> None:
    upstream.reply(body=chat_calls(ToolCall("add", arguments)))
    upstream.reply(body=chat_stream("Sorry."))
    final = checked_response(friend, friend.create(input="Try", tools=TOOLS).json())
    (receipt,) = receipts(final)
    assert (receipt["status"], receipt["arguments"], abacus.ran) == ("failed", arguments, [])
    assert receipt["error"] == "The arguments are not a JSON object."


def test_a_call_without_arguments_has_an_empty_object(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    upstream.reply(body=chat_calls(ToolCall("add", "")))
    upstream.reply(body=chat_stream("0."))
    checked_response(friend, friend.create(input="Try", tools=TOOLS).json())
    assert abacus.ran == [("add", "{}")]


def test_functions_of_the_client_end_the_response_after_the_services_own_have_run(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    upstream.reply(body=chat_calls(add(2, 3, "call_1"), ToolCall("weather", "{}", "call_2")))
    final = checked_response(
        friend, friend.create(input="Both", tools=[*TOOLS, {"type": "function", "name": "weather"}]).json()
    )
    _, asked, receipt = final["output"]
    assert (asked["type"], asked["call_id"], asked["status"]) == ("function_call", "call_2", "completed")
    assert (receipt["output"], final["status"]) == ("5", "completed")
    assert len(upstream.requests()) == 1


def test_a_tool_named_as_a_function_of_the_request_has_its_servers_label_before_it(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    abacus.names = ["add"]
    upstream.reply(body=chat_calls(call("abacus__add", 2, 2)))
    upstream.reply(body=chat_stream("4"))
    tools = [{"type": "function", "name": "add"}, server(), server("other")]
    final = checked_response(friend, friend.create(input="Add", tools=tools).json())
    offered = [tool["function"]["name"] for tool in upstream.requests()[0].body["tools"]]
    assert offered == ["add", "abacus__add", "other__add"]
    (receipt,) = receipts(final)
    assert (receipt["server_label"], receipt["name"], receipt["output"]) == ("abacus", "add", "4")


def test_a_server_that_is_down_is_a_receipt_and_the_response_goes_on(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    abacus.error = "It cannot be reached."
    upstream.reply(body=chat_stream("Hello."))
    final = checked_response(friend, friend.create(input="Hello", tools=TOOLS).json())
    listed, said = final["output"]
    assert (listed["error"], listed["tools"], said["type"]) == (abacus.error, [], "message")
    assert "tools" not in upstream.requests()[0].body


def test_a_response_that_fails_names_the_server_that_was_down(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    abacus.error = "It cannot be reached."
    upstream.reply(body=b"{}", status=500)
    answer = friend.create(input="Hello", tools=TOOLS)
    assert answer.status == 500
    assert answer.error["message"].endswith(" The MCP server 'abacus' could not be reached either.")


def test_a_list_in_the_conversation_is_not_asked_for_again(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    upstream.reply(body=chat_stream("Hello."), always=True)
    first = friend.create(input="Hello", tools=TOOLS).json()
    final = friend.create(input="Again", tools=TOOLS, previous_response_id=first["id"]).json()
    assert [item["type"] for item in final["output"]] == ["message"]
    assert abacus.asked == ["abacus"]
    assert len(upstream.requests()[1].body["tools"]) == len(abacus.names)
