"""MCP servers among the tools of a request: what is taken, what is refused by name, and what is kept of it."""

from typing import Any

import pytest

from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.plain import Json
from responses_api.protocol.request import CreateRequest, parse_create
from responses_api.protocol.response import snapshot
from responses_api.protocol.secrets import by_place

SECRET = "sk-very-secret"
SERVER: Json = {"type": "mcp", "server_label": "docs", "server_url": "https://mcp.example/x"}
CANONICAL: Json = {
    **SERVER,
    "server_description": None,
    "allowed_tools": None,
    "require_approval": "always",
}


def parsed(*tools: Json, **fields: Any) -> CreateRequest:
    return parse_create({"model": "m", "input": "hi", "tools": [*tools], **fields})


def refused(*tools: Json, **fields: Any) -> ProtocolError:
    with pytest.raises(ProtocolError) as caught:
        parsed(*tools, **fields)
    assert caught.value.status == 400
    assert SECRET not in repr(caught.value)
    return caught.value


def test_the_canonical_form_has_every_field() -> None:
    assert parsed(SERVER).tools == [CANONICAL]
    nulls = dict.fromkeys(("allowed_tools", "require_approval", "headers", "authorization", "connector_id"))
    assert parsed({**SERVER, **nulls, "defer_loading": False}).tools == [CANONICAL]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (["a", "b"], ["a", "b"]),
        ([], []),
        ({"tool_names": ["a"]}, ["a"]),
        ({"tool_names": ["a"], "read_only": True}, {"tool_names": ["a"], "read_only": True}),
        ({"read_only": False}, {"read_only": False}),
        ({}, None),
    ],
)
def test_allowed_tools_are_names_or_a_filter(given: Any, kept: Any) -> None:
    assert parsed({**SERVER, "allowed_tools": given}).tools[0]["allowed_tools"] == kept


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("never", "never"),
        (None, "always"),
        ({"never": {"tool_names": ["a"]}}, {"never": {"tool_names": ["a"]}}),
        ({"always": {"read_only": False}, "never": None}, {"always": {"read_only": False}}),
        ({}, "always"),
    ],
)
def test_approval_is_always_asked_for_unless_the_request_says_otherwise(given: Any, kept: Any) -> None:
    assert parsed({**SERVER, "require_approval": given}).tools[0]["require_approval"] == kept


@pytest.mark.parametrize(
    ("change", "param", "fault"),
    [
        ({"server_label": "é"}, "server_label", "must match"),
        ({"server_url": "ftp://mcp.example"}, "server_url", "must begin with 'https://'"),
        ({"server_url": f"https://me:{SECRET}@mcp.example/"}, "server_url", "must not have a user's name"),
        ({"server_url": None}, "server_url", "must be a string"),
        ({"connector_id": "connector_gmail"}, "connector_id", "has no connectors"),
        ({"defer_loading": True}, "defer_loading", "no tool search"),
        ({"tunnel_id": "t"}, "tunnel_id", "is no field that this server knows"),
        ({"allowed_tools": "all"}, "allowed_tools", "must be a list of names"),
        ({"allowed_tools": {"names": ["a"]}}, "allowed_tools.names", "is no field"),
        ({"allowed_tools": [""]}, "allowed_tools[0]", "must not be empty"),
        ({"require_approval": "sometimes"}, "require_approval", "must be 'always' or 'never'"),
        ({"require_approval": {"on": {}}}, "require_approval.on", "is no field"),
        ({"headers": [SECRET]}, "headers", "must be an object"),
        ({"headers": {"X-Key": [SECRET]}}, "headers", "an object of strings"),
        ({"headers": {"X-Key": f"a\r\nX: {SECRET}"}}, "headers", "visible ASCII"),
        ({"headers": {f"Bearer {SECRET}": "x"}}, "headers", "names of headers"),
        ({"headers": {"Host": "evil.example"}}, "headers", "must not have 'host'"),
        ({"headers": {"Mcp-Session-Id": "1"}}, "headers", "must not have 'mcp-session-id'"),
        ({"headers": {"a": "1", "A": "2"}}, "headers", "twice"),
        ({"headers": {f"x-{n}": "1" for n in range(40)}}, "headers", "at most 32"),
        ({"headers": {f"x-{n}": "1" * 8000 for n in range(8)}}, "headers", "in all"),
        ({"authorization": f"{SECRET}\n"}, "authorization", "visible ASCII"),
        ({"authorization": [SECRET]}, "authorization", "must be a string"),
        ({"authorization": SECRET, "headers": {"Authorization": "x"}}, "authorization", "must be left out"),
    ],
)
def test_what_a_server_cannot_be_is_refused_by_its_field(change: Json, param: str, fault: str) -> None:
    tool = {name: value for name, value in {**SERVER, **change}.items() if value is not None}
    if change.get("server_url", "") is None:
        tool["server_url"] = 5
    error = refused({"type": "function", "name": "f"}, tool)
    assert (error.param, fault in error.message) == (f"tools[1].{param}", True), error.message


