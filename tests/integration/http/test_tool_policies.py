"""Tool policies: what they forbid is told nowhere, whatever the model does; what they decided is recorded."""

import json
from typing import Any

import pytest

from responses_api.models import Response
from tenants.keys import forget, issue_key
from tenants.models import ApiKey, Tenant, ToolPolicy
from tenants.scoping import tenant_scope
from tests.integration.fixtures import client
from tests.support.asgi import AsgiServer
from tests.support.chat import ToolCall, chat_calls, chat_stream, chunk, frame
from tests.support.checks import checked_response, checked_stream
from tests.support.client import Client, Json
from tests.support.upstream import ScriptedUpstream
from tests.support.websocket import Socket

NAMES = ("weather", "mail", "clock")
TOOLS: list[Json] = [
    {"type": "function", "name": name, "parameters": {"type": "object", "properties": {}}} for name in NAMES
]
SECRET = '{"to": "everybody@example.com", "text": "The secret is out, and it is a long one."}'
NO_MAIL: Json = {"id": "no-mail", "effect": "deny", "kind": "function", "tool": "mail*"}


@pytest.fixture(autouse=True)
def _fresh_principals() -> None:
    forget()


def put_policy(tenant: Tenant, *rules: Json, key: ApiKey | None = None, **fields: Any) -> ToolPolicy:
    full = [{"kind": "any", "tool": "*", "server": "", "models": [], **rule} for rule in rules]
    with tenant_scope(tenant.id):
        version = ToolPolicy.objects.filter(key=key).count() + 1
        made: ToolPolicy = ToolPolicy.objects.create(
            tenant=tenant, key=key, version=version, rules=full, **{"on_violation": "suppress", **fields}
        )
    forget()
    return made


def only_key(tenant: Tenant) -> ApiKey:
    with tenant_scope(tenant.id):
        key: ApiKey = ApiKey.objects.get()
    return key


def row_of(tenant: Tenant, response_id: str) -> Any:
    with tenant_scope(tenant.id):
        return Response.objects.get(id=response_id)


def calls(*names: str) -> list[ToolCall]:
    return [
        ToolCall(name, SECRET if name == "mail" else '{"at": "noon"}', f"call_{place}", pieces=5)
        for place, name in enumerate(names)
    ]


def told_calls(response: Json) -> list[str]:
    return [item["name"] for item in response["output"] if item["type"] == "function_call"]


def ask(transport: str, server: AsgiServer, who: Client, **body: Any) -> tuple[Json, str]:
    """Ask over one of the transports: the final response, and all that was said."""
    body = {"input": "Hello", "tools": TOOLS, **body}
    if transport == "json":
        answer = who.create(**body)
        assert answer.status == 200, answer.body
        return checked_response(who, answer.json()), answer.body.decode()
    if transport == "sse":
        exchange = who.read_stream(**body)
        return checked_stream(exchange, who), exchange.raw.decode()
    with Socket(server, who.key) as socket:
        socket.create(model=who.model, store=True, **body)
        response = socket.read_response(who)
        return response, json.dumps(response)


TRANSPORTS = pytest.mark.parametrize("transport", ["json", "sse", "websocket"])


@TRANSPORTS
def test_a_call_that_is_suppressed_is_told_nowhere_and_the_response_goes_on(
    transport: str,
    server: AsgiServer,
    friend: Client,
    friend_tenant: Tenant,
    upstream: ScriptedUpstream,
) -> None:
    put_policy(friend_tenant, NO_MAIL)
    upstream.reply(body=chat_calls(*calls("weather", "mail", "clock"), text="Well,"))
    response, raw = ask(transport, server, friend)
    assert response["status"] == "completed"
    assert told_calls(response) == ["weather", "clock"]
    assert "everybody@example.com" not in raw
    assert "call_1" not in raw
    (refused,) = response["antiphon:policy"]["refused_calls"]
    assert (refused["tool"], refused["policy"], refused["version"], refused["rule"]) == (
        "mail",
        "tenant",
        1,
        "no-mail",
    )
    assert "denies functions named 'mail*'" in refused["why"]
    decided = row_of(friend_tenant, response["id"]).policy_decisions
    assert [(one["tool"], one["call_id"], one["effect"], one["rule"]) for one in decided] == [
        ("weather", "call_0", "allow", "default"),
        ("mail", None, "deny", "no-mail"),
        ("clock", "call_2", "allow", "default"),
    ]
    # The model goes on seeing every tool, so that its prompt stays the same.
    sent = upstream.wait_request().body
    assert [tool["function"]["name"] for tool in sent["tools"]] == list(NAMES)


@TRANSPORTS
def test_a_strangers_calls_are_judged_by_nobodys_policy_but_its_own(
    transport: str,
    server: AsgiServer,
    friend: Client,
    friend_tenant: Tenant,
    stranger: Client,
    stranger_tenant: Tenant,
    upstream: ScriptedUpstream,
) -> None:
    put_policy(friend_tenant, NO_MAIL)
    upstream.reply(body=chat_calls(*calls("mail")))
    response, _ = ask(transport, server, stranger)
    assert told_calls(response) == ["mail"]
    assert "antiphon:policy" not in response
    assert row_of(stranger_tenant, response["id"]).policy_decisions is None


