"""A model's calls of the tools of a real MCP server, on a backend of each kind and over each transport."""

import json
from typing import Any

import pytest

from tests.e2e.mcp.conftest import KINDS
from tests.e2e.test_websocket import ask, open_socket, read_response
from tests.support.chat import ToolCall, chat_calls, chat_stream
from tests.support.checks import checked_response, checked_stream, output_text, stored_response
from tests.support.client import Client, Json, wait_until
from tests.support.mcp_server import RealMcpServer
from tests.support.service import Service
from tests.support.upstream import ScriptedUpstream

LIST, CALL = "antiphon:mcp_list_tools", "antiphon:mcp_call"


def tool(server: RealMcpServer, **entry: Any) -> Json:
    return {
        "type": "mcp",
        "server_label": "tools",
        "server_url": server.url,
        "require_approval": "never",
        **entry,
    }


def without_reasoning(final: Json) -> list[Json]:
    """The output items but for the state that some backends want back with a call."""
    return [item for item in final["output"] if item["type"] != "reasoning"]


def check(final: Json, server: RealMcpServer) -> None:
    """The list, the call, and what the model made of it: 3 + 3."""
    listed, called, said = without_reasoning(final)
    assert (final["status"], listed["type"], called["type"], said["type"]) == (
        "completed",
        LIST,
        CALL,
        "message",
    )
    assert "add" in [tool["name"] for tool in listed["tools"]]
    assert (called["server_label"], called["name"], called["status"]) == ("tools", "add", "completed")
    assert (json.loads(called["arguments"]), called["output"], called["error"]) == (
        {"a": 3, "b": 3},
        "6",
        None,
    )
    assert output_text(final) == "The tool returned: 6"
    assert server.arguments("add") == [{"a": 3, "b": 3}]


@pytest.mark.parametrize("model", KINDS.values(), ids=KINDS.keys())
@pytest.mark.parametrize("stream", [False, True], ids=["json", "sse"])
def test_a_backend_of_each_kind(friend: Client, server: RealMcpServer, model: str, stream: bool) -> None:
    body: Json = {"model": model, "input": "Please add.", "tools": [tool(server)]}
    if stream:
        final = checked_stream(friend.read_stream(**body), friend)
    else:
        final = checked_response(friend, friend.create(**body).json())
    check(final, server)


@pytest.mark.parametrize("model", KINDS.values(), ids=KINDS.keys())
def test_the_history_of_a_call_goes_on_at_a_backend_of_each_kind(
    friend: Client, server: RealMcpServer, model: str
) -> None:
    body: Json = {"model": model, "tools": [tool(server)]}
    first = friend.create(**body, input="Please add.").json()
    second = checked_response(
        friend, friend.create(**body, input="Now fails.", previous_response_id=first["id"]).json()
    )
    called, said = without_reasoning(second)
    assert (called["status"], called["error"], called["output"]) == ("failed", "the backend is down", None)
    assert output_text({"output": [said]}) == "The tool returned: The call failed: the backend is down"
    assert len(server.calls("tools/list")) == 1


def test_a_websocket(service: Service, server: RealMcpServer) -> None:
    with open_socket(service.base_url, service.friend.key) as socket:
        ask(socket, input="Please add.", tools=[tool(server)], store=True)
        check(read_response(socket, service.friend), server)


def test_a_background_response(friend: Client, server: RealMcpServer) -> None:
    asked = friend.create(input="Please add.", tools=[tool(server)], background=True).json()
    assert asked["status"] == "queued"

    def ended() -> Json | None:
        found = stored_response(friend, asked["id"])
        return found if found["status"] not in ("queued", "in_progress") else None

    check(wait_until(ended, timeout=20, what="the end of the response"), server)


def test_calls_of_one_turn_run_side_by_side(
    friend: Client, upstream: ScriptedUpstream, server: RealMcpServer
) -> None:
    calls = [ToolCall("slow", "{}", "call_1"), ToolCall("echo", '{"text": "quick"}', "call_2")]
    upstream.reply(body=chat_calls(*calls))
    upstream.reply(body=chat_stream("Both are there."))
    with friend.stream(input="Both", tools=[tool(server)]) as stream:
        done = stream.read_event(f"{CALL}.completed")
        assert server.began.is_set()
        server.released.set()
        stream.read_all()
        final = checked_stream(stream, friend)
    by_name = {item["name"]: item for item in final["output"] if item["type"] == CALL}
    assert done["item_id"] == by_name["echo"]["id"]
    assert (by_name["slow"]["output"], by_name["echo"]["output"]) == ("done", "quick")


