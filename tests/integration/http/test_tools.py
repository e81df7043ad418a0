"""Tools: what the request allows binds what is told, whatever the model does; what is not served is refused."""

import json
from typing import Any

import pytest

from tenants.keys import issue_key
from tenants.models import Tenant
from tests.integration.fixtures import client
from tests.support.asgi import AsgiServer
from tests.support.chat import ToolCall, chat_calls, chat_json, chat_stream
from tests.support.checks import checked_response, checked_stream
from tests.support.client import Answer, Client, Exchange, Json
from tests.support.upstream import ScriptedUpstream
from tests.support.websocket import Socket

NAMES = ("weather", "mail", "clock")
TOOLS: list[Json] = [
    {"type": "function", "name": name, "parameters": {"type": "object", "properties": {}}} for name in NAMES
]


def named(name: str) -> Json:
    return {"type": "function", "name": name}


def allowed(*names: str, mode: str | None = None) -> Json:
    return {
        "type": "allowed_tools",
        "tools": [named(name) for name in names],
        **({"mode": mode} if mode else {}),
    }


def calls(*names: str) -> list[ToolCall]:
    return [ToolCall(name, "{}", f"call_{place}") for place, name in enumerate(names)]


def told_calls(response: Json) -> list[str]:
    return [item["name"] for item in response["output"] if item["type"] == "function_call"]


# What the request says, what the model calls, the calls that are told, and the code that ends it (None: completed).
RULES: list[tuple[Json, list[str], list[str], str | None]] = [
    ({}, ["weather", "mail"], ["weather", "mail"], None),
    ({"tool_choice": "auto"}, [], [], None),
    ({"tool_choice": "required"}, ["mail"], ["mail"], None),
    ({"tool_choice": "required"}, [], [], "tool_call_missing"),
    ({"tool_choice": "none"}, [], [], None),
    ({"tool_choice": "none"}, ["weather"], [], "tool_not_allowed"),
    ({"tool_choice": named("weather")}, ["weather"], ["weather"], None),
    ({"tool_choice": named("weather")}, ["mail"], [], "tool_not_allowed"),
    ({"tool_choice": named("weather")}, [], [], "tool_call_missing"),
    ({"tool_choice": allowed("weather")}, [], [], None),
    ({"tool_choice": allowed("weather")}, ["mail"], [], "tool_not_allowed"),
    ({"tool_choice": allowed("weather", "clock", mode="auto")}, ["clock"], ["clock"], None),
    ({"tool_choice": allowed("weather", "clock", mode="required")}, [], [], "tool_call_missing"),
    ({"tool_choice": allowed("weather", "clock", mode="required")}, ["clock"], ["clock"], None),
    ({"tool_choice": allowed("weather", "clock", mode="required")}, ["mail"], [], "tool_not_allowed"),
    ({"tool_choice": allowed("weather", mode="none")}, ["weather"], [], "tool_not_allowed"),
    ({"tool_choice": allowed("weather")}, ["weather", "mail"], ["weather"], "tool_not_allowed"),
    ({"parallel_tool_calls": False}, ["weather"], ["weather"], None),
    ({"parallel_tool_calls": False}, ["weather", "mail"], ["weather"], "tool_not_allowed"),
    ({"max_tool_calls": 2}, ["weather", "mail"], ["weather", "mail"], None),
    ({"max_tool_calls": 2}, ["weather", "mail", "clock"], ["weather", "mail"], "tool_not_allowed"),
    ({}, ["invented"], [], "tool_not_allowed"),
    ({"tools": []}, ["weather"], [], "tool_not_allowed"),
]


@pytest.mark.parametrize(("fields", "made", "expected", "code"), RULES)
@pytest.mark.parametrize("transport", ["json", "sse", "websocket"])
def test_what_the_request_allows_binds_what_is_told(
    fields: Json,
    made: list[str],
    expected: list[str],
    code: str | None,
    transport: str,
    server: AsgiServer,
    friend: Client,
    upstream: ScriptedUpstream,
) -> None:
    upstream.reply(body=chat_calls(*calls(*made), text="Well,") if made else chat_stream("Well, no."))
    body = {"input": "Hello", "tools": TOOLS, **fields}
    if transport == "json":
        response, raw = told_as_json(friend.create(**body), friend, code)
    elif transport == "sse":
        response, raw = told_as_stream(friend.read_stream(**body), friend, code)
    else:
        with Socket(server, friend.key) as socket:
            socket.create(model=friend.model, store=True, **body)
            response = socket.read_response(friend)
            raw = json.dumps(response)  # with which every event agrees, says the checker
        assert response["status"] == ("completed" if code is None else "failed")
        assert (response["error"] or {}).get("code") == code
    assert told_calls(response) == expected
    for name in {*made} - {*expected} - {*NAMES}:
        assert raw.count(f'"{name}"') == 0
    if code == "tool_not_allowed":
        # The call that was refused is in no item and in no event; its name only in the sentence that says so.
        assert f'"call_{len(expected)}"' not in raw
    sent = upstream.wait_request().body
    offered = body["tools"]
    assert [tool["function"]["name"] for tool in sent.get("tools", [])] == [tool["name"] for tool in offered]


