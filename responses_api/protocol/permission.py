"""What the tool policies in force leave of a request: before its model is asked, and before anything is stored.

Functions are judged when they are called (`admission`); what a backend would run by itself, and what this server runs,
is looked at beforehand, too. Specification: "Tools"; `ToolChoiceParam`.
"""

from collections.abc import Sequence
from typing import Final

from responses_api.protocol.admission import call_admission, policy_tool
from responses_api.protocol.backend_options import place_of
from responses_api.protocol.errors import invalid_request
from responses_api.protocol.mcp_filters import read_filter
from responses_api.protocol.plain import Json
from responses_api.protocol.policy import Policy, Tool, Verdict, denying, judge_all, judge_server, suppresses
from responses_api.protocol.request import CreateRequest
from responses_api.protocol.server_tools import MCP
from responses_api.protocol.wording import quoted

_FUNCTION: Final = "function"


def offered(request: CreateRequest, policies: Sequence[Policy]) -> list[Json]:
    """The tools that a backend may be offered: all functions, whose calls are judged when they are made, and of others
    those that the policies let, and that the request does not leave out by naming its `allowed_tools`.
    """
    return [
        tool
        for tool in request.tools
        if tool["type"] == _FUNCTION
        or (_is_named(tool, request.tool_choice) and not _denied(tool, request, policies))
    ]


def refuse_forbidden(request: CreateRequest, policies: Sequence[Policy]) -> None:
    """Refuse a request with a tool that its backend would run, or this server, and that the policies do not let (of an
    MCP server: none of its tools), unless they have it left out. Raises `ProtocolError` 403 `permission_denied`.
    """
    for index, tool in enumerate(request.tools):
        denied = () if tool["type"] == _FUNCTION else _denied(tool, request, policies)
        if denied and (_is_demanded(tool, request.tool_choice) or not suppresses(policies, denied)):
            what = (
                f"MCP server '{tool['server_label']}'"
                if tool["type"] == MCP
                else f"tool '{quoted(tool['type'])}'"
            )
            raise invalid_request(
                f"The {what} is not allowed. {denied[0].why}",
                param=f"tools[{index}]",
                code="permission_denied",
                status=403,
            )


def _is_named(tool: Json, choice: str | Json) -> bool:
    if isinstance(choice, str) or choice["type"] != "allowed_tools":
        return True
    return any(_is_of(tool, named) for named in choice["tools"])


def _is_demanded(tool: Json, choice: str | Json) -> bool:
    return not isinstance(choice, str) and _is_of(tool, choice)


def _is_of(tool: Json, named: Json) -> bool:
    """Whether an entry of a choice names this tool, which is no function."""
    return bool(tool["type"] == named["type"] and tool.get("server_label") == named.get("server_label"))


def _denied(tool: Json, request: CreateRequest, policies: Sequence[Policy]) -> tuple[Verdict, ...]:
    """The verdicts that refuse a tool that is no function; of an MCP server those that leave none of its tools."""
    if tool["type"] == MCP:
        return _denied_server(tool, request.model, policies)
    verdicts = judge_all(policies, policy_tool(tool), request.model)
    return denying(verdicts)


def _denied_server(tool: Json, model: str, policies: Sequence[Policy]) -> tuple[Verdict, ...]:
    url, names = tool["server_url"], read_filter(tool["allowed_tools"]).names
    judged = [judge_server(policies, url, model)]
    judged += [judge_all(policies, Tool(MCP, name, url), model) for name in names or ()]
    denied = [denying(verdicts) for verdicts in judged]
    if denied[0]:
        return denied[0]
    # Its names are known: it is of no use where each of them is denied.
    return denied[1] if len(denied) > 1 and all(denied[1:]) else ()


def refuse_impossible(request: CreateRequest, policies: Sequence[Policy]) -> None:
    """Refuse a request whose `tool_choice` demands a call that the policies leave no function for.

    Tools that are offered and may not be called are no fault: the model sees them, so that its prompt stays the same.
    Raises `ProtocolError` 403 `permission_denied`.
    """
    admission = call_admission(request, policies)
    if not policies or not admission.must_call or not admission.allowed:
        return
    judged = {name: admission.judge(name, ()) for name in sorted(admission.allowed)}
    if any(judgement.error is None for judgement in judged.values()):
        return
    name, judgement = next(iter(judged.items()))
    demand = (
        f"a call of '{quoted(name)}', which is not allowed."
        if len(judged) == 1
        else f"a call, and none of the functions that it leaves is allowed. '{quoted(name)}' is not:"
    )
    raise invalid_request(
        f"'tool_choice' demands {demand} {judgement.verdicts[0].why}",
        param="tool_choice",
        code="permission_denied",
        status=403,
    )


def refuse_options(request: CreateRequest, policies: Sequence[Policy]) -> None:
    """Refuse a request that sets a backend option which the policies deny.

    Raises `ProtocolError` 403 `permission_denied`.
    """
    for name in request.backend_options:
        for verdict in denying(judge_all(policies, Tool("backend_option", name), request.model)):
            raise invalid_request(
                f"The backend option '{name}' is not allowed. {verdict.why}",
                param=place_of(name),
                code="permission_denied",
                status=403,
            )
