"""What a request allows its response to call, and what it demands."""

from typing import Any

import pytest

from responses_api.protocol.admission import CallAdmission, call_admission
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.permission import offered, refuse_forbidden
from responses_api.protocol.plain import Json
from responses_api.protocol.policy_reading import read_policy
from responses_api.protocol.request import CreateRequest, parse_create

LAUNCH: Json = {"type": "function", "name": "launch"}
SAFE: Json = {"type": "function", "name": "safe"}


def rules(**fields: Any) -> CallAdmission:
    request = parse_create({"model": "m", "input": "hi", "tools": [LAUNCH, SAFE], **fields})
    # As a worker gets it: through a job.
    return call_admission(CreateRequest.from_plain(request.to_plain()))


def allowed(*names: str, mode: str | None = None) -> Json:
    tools = [{"type": "function", "name": name} for name in names]
    return {"type": "allowed_tools", "tools": tools, "mode": mode}


def refusal(admission: CallAdmission, *names: str, quoted: str = "") -> ProtocolError:
    """Why the last of these calls is refused; those before it are admitted."""
    *before, last = names
    for place, name in enumerate(before):
        assert admission.judge(name, before[:place]).error is None
    error = admission.judge(last, before).error
    assert error is not None
    assert (error.status, error.type, error.code) == (500, "model_error", "tool_not_allowed")
    assert f"'{quoted or last}'" in error.message
    return error


@pytest.mark.parametrize(
    "choice", [None, "auto", "required", allowed("launch", "safe"), allowed("launch"), LAUNCH]
)
def test_what_the_choice_leaves_may_be_called_in_any_number(choice: object) -> None:
    admission = rules(tool_choice=choice)
    assert admission.judge("launch", []).error is None
    assert admission.judge("launch", ["launch"] * 200).error is None


@pytest.mark.parametrize(
    "choice",
    ["none", SAFE, allowed("safe"), allowed("safe", mode="required"), allowed("launch", mode="none")],
)
def test_what_the_choice_leaves_out_may_not_be_called(choice: object) -> None:
    assert "tool_choice" in refusal(rules(tool_choice=choice), "launch").message


@pytest.mark.parametrize("fields", [{}, {"tool_choice": "required"}, {"tool_choice": SAFE}, {"tools": []}])
def test_what_is_not_among_the_tools_may_not_be_called(fields: Json) -> None:
    assert "'tools'" in refusal(rules(**fields), "not_in_request").message


def test_a_vendors_tool_is_no_function() -> None:
    vendor = {"type": "acme:search", "name": "safe"}
    refusal(rules(tools=[vendor]), "safe")
    chosen = rules(tools=[vendor, LAUNCH], tool_choice={"type": "acme:search"})
    refusal(chosen, "launch")
    chosen.check_finished([])


def test_a_second_call_needs_parallel_calls() -> None:
    error = refusal(rules(parallel_tool_calls=False), "launch", "safe")
    assert "parallel calls were switched off" in error.message


def test_the_call_beyond_the_limit_is_refused() -> None:
    error = refusal(rules(max_tool_calls=2), "launch", "safe", "launch")
    assert "'max_tool_calls' allows: 2" in error.message


def test_a_refusal_quotes_a_name_of_any_length() -> None:
    assert f"'{'x' * 63}…'" in refusal(rules(), "x" * 10_000, quoted="x" * 63 + "…").message


@pytest.mark.parametrize(
    ("choice", "wanted"),
    [
        ("required", "one of the functions"),
        (SAFE, "'safe'"),
        (allowed("safe", mode="required"), "'safe'"),
        (allowed("safe", "launch", mode="required"), "one of the functions"),
    ],
)
def test_a_demanded_call_must_have_been_made(choice: object, wanted: str) -> None:
    admission = rules(tool_choice=choice)
    admission.check_finished(["safe"])
    with pytest.raises(ProtocolError) as refused:
        admission.check_finished([])
    error = refused.value
    assert (error.status, error.type, error.code) == (500, "model_error", "tool_call_missing")
    assert wanted in error.message


@pytest.mark.parametrize("choice", [None, "auto", "none", allowed("safe"), allowed("safe", mode="none")])
def test_no_call_is_demanded_otherwise(choice: object) -> None:
    rules(tool_choice=choice).check_finished([])


# ---------------------------------------------------------------------- tools that the backend runs

SEARCH: Json = {"type": "web_search"}
SHELL: Json = {"type": "local_shell"}
SEARCHED: Json = {"type": "web_search_call", "id": "ws_1"}


def policies(on_violation: str = "fail", **rule: Any) -> Any:
    rules = [{"id": "r", "effect": "deny", **rule}] if rule else []
    return (
        read_policy({"rules": rules, "on_violation": on_violation, "hosted_tools": bool(rule)}, version=1),
    )


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"tools": [LAUNCH]}, "tools"),
        ({"tools": [SHELL]}, "tools"),
        ({"tools": [SEARCH], "tool_choice": "none"}, "tool_choice"),
        ({"tools": [SEARCH, LAUNCH], "tool_choice": LAUNCH}, "tool_choice"),
        ({"tools": [SEARCH, LAUNCH], "tool_choice": allowed("launch")}, "tool_choice"),
        ({"tools": [SEARCH], "max_tool_calls": 1}, "max_tool_calls"),
    ],
)
def test_what_the_request_does_not_let_may_not_be_told(fields: Json, field: str) -> None:
    error = rules(**fields).judge_item(SEARCHED, 1).error
    assert error is not None
    assert (error.code, f"'{field}'" in error.message) == ("tool_not_allowed", True)