def told_as_json(answer: Answer, reader: Client, code: str | None) -> tuple[Json, str]:
    """A response that came as JSON, or what was kept of one that was refused, and all that was said."""
    if code is None:
        assert answer.status == 200
        return checked_response(reader, answer.json()), answer.body.decode()
    assert (answer.status, answer.error["type"], answer.error["code"]) == (500, "model_error", code)
    (kept,) = reader.get("/responses").json()["data"]
    assert (kept["status"], kept["error"]["code"]) == ("failed", code)
    return kept, answer.body.decode() + json.dumps(kept)


def told_as_stream(exchange: Exchange, reader: Client, code: str | None) -> tuple[Json, str]:
    """The response that a stream told, and all that was said."""
    response = checked_stream(exchange, reader)
    assert response["status"] == ("completed" if code is None else "failed")
    if code is not None:
        error = exchange.events[-2]
        assert (error["type"], error["error"]["type"], error["error"]["code"]) == (
            "error",
            "model_error",
            code,
        )
        assert response["error"]["code"] == code
    return response, exchange.raw.decode()


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", "auto"),
        ("required", "required"),
        ("none", "none"),
        (named("mail"), {"type": "function", "function": {"name": "mail"}}),
        (allowed("mail"), "auto"),
        (allowed("mail", mode="required"), "required"),
        (allowed("mail", mode="none"), "none"),
    ],
)
def test_the_upstream_sees_every_tool_and_a_choice_that_it_knows(
    choice: Any, sent: Any, friend: Client, upstream: ScriptedUpstream
) -> None:
    made = (
        calls("mail")
        if choice != "none" and (isinstance(choice, str) or choice.get("mode") != "none")
        else []
    )
    upstream.reply(body=chat_json(None if made else "No.", calls=made))
    response = checked_response(friend, friend.create(input="x", tools=TOOLS, tool_choice=choice).json())
    body = upstream.wait_request().body
    assert (len(body["tools"]), body["tool_choice"]) == (3, sent)
    echoed = {"mode": "auto", **choice} if isinstance(choice, dict) and "tools" in choice else choice
    assert response["tool_choice"] == echoed


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"tool_choice": named("missing")}, "tool_choice"),
        ({"tool_choice": allowed("weather", "missing")}, "tool_choice"),
        ({"tool_choice": {"type": "allowed_tools", "tools": []}}, "tool_choice.tools"),
        ({"tool_choice": {"type": "allowed_tools"}}, "tool_choice.tools"),
        ({"tool_choice": {"type": "function", "function": {"name": "weather"}}}, "tool_choice.name"),
        ({"tool_choice": "any"}, "tool_choice"),
        ({"tool_choice": {"type": "allowed_tools", "tools": [named("mail")] * 129}}, "tool_choice.tools"),
        ({"tools": [], "tool_choice": "required"}, "tool_choice"),
        ({"tools": None, "tool_choice": "required"}, "tool_choice"),
    ],
)
def test_a_choice_that_cannot_be_is_refused_by_name(
    fields: Json, param: str, friend: Client, upstream: ScriptedUpstream
) -> None:
    answer = friend.create(**{"input": "x", "tools": TOOLS, **fields})
    assert (answer.status, answer.error["type"], answer.error["param"]) == (400, "invalid_request", param)
    assert upstream.requests() == []


RECURSIVE = {
    "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
    "$ref": "#/$defs/node",
}
HUGE = {
    "type": "object",
    "properties": {f"field_{n}": {"type": "string", "enum": ["x" * 50]} for n in range(2000)},
}


@pytest.mark.parametrize(
    ("given", "offered"),
    [
        ({}, {}),
        ({"parameters": None, "description": None, "strict": None}, {}),
        ({"parameters": {}}, {"parameters": {}}),
        (
            {"parameters": {"type": "object"}, "strict": True},
            {"parameters": {"type": "object"}, "strict": True},
        ),
        ({"strict": False}, {"strict": False}),
        ({"parameters": RECURSIVE}, {"parameters": RECURSIVE}),
        (
            {"parameters": {"type": ["object", "null"], "anyOf": [], "x-odd": None}},
            {"parameters": {"type": ["object", "null"], "anyOf": [], "x-odd": None}},
        ),
        ({"parameters": HUGE, "description": "d" * 5000}, {"parameters": HUGE, "description": "d" * 5000}),
    ],
)
def test_any_schema_reaches_the_upstream_unchanged_and_is_echoed_whole(
    given: Json, offered: Json, friend: Client, upstream: ScriptedUpstream
) -> None:
    tool = {"type": "function", "name": "f", **given}
    upstream.reply(body=chat_json("ok"))
    response = checked_response(friend, friend.create(input="x", tools=[tool]).json())
    (sent,) = upstream.wait_request().body["tools"]
    assert sent == {"type": "function", "function": {"name": "f", **offered}}
    nulls = {"description": None, "parameters": None, "strict": None}
    assert response["tools"] == [{"type": "function", "name": "f", **nulls, **offered}]


