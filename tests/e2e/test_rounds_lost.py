"""A worker that is killed while a response runs tools: by the server's own log, no call is begun a second time."""

from collections.abc import Iterator

import pytest

from tests.e2e.test_background import ended, follow
from tests.support.chat import ToolCall, chat_calls, chat_stream
from tests.support.checks import checked_stream, output_text
from tests.support.client import Exchange, Json, frames
from tests.support.mcp_server import RealMcpServer
from tests.support.service import Service

ADD = ToolCall("add", '{"a": 2, "b": 3}', "call_1")
SLOW = ToolCall("slow", "{}", "call_2")
CALL = "antiphon:mcp_call"


@pytest.fixture
def server() -> Iterator[RealMcpServer]:
    """The server whose tools are called."""
    with RealMcpServer() as running:
        yield running
        running.released.set()


def ask(service: Service, server: RealMcpServer, **body: object) -> Exchange:
    tool = {"type": "mcp", "server_label": "sums", "server_url": server.url, "require_approval": "never"}
    return service.friend.stream(input="2 + 3?", tools=[tool], **body)


def another_worker_ends(service: Service, exchange: Exchange) -> Json:
    """Kill the worker in the middle; what the response is in the end, read as it came and read again."""
    service.kill_worker()
    service.start_worker()
    with exchange:
        exchange.read_all(timeout=40)
    final = checked_stream(exchange, service.friend)
    assert ended(service.friend, final["id"]) == final
    assert frames(follow(service.friend, final["id"], 4).raw) == frames(exchange.raw)[5:]
    return final


def test_between_two_rounds_what_was_run_is_not_run_again(service: Service, server: RealMcpServer) -> None:
    service.upstream.reply(body=chat_calls(ADD))
    service.upstream.reply(body=chat_stream("It ", finish=None, usage=None, done=False), end="hang")
    exchange = ask(service, server, background=True)
    exchange.read_event("response.output_text.delta")
    service.upstream.reply(body=chat_stream("It ", "is 5."))
    final = another_worker_ends(service, exchange)
    assert (final["status"], output_text(final)) == ("completed", "It is 5.")
    assert [item["type"] for item in final["output"]] == ["antiphon:mcp_list_tools", CALL, "message"]
    assert final["output"][1]["output"] == "5"
    assert server.arguments("add") == [{"a": 2, "b": 3}]
    assert len(server.calls("tools/list")) == 1
    asked = [request.body["messages"] for request in service.upstream.requests()]
    assert len(asked) == 3
    assert asked[1] == asked[2]


def test_in_the_middle_of_a_call_it_has_failed_and_the_model_is_told(
    service: Service, server: RealMcpServer
) -> None:
    service.upstream.reply(body=chat_calls(ADD, SLOW))
    exchange = ask(service, server, background=True)
    assert server.began.wait(20)
    exchange.read_until(lambda seen: f"{CALL}.completed" in seen.types)
    service.upstream.reply(body=chat_stream("One of them was interrupted."))
    final = another_worker_ends(service, exchange)
    _, added, slow, said = final["output"]
    assert (final["status"], said["type"]) == ("completed", "message")
    assert (added["status"], added["output"]) == ("completed", "5")
    assert (slow["status"], slow["output"]) == ("failed", None)
    assert "not known whether it took effect" in slow["error"]
    assert [call.params["name"] for call in server.calls()].count("slow") == 1
    assert server.arguments("add") == [{"a": 2, "b": 3}]
    told = service.upstream.requests()[-1].body["messages"][-1]["content"]
    assert "not known whether it took effect" in told


def test_a_live_response_fails_and_says_what_was_left(service: Service, server: RealMcpServer) -> None:
    service.upstream.reply(body=chat_calls(SLOW))
    exchange = ask(service, server)
    assert server.began.wait(20)
    service.kill_worker()
    with exchange:
        exchange.read_all(timeout=40)
    service.start_worker()
    final = checked_stream(exchange, service.friend)
    assert (final["status"], final["error"]["code"]) == ("failed", "worker_lost")
    assert [(item["type"], item["status"]) for item in final["output"]][-1] == (CALL, "incomplete")
    assert len(server.calls()) == 1