def test_what_the_request_offers_may_be_told_and_counts() -> None:
    admission = rules(tools=[SEARCH, LAUNCH], max_tool_calls=2, tool_choice="required")
    assert admission.judge_item(SEARCHED, 1).error is None
    assert admission.judge("launch", [], 1).error is None
    assert admission.judge("launch", [], 2).error is not None
    admission.check_finished(["web_search_call"])


@pytest.mark.parametrize("rule", [{}, {"kind": "hosted"}, {"tool": "web_*"}])
def test_a_policy_that_denies_it_keeps_it_from_the_backend(rule: Json) -> None:
    request = parse_create({"model": "m", "input": "hi", "tools": [SEARCH, LAUNCH]})
    with pytest.raises(ProtocolError) as refused:
        refuse_forbidden(request, policies(**rule))
    error = refused.value
    assert (error.status, error.code, error.param) == (403, "permission_denied", "tools[0]")
    suppressing = policies("suppress", **rule)
    refuse_forbidden(request, suppressing)
    assert offered(request, suppressing) == [
        {**LAUNCH, "description": None, "parameters": None, "strict": None}
    ]
    judgement = call_admission(request, suppressing).judge_item(SEARCHED, 0)
    assert judgement.is_suppressed


def test_a_denied_tool_that_is_demanded_is_refused_in_any_case() -> None:
    request = parse_create({"model": "m", "input": "hi", "tools": [SEARCH], "tool_choice": SEARCH})
    with pytest.raises(ProtocolError):
        refuse_forbidden(request, policies("suppress", kind="hosted"))


def test_a_custom_tool_is_judged_as_the_function_that_it_is() -> None:
    request = parse_create({"model": "m", "input": "hi", "tools": [{"type": "custom", "name": "patch"}]})
    refuse_forbidden(request, policies(kind="hosted"))
    with pytest.raises(ProtocolError):
        refuse_forbidden(request, policies(kind="function", tool="patch"))


def test_what_allowed_tools_leave_out_the_backend_is_not_offered() -> None:
    request = parse_create({"model": "m", "input": "hi", "tools": [SEARCH, SHELL], "tool_choice": None})
    assert offered(request, ()) == [SEARCH, SHELL]
    choice = {"type": "allowed_tools", "tools": [SHELL]}
    request = parse_create({"model": "m", "input": "hi", "tools": [SEARCH, SHELL], "tool_choice": choice})
    assert offered(request, ()) == [SHELL]


DOCS: Json = {"type": "mcp", "server_label": "docs", "server_url": "https://mcp.good.example/x"}
MAIL: Json = {"type": "mcp", "server_label": "mail", "server_url": "https://mcp.evil.example/x"}


@pytest.mark.parametrize(
    ("rule", "allowed_tools", "is_refused"),
    [
        ({"kind": "mcp", "server": "https://*.good.example"}, None, True),
        ({"kind": "mcp", "server": "https://*.evil.example"}, None, False),
        ({"kind": "mcp", "tool": "delete*"}, None, False),
        ({"kind": "mcp", "tool": "delete*"}, ["delete_all", "delete"], True),
        ({"kind": "mcp", "tool": "delete*"}, ["delete_all", "read"], False),
        ({"kind": "hosted"}, None, False),
    ],
)
def test_a_server_of_which_nothing_may_be_called_is_refused(
    rule: Json, allowed_tools: list[str] | None, is_refused: bool
) -> None:
    tools = [LAUNCH, {**DOCS, "allowed_tools": allowed_tools}]
    request = parse_create({"model": "m", "input": "hi", "tools": tools})
    if not is_refused:
        refuse_forbidden(request, policies(**rule))
        return
    with pytest.raises(ProtocolError) as refused:
        refuse_forbidden(request, policies(**rule))
    error = refused.value
    assert (error.status, error.param) == (403, "tools[1]")
    assert "The MCP server 'docs' is not allowed. Rule" in error.message
    refuse_forbidden(request, policies("suppress", **rule))


def test_of_two_servers_the_one_that_is_demanded_is_refused_in_any_case() -> None:
    denied = policies("suppress", kind="mcp", server="https://*.evil.example")
    for label, is_refused in (("docs", False), ("mail", True)):
        choice = {"type": "mcp", "server_label": label}
        request = parse_create({"model": "m", "input": "hi", "tools": [DOCS, MAIL], "tool_choice": choice})
        if is_refused:
            with pytest.raises(ProtocolError, match="'mail'"):
                refuse_forbidden(request, denied)
        else:
            refuse_forbidden(request, denied)
