"""Policies at execution: what is in force when a call is made decides about it, and its receipt says which rule did."""

import pytest

from responses_api.protocol.plain import Json
from responses_api.services.current_policies import current_policies
from tenants.keys import forget
from tenants.models import Tenant
from tests.integration.http.test_tool_policies import put_policy, row_of
from tests.integration.tools.reading import TOOLS, add, call, receipts
from tests.support.abacus import Abacus
from tests.support.chat import chat_calls, chat_stream
from tests.support.checks import checked_response
from tests.support.client import Client
from tests.support.upstream import ScriptedUpstream
from workers.runtime import process_runtime

NO_ADD: Json = {"id": "no-add", "effect": "deny", "kind": "mcp", "tool": "add"}
ASK: Json = {"id": "ask", "effect": "approve", "kind": "mcp"}


@pytest.fixture(autouse=True)
def _from_the_database(abacus: Abacus) -> None:
    serving = process_runtime().serving
    assert serving is not None
    object.__setattr__(serving, "policies", current_policies)
    forget()


def test_a_tool_that_is_denied_is_not_offered(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    put_policy(friend_tenant, NO_ADD)
    upstream.reply(body=chat_stream("Hello."))
    checked_response(friend, friend.create(input="Add", tools=TOOLS).json())
    offered = [tool["function"]["name"] for tool in upstream.requests()[0].body["tools"]]
    assert offered == ["fail", "meet", "hold"]


@pytest.mark.parametrize("on_violation", ["suppress", "fail"])
def test_a_policy_that_changes_while_the_model_thinks_holds_for_its_call(
    friend: Client,
    stranger: Client,
    friend_tenant: Tenant,
    upstream: ScriptedUpstream,
    abacus: Abacus,
    on_violation: str,
) -> None:
    body = chat_calls(add(1, 1), text="One moment.")
    upstream.reply(body=body, pause_at=body.index(b"tool_calls"))
    upstream.reply(body=chat_stream("I may not."))
    with friend.stream(input="Add", tools=TOOLS) as exchange:
        request = upstream.wait_request()
        request.wait_paused()
        put_policy(friend_tenant, NO_ADD, on_violation=on_violation)
        request.resume()
        exchange.read_all()
    final = exchange.events[-1]["response"]
    (receipt,) = receipts(final)
    assert abacus.ran == []
    assert (receipt["status"], receipt["output"]) == ("failed", None)
    assert receipt["antiphon:refused_by"]["rule"] == "no-add"
    assert "Rule 'no-add' of the tenant's policy, version 1" in receipt["error"]
    if on_violation == "fail":
        assert (final["status"], final["error"]["code"]) == ("failed", "tool_not_allowed")
    else:
        assert final["status"] == "completed"
        told = upstream.requests()[1].body["messages"][-1]
        assert (told["role"], told["content"]) == (
            "tool",
            f"The call failed: {receipt['error']}",
        )
    decided = row_of(friend_tenant, final["id"]).policy_decisions
    assert [(each["tool"], each["call_id"], each["rule"]) for each in decided] == [
        ("add", receipt["id"], "no-add")
    ]


def test_a_call_beside_one_that_fails_the_response_is_not_run(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    body = chat_calls(add(1, 1, "call_1"), call("meet", 1, 1, "call_2"))
    upstream.reply(body=body, pause_at=body.index(b"tool_calls"))
    with friend.stream(input="Add", tools=TOOLS) as exchange:
        request = upstream.wait_request()
        request.wait_paused()
        put_policy(friend_tenant, NO_ADD, on_violation="fail")
        request.resume()
        exchange.read_all()
    final = exchange.events[-1]["response"]
    assert abacus.ran == []
    assert [receipt["status"] for receipt in receipts(final)] == ["failed", "failed"]
    assert receipts(final)[1]["error"].startswith("Not run")


@pytest.mark.parametrize(
    ("rule", "on_violation", "error"),
    [
        (
            NO_ADD,
            "suppress",
            "Rule 'no-add' of the tenant's policy, version 1, denies MCP tools named 'add'.",
        ),
        (NO_ADD, "fail", "Rule 'no-add' of the tenant's policy, version 1, denies MCP tools named 'add'."),
        (ASK, "suppress", "Not run: a rule by which its client must approve it came into force"),
    ],
    ids=["suppress", "fail", "approve"],
)
def test_a_policy_that_changes_while_a_call_waits_for_others_holds_for_it(
    friend: Client,
    stranger: Client,
    friend_tenant: Tenant,
    upstream: ScriptedUpstream,
    abacus: Abacus,
    rule: Json,
    on_violation: str,
    error: str,
) -> None:
    holding = [call("hold", 1, 1, f"call_{number}") for number in range(32)]
    upstream.reply(body=chat_calls(*holding, add(1, 1, "call_last")))
    upstream.reply(body=chat_stream("That is all."))
    with friend.stream(input="Hold, then add", tools=TOOLS) as exchange:
        assert all(abacus.begun.acquire(timeout=10) for _ in holding)
        put_policy(friend_tenant, rule, on_violation=on_violation)
        abacus.gate.set()
        exchange.read_all()
    final = exchange.events[-1]["response"]
    waited = next(receipt for receipt in receipts(final) if receipt["name"] == "add")
    assert (waited["status"], waited["output"], waited["error"][: len(error)]) == ("failed", None, error)
    assert [name for name, _ in abacus.ran] == ["hold"] * 32
    assert final["status"] == ("failed" if on_violation == "fail" else "completed")
    decided = row_of(friend_tenant, final["id"]).policy_decisions
    assert [each["rule"] for each in decided if each["call_id"] == waited["id"]] == [rule["id"]]
    assert waited.get("antiphon:refused_by", {}).get("rule") == ("no-add" if rule is NO_ADD else None)


def test_the_most_calls_of_a_policy_hold_over_all_rounds(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    put_policy(friend_tenant, max_tool_calls=1)
    upstream.reply(body=chat_calls(add(1, 1)))
    upstream.reply(body=chat_calls(add(2, 2)))
    upstream.reply(body=chat_stream("2"))
    final = checked_response(friend, friend.create(input="Add", tools=TOOLS).json())
    assert [receipt["output"] for receipt in receipts(final)] == ["2", None]
    assert receipts(final)[1]["antiphon:refused_by"]["rule"] == "max_tool_calls"


def test_a_rule_that_wants_approval_asks_the_client(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    put_policy(friend_tenant, ASK)
    upstream.reply(body=chat_calls(add(1, 1)))
    final = checked_response(friend, friend.create(input="Add", tools=TOOLS).json())
    asked = final["output"][-1]
    assert (asked["type"], asked["name"], final["status"]) == (
        "antiphon:mcp_approval_request",
        "add",
        "completed",
    )
    assert abacus.ran == []
