"""A trial of tool policies: what would become of a request and of the calls that its model makes. Nothing is kept."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from responses_api.protocol.admission import CallAdmission, call_admission, policy_tool
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.mcp_filters import read_filter
from responses_api.protocol.permission import refuse_forbidden, refuse_impossible, refuse_options
from responses_api.protocol.plain import Json
from responses_api.protocol.policy import Effect, Policy, Tool, Verdict, judge_all, judge_server
from responses_api.protocol.reading import read_json
from responses_api.protocol.request import CreateRequest, parse_create
from responses_api.protocol.server_tools import MCP
from responses_api.services.hosted import declarations

_MOST_CALLS: Final = 256
_OF_BACKENDS: Final = (
    "Served where the model's backend takes it: elsewhere the request is refused, or the tool left out."
)
_AT_THE_CALL: Final = "Each call is judged again when it is made, by its tool's name."


class TrialError(Exception):
    """What was pasted cannot be tried; the message says what is wrong, and where."""


@dataclass(frozen=True, slots=True)
class TriedTool:
    """A tool that the request offers, or an option that it sets, and what the policies say of it. `note` is what else
    keeps it from a call.
    """

    name: str
    kind: str
    effect: Effect
    reasons: list[str]
    note: str = ""


@dataclass(frozen=True, slots=True)
class TriedCall:
    """A call of the model, and what would become of it: `told`, `left out`, or that it `fails` the response."""

    name: str
    outcome: str
    reasons: list[str]


@dataclass(frozen=True, slots=True)
class Trial:
    """What a trial shows. `refusal` is the error that the request itself would be answered with."""

    model: str
    tools: list[TriedTool]
    refusal: ProtocolError | None
    choice: str
    limit: str
    calls: list[TriedCall] = field(default_factory=list)


def try_request(text: str, policies: Sequence[Policy], calls: str = "") -> Trial:
    """Try a create request, pasted as JSON, under these policies; `calls` are names of functions that the model would
    call, one a line, or its calls as JSON.

    Raises `TrialError`.
    """
    body = _read(text, "The request")
    try:
        request = parse_create(body, may_be_empty=True, leave_out_tools=True)
    except ProtocolError as error:
        where = f" (field {error.param})" if error.param else ""
        raise TrialError(
            f"The request would be refused before any policy is asked{where}: {error.message}"
        ) from None
    admission = call_admission(request, policies)
    return Trial(
        model=request.model,
        tools=[
            *(tried for tool in request.tools for tried in _try_tool(tool, admission)),
            *(_try_option(name, admission) for name in request.backend_options),
        ],
        refusal=_refusal(request, policies),
        choice=_choice(admission, policies),
        limit=_limit(request, policies),
        calls=_try_calls(_names(calls), admission),
    )


def _read(text: str, what: str) -> Any:
    try:
        return read_json(text.encode("utf-8", "replace"), what)
    except ProtocolError as error:
        raise TrialError(error.message) from None


def _try_tool(tool: Json, admission: CallAdmission) -> Iterable[TriedTool]:
    """The rows of an offered tool: one, or of an MCP server one for each tool that the request names."""
    kind = tool["type"]
    if kind == "function":
        left_out = tool["name"] not in admission.allowed
        note = "The request's 'tool_choice' leaves it out." if left_out else ""
        yield _tried(Tool("function", tool["name"]), tool["name"], "function", admission, note)
        return
    if kind != MCP:
        note = "" if kind in declarations() else _OF_BACKENDS
        yield _tried(policy_tool(tool), kind, "hosted tool", admission, note)
        return
    url, label = tool["server_url"], tool["server_label"]
    names = read_filter(tool["allowed_tools"]).names
    for name in names or ():
        yield _tried(Tool(MCP, name, url), f"{label}: {name}", "MCP tool", admission, _AT_THE_CALL)
    if not names:
        verdicts = judge_server(admission.policies, url, admission.model)
        yield _judged(f"{label}: the tools that it lists", "MCP server", verdicts, _AT_THE_CALL)


def _try_option(name: str, admission: CallAdmission) -> TriedTool:
    return _tried(Tool("backend_option", name), name, "backend option", admission, "")


def _tried(tool: Tool, shown: str, kind: str, admission: CallAdmission, note: str) -> TriedTool:
    return _judged(shown, kind, judge_all(admission.policies, tool, admission.model), note)


def _judged(shown: str, kind: str, verdicts: Sequence[Verdict], note: str) -> TriedTool:
    effect: Effect = verdicts[0].effect if verdicts else "allow"
    return TriedTool(shown, kind, effect, _reasons(verdicts), note)


def _refusal(request: CreateRequest, policies: Sequence[Policy]) -> ProtocolError | None:
    try:
        refuse_options(request, policies)
        refuse_forbidden(request, policies)
        refuse_impossible(request, policies)
    except ProtocolError as error:
        return error
    return None


def _choice(admission: CallAdmission, policies: Sequence[Policy]) -> str:
    """What the request's `tool_choice` and the policies leave together."""
    left = sorted(name for name in admission.allowed if admission.judge(name, ()).error is None)
    if not left:
        return "No function may be called."
    must = "One of these must be called" if admission.must_call else "These functions may be called"
    return f"{must}: {', '.join(left)}."


def _limit(request: CreateRequest, policies: Sequence[Policy]) -> str:
    limits = [
        (policy.max_tool_calls, policy.name) for policy in policies if policy.max_tool_calls is not None
    ]
    if request.max_tool_calls is not None:
        limits.insert(0, (request.max_tool_calls, "the request's 'max_tool_calls'"))
    one = "" if request.parallel_tool_calls else " 'parallel_tool_calls' is false: one call at most."
    if not limits:
        return f"Any number of calls.{one}"
    most, whose = min(limits, key=lambda limit: limit[0])
    return f"At most {most} {'call' if most == 1 else 'calls'}, by {whose}.{one}"


def _names(text: str) -> list[str]:
    """The functions that are called, in order."""
    text = text.strip()
    if not text.startswith(("[", "{")):
        names = [line.strip() for line in text.splitlines() if line.strip()]
    else:
        given = _read(text, "What the model calls")
        names = [_name(call) for call in (given if isinstance(given, list) else [given])]
    if len(names) > _MOST_CALLS:
        raise TrialError(f"There are more than {_MOST_CALLS} calls.")
    return names


def _name(call: Any) -> str:
    if isinstance(call, str):
        return call
    if isinstance(call, dict):
        inner = call.get("function")
        name = inner.get("name") if isinstance(inner, dict) else call.get("name")
        if isinstance(name, str):
            return name
    raise TrialError("What the model calls must be names, or objects with a 'name'.")


def _try_calls(names: Sequence[str], admission: CallAdmission) -> list[TriedCall]:
    """What would become of each call, up to the first that fails the response."""
    tried: list[TriedCall] = []
    called: list[str] = []
    for name in names:
        judgement = admission.judge(name, called)
        reasons = _reasons(judgement.verdicts)
        if judgement.error is None:
            called.append(name)
            tried.append(TriedCall(name, "told", reasons))
        elif judgement.is_suppressed:
            tried.append(TriedCall(name, "left out", reasons))
        else:
            return [*tried, TriedCall(name, "fails", reasons or [judgement.error.message])]
    return tried


def _reasons(verdicts: Iterable[Verdict]) -> list[str]:
    return [verdict.why for verdict in verdicts]