# As coding agents send them.
UNSERVED: list[Json] = [
    {"type": "web_search", "external_web_access": False},
    {"type": "namespace", "name": "files", "description": "d", "tools": [named("inner")]},
    {
        "type": "custom",
        "name": "patch",
        "format": {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"},
    },
    {"type": "local_shell"},
    {"type": "file_search", "vector_store_ids": ["vs_1"]},
    {"type": "image_generation", "output_format": "png"},
    {"type": "acme:search"},
]


@pytest.mark.parametrize("tool", UNSERVED)
def test_a_tool_that_is_not_served_is_refused_with_what_is(
    tool: Json, friend: Client, upstream: ScriptedUpstream
) -> None:
    answer = friend.create(input="x", tools=[TOOLS[0], tool])
    assert (answer.status, answer.error["type"], answer.error["code"]) == (
        400,
        "invalid_request",
        "unsupported_value",
    )
    assert answer.error["param"] == "tools[1].type"
    assert "function" in answer.error["message"]
    assert upstream.requests() == []


@pytest.mark.parametrize(
    ("key_says", "headers", "is_served"),
    [
        ("auto", {"originator": "codex_cli_rs"}, True),
        ("auto", {"originator": "Codex Desktop"}, True),
        ("auto", {"originator": "another"}, False),
        ("auto", {}, False),
        ("leave_out", {}, True),
        ("refuse", {"originator": "codex_cli_rs"}, False),
    ],
)
def test_tools_that_are_not_served_are_left_out_for_clients_that_cannot_help_sending_them(
    key_says: str,
    headers: dict[str, str],
    is_served: bool,
    server: AsgiServer,
    friend: Client,
    friend_tenant: Tenant,
    upstream: ScriptedUpstream,
) -> None:
    own = client(server, issue_key(friend_tenant, name="x", unserved_tools=key_says))
    upstream.reply(body=chat_json("ok"))
    body = {"model": own.model, "input": "x", "tools": [*UNSERVED, TOOLS[0]], "tool_choice": "auto"}
    answer = own.request("POST", "/responses", body, headers)
    if not is_served:
        assert (answer.status, answer.error["param"]) == (400, "tools[0].type")
        assert upstream.requests() == []
        return
    response = checked_response(own, answer.json())
    assert [tool["name"] for tool in response["tools"]] == ["weather"]
    assert [tool["function"]["name"] for tool in upstream.wait_request().body["tools"]] == ["weather"]


def test_tools_are_left_out_of_messages_too(
    server: AsgiServer, friend: Client, upstream: ScriptedUpstream
) -> None:
    with Socket(server, friend.key, headers={"originator": "codex_cli_rs"}) as socket:
        socket.create(model=friend.model, input="x", tools=UNSERVED)
        assert socket.read_response()["tools"] == []
    with Socket(server, friend.key) as socket:
        socket.create(model=friend.model, input="x", tools=UNSERVED)
        assert socket.read_error()["error"]["param"] == "tools[0].type"
    assert len(upstream.requests()) == 1


def test_leaving_tools_out_excuses_no_other_fault(friend: Client, upstream: ScriptedUpstream) -> None:
    codex = {"originator": "codex_cli_rs"}
    for fields, param in (
        ({"tools": [UNSERVED[0], {"type": "function"}]}, "tools[1].name"),
        ({"tools": [5]}, "tools[0]"),
        ({"tools": [{"name": "f"}]}, "tools[0].type"),
        ({"tools": "none"}, "tools"),
        ({"tools": UNSERVED, "tool_choice": "required"}, "tool_choice"),
        ({"tools": UNSERVED, "tool_choice": {"type": "acme:search"}}, "tool_choice"),
    ):
        answer = friend.request("POST", "/responses", {"model": friend.model, "input": "x", **fields}, codex)
        assert (answer.status, answer.error["param"]) == (400, param)
    assert upstream.requests() == []


def test_items_of_a_vendor_are_kept_whole_listed_and_replayed(
    friend: Client, stranger: Client, upstream: ScriptedUpstream
) -> None:
    receipt = {"type": "acme:lookup", "status": "failed", "query": "x", "deep": [{"null": None}, 1.5]}
    first = friend.create(input=[receipt, {"role": "user", "content": "Hello"}]).json()
    checked_response(friend, first)
    kept = friend.get(f"/responses/{first['id']}/input_items?order=asc").json()["data"]
    assert {**kept[0], "id": None} == {**receipt, "id": None}
    second = friend.create(
        input=[*kept, {"type": "item_reference", "id": kept[0]["id"]}, {"role": "user", "content": "Again"}],
        previous_response_id=first["id"],
    ).json()
    again = friend.get(f"/responses/{second['id']}/input_items?order=asc").json()["data"]
    assert [item["type"] for item in again] == ["acme:lookup", "message", "acme:lookup", "message"]
    assert len({item["id"] for item in [*kept, *again]}) == 6
    # The format of this backend has no place for them.
    sent = upstream.requests()[-1].body["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "user", "user"]
    assert "acme" not in upstream.requests()[-1].raw.decode()
    assert stranger.get(f"/responses/{first['id']}/input_items").status == 404
