"""What bounds the loop: tokens, calls, rounds and time, of all rounds of a response together."""

import json
from typing import Any

import pytest

from tests.integration.tools.reading import TOOLS, add, call, receipts
from tests.support.abacus import Abacus, server
from tests.support.chat import ToolCall, chat_calls, chat_stream
from tests.support.checks import checked_response
from tests.support.client import Client
from tests.support.upstream import ScriptedUpstream


def choices(upstream: ScriptedUpstream) -> list[Any]:
    return [request.body.get("tool_choice") for request in upstream.requests()]


def test_each_round_may_say_what_is_left_of_the_tokens(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    upstream.reply(body=chat_calls(add(1, 1), usage=(7, 30)))
    upstream.reply(body=chat_stream("2", usage=(7, 5)))
    final = checked_response(friend, friend.create(input="Add", tools=TOOLS, max_output_tokens=100).json())
    limits = [request.body["max_tokens"] for request in upstream.requests()]
    assert (limits, final["status"], final["max_output_tokens"]) == ([100, 70], "completed", 100)


def test_a_response_without_tokens_left_is_incomplete(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    upstream.reply(body=chat_calls(add(1, 1), usage=(7, 95)))
    final = checked_response(friend, friend.create(input="Add", tools=TOOLS, max_output_tokens=100).json())
    assert (final["status"], final["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    assert receipts(final)[0]["output"] == "2"
    assert len(upstream.requests()) == 1


def test_calls_of_an_answer_that_was_cut_short_are_not_run(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    upstream.reply(body=chat_calls(add(1, 1), finish="length"))
    final = checked_response(friend, friend.create(input="Add", tools=TOOLS).json())
    (receipt,) = receipts(final)
    assert (final["status"], receipt["status"], abacus.ran) == ("incomplete", "failed", [])


def test_a_call_beyond_the_most_is_not_run_and_the_model_must_answer(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    upstream.reply(body=chat_calls(add(1, 1, "call_1"), add(2, 2, "call_2")))
    upstream.reply(body=chat_stream("2"))
    final = checked_response(friend, friend.create(input="Add", tools=TOOLS, max_tool_calls=1).json())
    ran, ignored = receipts(final)
    assert (ran["output"], ignored["status"], ignored["output"]) == ("2", "failed", None)
    assert ignored["antiphon:refused_by"]["rule"] == "max_tool_calls"
    assert "as many calls as 'max_tool_calls' allows: 1" in ignored["error"]
    assert (choices(upstream)[1], final["status"], len(abacus.ran)) == ("none", "completed", 1)


def test_without_parallel_calls_one_is_run_a_round(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    upstream.reply(body=chat_calls(add(1, 1, "call_1"), add(2, 2, "call_2")))
    upstream.reply(body=chat_calls(add(2, 2, "call_3")))
    upstream.reply(body=chat_stream("2 and 4"))
    final = checked_response(
        friend, friend.create(input="Add", tools=TOOLS, parallel_tool_calls=False).json()
    )
    assert [receipt["output"] for receipt in receipts(final)] == ["2", None, "4"]
    assert receipts(final)[1]["antiphon:refused_by"]["rule"] == "parallel_tool_calls"


def test_a_demanded_call_binds_the_first_round_alone(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    upstream.reply(body=chat_calls(add(1, 1)))
    upstream.reply(body=chat_stream("2"))
    final = checked_response(friend, friend.create(input="Add", tools=TOOLS, tool_choice="required").json())
    assert (final["status"], final["tool_choice"]) == ("completed", "required")
    assert choices(upstream) == ["required", "auto"]


def test_a_demanded_call_that_is_not_made_fails_the_response(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    upstream.reply(body=chat_stream("No."))
    answer = friend.create(input="Add", tools=TOOLS, tool_choice="required")
    assert answer.error["code"] == "tool_call_missing"


@pytest.mark.parametrize("choice", ["required", {"type": "mcp", "server_label": "abacus"}])
def test_a_demand_that_an_answer_was_cut_short_before_fails_nothing(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus, choice: Any
) -> None:
    upstream.reply(body=chat_stream("I will", finish="length"))
    final = checked_response(friend, friend.create(input="Add", tools=TOOLS, tool_choice=choice).json())
    assert (final["status"], final["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})


def test_a_model_that_never_ends_is_ended(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus, settings: Any
) -> None:
    settings.MAX_TOOL_ROUNDS = 3
    upstream.reply(body=chat_calls(add(1, 1)), always=True)
    exchange = friend.read_stream(input="Add", tools=TOOLS)
    final = exchange.events[-1]["response"]
    assert (final["status"], final["error"]["code"]) == ("failed", "too_many_rounds")
    assert "3 rounds (ANTIPHON_MAX_TOOL_ROUNDS)" in final["error"]["message"]
    assert choices(upstream)[-1] == "none"
    assert (len(upstream.requests()), len(abacus.ran)) == (4, 3)


def test_a_model_may_call_many_tools_at_once(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    upstream.reply(body=chat_calls(*(add(1, at, f"call_{at}") for at in range(256))))
    upstream.reply(body=chat_stream("Those are all."))
    final = checked_response(friend, friend.create(input="Add", tools=TOOLS).json())
    assert final["status"] == "completed"
    assert [receipt["output"] for receipt in receipts(final)] == [str(1 + at) for at in range(256)]


def test_calls_that_a_response_has_no_room_for_are_not_announced(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    for turn in range(4):
        upstream.reply(body=chat_calls(*(add(turn, at, f"call_{turn}_{at}") for at in range(256))))
    final = friend.read_stream(input="Add", tools=TOOLS).events[-1]["response"]
    assert (final["status"], final["error"]["message"]) == (
        "failed",
        "The response has more than 1024 items.",
    )
    assert {receipt["status"] for receipt in receipts(final)} == {"completed"}
    assert (len(receipts(final)), len(abacus.ran)) == (3 * 256, 3 * 256)


def test_a_request_may_have_so_many_tools_that_the_service_runs(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    servers = [server(f"abacus-{at}") for at in range(65)]
    refused = friend.create(input="Add", tools=servers)
    assert (refused.status, refused.error["param"]) == (400, "tools")
    assert "at most 64 tools that the service runs" in refused.error["message"]
    assert abacus.asked == []
    abacus.error = "It is away."
    answer = friend.create(input="Add", tools=servers[:64], tool_choice="required")
    assert answer.error["message"].endswith(
        "The MCP server 'abacus-4' could not be reached either. Nor could 59 more."
    )


def test_a_tool_that_takes_too_long_is_cut_off(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus, settings: Any
) -> None:
    settings.TOOL_SECONDS = 0.2
    abacus.together = 2
    upstream.reply(body=chat_calls(call("meet", 1, 1)))
    upstream.reply(body=chat_stream("It took too long."))
    final = checked_response(friend, friend.create(input="Meet", tools=TOOLS).json())
    (receipt,) = receipts(final)
    assert (receipt["status"], receipt["error"]) == (
        "failed",
        "The tool did not answer within 0.2 seconds.",
    )
    assert abacus.ended == ["cancelled"]


def test_what_all_tools_of_a_response_return_has_a_bound(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus, settings: Any
) -> None:
    settings.MAX_TOOL_RESULTS_BYTES = 500
    upstream.reply(body=chat_calls(add(1, 1, "call_1"), add(2, 2, "call_2"), add(3, 3, "call_3")))
    upstream.reply(body=chat_calls(add(4, 4, "call_4")))
    upstream.reply(body=chat_stream("2"))
    final = checked_response(friend, friend.create(input="Add", tools=TOOLS).json())
    first, *others = receipts(final)
    assert (first["output"], final["status"], len(abacus.ran)) == ("2", "completed", 4)
    kept = [receipt for receipt in receipts(final) if receipt["status"] == "completed"]
    assert sum(len(json.dumps(receipt)) for receipt in kept) < 700
    left_out = [receipt for receipt in others if receipt["status"] == "failed"]
    assert left_out
    for receipt in left_out:
        assert (receipt["output"], "have returned 500 bytes" in receipt["error"]) == (None, True)
    assert "have returned 500 bytes" in upstream.requests()[-1].raw.decode()


def test_the_time_of_a_response_holds_while_a_tool_runs(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus, settings: Any
) -> None:
    settings.RESPONSE_SECONDS = 0.5
    upstream.reply(body=chat_calls(call("meet", 1, 1)))
    exchange = friend.read_stream(input="Meet", tools=TOOLS)
    final = exchange.events[-1]["response"]
    assert (final["status"], final["error"]["code"]) == ("failed", "upstream_timeout")
    (receipt,) = receipts(final)
    assert receipt["status"] == "incomplete"
    assert abacus.ended == ["cancelled"]


def test_a_choice_of_a_servers_tool_is_one_of_a_function(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    upstream.reply(body=chat_calls(add(1, 1)))
    upstream.reply(body=chat_stream("2"))
    choice = {"type": "mcp", "server_label": "abacus", "name": "add"}
    final = friend.create(input="Add", tools=TOOLS, tool_choice=choice).json()
    assert (final["status"], final["tool_choice"]) == ("completed", choice)
    assert choices(upstream) == [{"type": "function", "function": {"name": "add"}}, "auto"]


def test_a_choice_of_a_server_offers_all_that_it_has(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    abacus.names = ["add", "fail"]
    upstream.reply(body=chat_calls(add(1, 1)))
    upstream.reply(body=chat_stream("2"))
    tools = [*TOOLS, {"type": "function", "name": "weather"}]
    friend.create(input="Add", tools=tools, tool_choice={"type": "mcp", "server_label": "abacus"})
    assert choices(upstream) == ["required", "auto"]
    offered = [tool["function"]["name"] for tool in upstream.requests()[0].body["tools"]]
    assert offered == ["weather", "add", "fail"]


def test_a_tool_that_the_choice_leaves_out_is_not_run(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    upstream.reply(body=chat_calls(ToolCall("other__add", '{"a": 1, "b": 1}')))
    choice = {"type": "allowed_tools", "tools": [{"type": "mcp", "server_label": "abacus"}]}
    tools = [server(), server("other")]
    exchange = friend.read_stream(input="Add", tools=tools, tool_choice=choice)
    final = exchange.events[-1]["response"]
    assert (final["status"], final["error"]["code"], abacus.ran) == ("failed", "tool_not_allowed", [])
    assert receipts(final)[0]["antiphon:refused_by"]["rule"] == "tool_choice"