def test_a_server_that_is_down_fails_nothing_but_itself(friend: Client) -> None:
    down: Json = {"type": "mcp", "server_label": "gone", "server_url": "http://127.0.0.1:9/mcp"}
    final = checked_stream(friend.read_stream(input="Hello", tools=[down]), friend)
    listed, said = final["output"]
    assert (listed["type"], listed["tools"]) == (LIST, [])
    assert listed["error"] == "The MCP server 'gone' could not be reached."
    assert output_text({"output": [said]}) == "You said: Hello"


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("raises", "Error executing tool raises"),
        ("dies", "The MCP server 'tools' closed the connection before it answered."),
        ("slow", "The MCP server 'tools' did not answer within 5 seconds."),
    ],
)
def test_a_call_that_fails_is_told_to_the_model(
    friend: Client, server: RealMcpServer, call: str, error: str
) -> None:
    final = checked_stream(
        friend.read_stream(input=f"Use {call}.", tools=[tool(server, allowed_tools=[call])]), friend
    )
    _, called, _ = final["output"]
    assert (final["status"], called["status"], called["error"]) == ("completed", "failed", error)
    assert output_text(final) == f"The tool returned: The call failed: {error}"


def test_leaving_cancels_the_call_at_the_server(friend: Client, server: RealMcpServer) -> None:
    with friend.stream(input="Be slow.", tools=[tool(server)], store=False) as stream:
        stream.read_event(f"{CALL}.in_progress")
        assert server.began.wait(10)
    assert server.cancelled.wait(10)


def test_a_call_is_asked_about_made_once_and_never_for_a_stranger(
    service: Service, friend: Client, server: RealMcpServer
) -> None:
    asks = tool(server, require_approval="always")
    first = checked_response(friend, friend.create(input="Please add.", tools=[asks]).json())
    request = first["output"][-1]
    assert (first["status"], request["type"], request["name"]) == (
        "completed",
        "antiphon:mcp_approval_request",
        "add",
    )
    assert server.calls() == []
    answer: Json = {"type": "mcp_approval_response", "approval_request_id": request["id"], "approve": True}
    body: Json = {"input": [answer], "previous_response_id": first["id"], "tools": [asks]}
    refused = service.stranger.create(**body)
    assert (refused.status, refused.error["code"]) == (400, "previous_response_not_found")
    second = checked_response(friend, friend.create(**body).json())
    called = next(item for item in second["output"] if item["type"] == CALL)
    assert (called["approval_request_id"], called["output"]) == (request["id"], "6")
    again = friend.create(**body)
    assert server.arguments("add") == [{"a": 3, "b": 3}], again.body


def test_nothing_of_a_server_is_told_before_the_response_itself(
    friend: Client, server: RealMcpServer
) -> None:
    stream = friend.read_stream(input="Please add.", tools=[tool(server)])
    checked_stream(stream, friend)
    assert stream.types[:2] == ["response.created", "response.in_progress"]
    assert [event["sequence_number"] for event in stream.events] == list(range(len(stream.events)))
    assert stream.types.index(f"{LIST}.completed") < stream.types.index(f"{CALL}.in_progress")


def test_an_answer_to_nobodys_request_is_refused(friend: Client, server: RealMcpServer) -> None:
    answer: Json = {"type": "mcp_approval_response", "approval_request_id": "mcpr_nope", "approve": True}
    refused = friend.create(input=[{"role": "user", "content": "Please add."}, answer], tools=[tool(server)])
    assert (refused.status, refused.error["type"]) == (400, "invalid_request")
    assert "input[1]" in str(refused.error["param"])
    assert server.asked == []


def test_a_call_that_is_not_approved_is_told_to_the_model(friend: Client, server: RealMcpServer) -> None:
    asks = tool(server, require_approval="always")
    first = friend.create(input="Please add.", tools=[asks]).json()
    answer: Json = {
        "type": "mcp_approval_response",
        "approval_request_id": first["output"][-1]["id"],
        "approve": False,
        "reason": "not today",
    }
    second = checked_response(
        friend, friend.create(input=[answer], previous_response_id=first["id"], tools=[asks]).json()
    )
    assert (second["status"], server.calls()) == ("completed", [])
    assert "not today" in output_text(second)