@TRANSPORTS
def test_a_policy_may_fail_the_response_instead(
    transport: str,
    server: AsgiServer,
    friend: Client,
    friend_tenant: Tenant,
    upstream: ScriptedUpstream,
) -> None:
    put_policy(friend_tenant, NO_MAIL, on_violation="fail")
    upstream.reply(body=chat_calls(*calls("weather", "mail"), text="Well,"))
    if transport == "json":
        answer = friend.create(input="Hello", tools=TOOLS)
        assert (answer.status, answer.error["type"], answer.error["code"]) == (
            500,
            "model_error",
            "tool_not_allowed",
        )
        (response,) = friend.get("/responses").json()["data"]
        raw = answer.body.decode()
    else:
        response, raw = ask(transport, server, friend)
    assert (response["status"], response["error"]["code"]) == ("failed", "tool_not_allowed")
    assert "Rule 'no-mail' of the tenant's policy, version 1" in response["error"]["message"]
    assert "everybody@example.com" not in raw
    assert told_calls(response) == ["weather"]
    decided = row_of(friend_tenant, response["id"]).policy_decisions
    assert [(one["tool"], one["effect"]) for one in decided] == [("weather", "allow"), ("mail", "deny")]


@TRANSPORTS
def test_a_response_of_which_every_call_is_suppressed_is_completed_and_can_be_continued(
    transport: str,
    server: AsgiServer,
    friend: Client,
    friend_tenant: Tenant,
    upstream: ScriptedUpstream,
) -> None:
    put_policy(friend_tenant, NO_MAIL)
    upstream.reply(body=chat_calls(*calls("mail", "mail")))
    response, raw = ask(transport, server, friend)
    assert (response["status"], response["output"], response["error"]) == ("completed", [], None)
    assert "secret" not in raw
    assert len(response["antiphon:policy"]["refused_calls"]) == 2
    upstream.reply(body=chat_stream("Without mail, then."))
    next_one = checked_response(
        friend, friend.create(input="Go on", previous_response_id=response["id"], tools=TOOLS).json()
    )
    assert next_one["status"] == "completed"
    assert "antiphon:policy" not in next_one
    sent = upstream.requests()[-1].body["messages"]
    assert [message["role"] for message in sent] == ["user", "user"]


def test_a_stored_stream_with_a_suppressed_call_is_told_again_as_it_was(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream
) -> None:
    put_policy(friend_tenant, NO_MAIL)
    upstream.reply(body=chat_calls(*calls("mail", "weather", "mail"), text="Let me see"))
    first = friend.read_stream(input="Hello", tools=TOOLS)
    final = checked_stream(first, friend)
    again = friend.get(f"/responses/{final['id']}?stream=true")
    assert again.body == first.raw


def test_the_choice_of_a_request_is_held_by_the_policys_word(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream
) -> None:
    put_policy(friend_tenant)
    upstream.reply(body=chat_calls(*calls("mail", "weather")))
    choice = {"type": "allowed_tools", "tools": [{"type": "function", "name": "weather"}]}
    response = checked_response(friend, friend.create(input="x", tools=TOOLS, tool_choice=choice).json())
    assert told_calls(response) == ["weather"]
    (refused,) = response["antiphon:policy"]["refused_calls"]
    assert (refused["policy"], refused["version"], refused["rule"]) == ("request", None, "tool_choice")


def test_the_least_of_all_limits_of_calls_holds(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream
) -> None:
    put_policy(friend_tenant, max_tool_calls=2)
    put_policy(friend_tenant, key=only_key(friend_tenant), max_tool_calls=1)
    for most, told, by in ((None, 1, "key"), (3, 1, "key"), (1, 1, "request")):
        upstream.reply(body=chat_calls(*calls("weather", "clock", "mail")))
        answer = friend.create(input="x", tools=TOOLS, max_tool_calls=most)
        response = checked_response(friend, answer.json())
        assert len(told_calls(response)) == told
        assert response["max_tool_calls"] == most
        refused = response["antiphon:policy"]["refused_calls"]
        assert {one["rule"] for one in refused} == {"max_tool_calls"}
        assert refused[0]["policy"] == by


def test_both_policies_must_allow_and_both_are_recorded(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream
) -> None:
    put_policy(friend_tenant, NO_MAIL)
    key = only_key(friend_tenant)
    only_weather = {"id": "weather", "effect": "allow", "tool": "weather"}
    put_policy(friend_tenant, only_weather, key=key, default_effect="deny")
    upstream.reply(body=chat_calls(*calls("weather", "mail", "clock")))
    response = checked_response(friend, friend.create(input="x", tools=TOOLS).json())
    assert told_calls(response) == ["weather"]
    decided = row_of(friend_tenant, response["id"]).policy_decisions
    assert [(one["tool"], one["effect"], one["policy"], one["rule"]) for one in decided] == [
        ("weather", "allow", "tenant", "default"),
        ("weather", "allow", "key", "weather"),
        ("mail", "deny", "tenant", "no-mail"),
        ("mail", "deny", "key", "default"),
        ("clock", "deny", "key", "default"),
    ]