def test_a_server_without_an_address_is_refused() -> None:
    assert refused({"type": "mcp", "server_label": "a"}).param == "tools[0].server_url"


def test_a_label_names_one_server() -> None:
    error = refused(SERVER, {**SERVER, "server_url": "https://other.example"})
    assert (error.param, "'docs'" in error.message) == ("tools[1].server_label", True)


def test_what_gets_it_in_is_in_nothing_that_is_made_of_the_request() -> None:
    tool = {
        **SERVER,
        "server_url": f"https://mcp.example/x?token={SECRET}",
        "headers": {"X-Key": SECRET},
        "authorization": SECRET,
    }
    request = parsed({"type": "function", "name": "f"}, tool)
    assert request.tools[1] == CANONICAL
    told = snapshot(response_id="r", created_at=1, request=request, status="queued")
    for made in (repr(request), str(request), str(request.to_plain()), str(told)):
        assert SECRET not in made
    assert by_place(request.secrets, request.tools) == {
        1: {"headers": {"X-Key": SECRET}, "authorization": SECRET, "query": f"token={SECRET}"}
    }
    assert CreateRequest.from_plain(request.to_plain()).secrets == {}


def test_secrets_stay_with_their_server_where_other_tools_are_left_out() -> None:
    request = parsed({"type": "shell"}, {**SERVER, "authorization": SECRET})
    assert [*by_place(request.secrets, request.tools[1:])] == [0]


@pytest.mark.parametrize(
    "choice",
    [
        {"type": "mcp", "server_label": "docs"},
        {"type": "mcp", "server_label": "docs", "name": "read"},
        {"type": "allowed_tools", "tools": [{"type": "mcp", "server_label": "docs"}]},
        {"type": "allowed_tools", "tools": [{"type": "mcp", "server_label": "docs", "name": "read"}]},
        "required",
    ],
)
def test_a_choice_may_name_a_server_and_its_tool(choice: Any) -> None:
    assert parsed({**SERVER, "allowed_tools": ["read"]}, tool_choice=choice).tool_choice


@pytest.mark.parametrize(
    ("choice", "fault"),
    [
        ({"type": "mcp", "server_label": "mail"}, "the server 'mail'"),
        ({"type": "mcp", "server_label": "docs", "name": "write"}, "'write' of the server 'docs'"),
        ({"type": "allowed_tools", "tools": [{"type": "mcp", "server_label": "mail"}]}, "the server 'mail'"),
        ({"type": "antiphon:file_search"}, "'antiphon:file_search'"),
    ],
)
def test_a_choice_that_names_what_is_not_offered_is_refused(choice: Json, fault: str) -> None:
    error = refused({**SERVER, "allowed_tools": ["read"]}, tool_choice=choice)
    assert (error.param, fault in error.message) == ("tool_choice", True)


def test_receipts_keep_their_spelling_and_the_id_that_their_client_knows() -> None:
    body = [
        {"type": "mcp_list_tools", "id": "l", "server_label": "docs", "tools": [{"name": "a", "x": 1}]},
        {
            "type": "mcp_call",
            "id": "c",
            "server_label": "docs",
            "name": "a",
            "arguments": "{}",
            "error": {"c": 1},
        },
        {
            "type": "antiphon:mcp_approval_request",
            "id": "r",
            "server_label": "d",
            "name": "a",
            "arguments": "",
        },
        {"type": "mcp_approval_response", "id": "x", "approval_request_id": "r", "approve": False},
    ]
    listed, call, asked, answer = parse_create({"model": "m", "input": body}).input
    assert listed["tools"] == [{"name": "a", "description": None, "input_schema": None, "annotations": None}]
    assert (call["type"], call["antiphon:sent_id"], call["status"]) == ("mcp_call", "c", "completed")
    assert (call["output"], call["error"]) == (None, '{"c":1}')
    assert asked["antiphon:sent_id"] == "r"
    assert answer == {
        "type": "mcp_approval_response",
        "approval_request_id": "r",
        "approve": False,
        "reason": None,
    }


@pytest.mark.parametrize(
    ("item", "param"),
    [
        ({"type": "mcp_call", "server_label": "d", "name": "a"}, "arguments"),
        ({"type": "antiphon:mcp_call", "server_label": "d", "arguments": ""}, "name"),
        ({"type": "mcp_approval_request", "server_label": "d", "name": "a", "arguments": ""}, "id"),
        ({"type": "mcp_approval_response", "approval_request_id": "r"}, "approve"),
        ({"type": "mcp_list_tools", "server_label": "d", "tools": {}}, "tools"),
    ],
)
def test_a_receipt_that_lacks_something_is_refused_by_its_field(item: Json, param: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        parse_create({"model": "m", "input": [item]})
    assert caught.value.param == f"input[0].{param}"