def test_another_key_of_the_tenant_is_not_bound_by_a_keys_policy(
    server: AsgiServer, friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream
) -> None:
    put_policy(friend_tenant, NO_MAIL, key=only_key(friend_tenant))
    other = client(server, issue_key(friend_tenant, name="other"))
    for who, told in ((friend, []), (other, ["mail"])):
        upstream.reply(body=chat_calls(*calls("mail")))
        assert told_calls(checked_response(who, who.create(input="x", tools=TOOLS).json())) == told


def test_a_rule_for_a_model_holds_for_no_other(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream
) -> None:
    put_policy(friend_tenant, {**NO_MAIL, "models": ["other-*"]})
    upstream.reply(body=chat_calls(*calls("mail")))
    response = checked_response(friend, friend.create(input="x", tools=TOOLS).json())
    assert told_calls(response) == ["mail"]


def test_the_newest_version_holds_and_is_the_one_recorded(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream
) -> None:
    put_policy(friend_tenant, NO_MAIL)
    put_policy(friend_tenant)
    upstream.reply(body=chat_calls(*calls("mail")))
    response = checked_response(friend, friend.create(input="x", tools=TOOLS).json())
    assert told_calls(response) == ["mail"]
    (decided,) = row_of(friend_tenant, response["id"]).policy_decisions
    assert (decided["version"], decided["effect"]) == (2, "allow")


def test_a_demanded_call_that_was_suppressed_is_missing(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream
) -> None:
    put_policy(friend_tenant, NO_MAIL)
    upstream.reply(body=chat_calls(*calls("mail")))
    answer = friend.create(input="x", tools=TOOLS, tool_choice="required")
    assert (answer.status, answer.error["code"]) == (500, "tool_call_missing")
    assert "'mail' is not allowed and was left out" in answer.error["message"]


@pytest.mark.parametrize(
    ("choice", "tools", "status"),
    [
        ({"type": "function", "name": "mail"}, TOOLS, 403),
        ("required", TOOLS[1:2], 403),
        (
            {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "mail"}]},
            TOOLS,
            403,
        ),
        ({"type": "allowed_tools", "tools": [{"type": "function", "name": "mail"}]}, TOOLS, 200),
        ("required", TOOLS, 200),
        ("auto", TOOLS[1:2], 200),
    ],
)
@TRANSPORTS
def test_a_choice_that_demands_what_is_forbidden_is_refused_before_anything_is_done(
    transport: str,
    choice: Any,
    tools: list[Json],
    status: int,
    server: AsgiServer,
    friend: Client,
    friend_tenant: Tenant,
    upstream: ScriptedUpstream,
) -> None:
    put_policy(friend_tenant, NO_MAIL)
    if status == 200:
        upstream.reply(body=chat_calls(*calls("clock")) if choice == "required" else chat_stream("No."))
        response, _ = ask(transport, server, friend, tools=tools, tool_choice=choice)
        assert response["status"] == "completed"
        return
    body = {"model": friend.model, "input": "x", "tools": tools, "tool_choice": choice}
    if transport == "websocket":
        with Socket(server, friend.key) as socket:
            socket.create(**body)
            told = socket.read_error()
        assert told["status"] == 403
        error = told["error"]
    else:
        answer = friend.create(**body, stream=transport == "sse")
        assert answer.status == 403
        error = answer.error
    assert (error["type"], error["code"], error["param"]) == (
        "invalid_request",
        "permission_denied",
        "tool_choice",
    )
    assert "Rule 'no-mail' of the tenant's policy, version 1" in error["message"]
    assert upstream.requests() == []
    assert friend.get("/responses").json()["data"] == []


def test_reasoning_that_led_to_nothing_but_a_suppressed_call_does_not_come_back(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream
) -> None:
    put_policy(friend_tenant, NO_MAIL)
    thought = {"reasoning_content": "I shall write to everybody."}
    for made, comes_back in ((["mail"], False), (["mail", "weather"], True)):
        upstream.reply(body=frame(chunk(thought)) + chat_calls(*calls(*made)))
        first = checked_response(friend, friend.create(input="x", tools=TOOLS).json())
        answers = [
            {"type": "function_call_output", "call_id": item["call_id"], "output": "Sun"}
            for item in first["output"]
            if item["type"] == "function_call"
        ]
        upstream.reply(body=chat_stream("Well."))
        again = friend.create(
            input=[*answers, {"role": "user", "content": "Go on"}],
            previous_response_id=first["id"],
            tools=TOOLS,
        )
        assert again.status == 200
        sent = upstream.requests()[-1].raw.decode()
        assert ("I shall write" in sent) is comes_back
        assert "mail" not in json.dumps(upstream.requests()[-1].body["messages"])
