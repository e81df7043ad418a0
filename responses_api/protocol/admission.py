"""Which tools a response may call: by what its request says, and by the tool policies in force.

`tool_choice`, `parallel_tool_calls`, `max_tool_calls` and the policies bind the answer, whatever the model or its
server makes of them: a call outside of them is never told. It fails the response, or is left out where the policies
say so. What a backend runs by itself cannot be taken back: tools of its own are judged before it is offered them, too
(`offered`), as hosted ones by their type; `custom` ones, which the caller runs, as functions.
Specification: "Tools"; `ToolChoiceParam`, `CreateResponseBody`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from responses_api.protocol.errors import ProtocolError, model_error
from responses_api.protocol.passthrough import takes_item
from responses_api.protocol.plain import Json
from responses_api.protocol.policy import Policy, Tool, Verdict, denying, judge_all, suppresses
from responses_api.protocol.request import CreateRequest
from responses_api.protocol.wording import quoted

_FUNCTION: Final = "function"

REQUEST: Final = "request"
"""What a verdict names as its policy where the request's own fields refuse a call."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is to become of a call. `verdicts` are those that let it or refuse it, none where no policy is in force.

    `error` says why it is refused, None that it may be; `is_suppressed` that it is left out and the response goes on.
    """

    verdicts: tuple[Verdict, ...] = ()
    error: ProtocolError | None = None
    is_suppressed: bool = False


@dataclass(frozen=True, slots=True)
class CallAdmission:
    """The rules for one response; it keeps no state: `called` are the names of the calls made so far, in order.

    `known` are the functions of the request, `allowed` those of them that its `tool_choice` leaves; `must_call` says
    that it demands a call; `most` is how many calls the request lets there be, None for any number. `policies` are
    those in force, and `model` is the name that they know the model by. `others` are the types of its tools that are no
    functions, `allowed_others` those of them that the choice leaves.
    """

    known: frozenset[str]
    allowed: frozenset[str]
    must_call: bool
    is_parallel: bool
    most: int | None
    model: str = ""
    policies: tuple[Policy, ...] = ()
    others: frozenset[str] = frozenset()
    allowed_others: frozenset[str] = frozenset()

    @property
    def may_suppress(self) -> bool:
        """Whether any refused call may be left out."""
        return any(policy.on_violation == "suppress" for policy in self.policies)

    def judge(self, name: str, called: Sequence[str], ran: int = 0) -> Judgement:
        """Judge a call before it is told; `ran` is how many items of tools were told that the backend runs."""
        refusal = self._refused_by_choice(name)
        if refusal is not None:
            return self._refuse(name, (refusal,))
        verdicts = judge_all(self.policies, Tool("function", name), self.model)
        if denying(verdicts):
            return self._refuse(name, verdicts)
        refusals = refused_by_order(name, called, is_parallel=self.is_parallel) or self._refused_by_number(
            name, len(called) + ran
        )
        return self._refuse(name, refusals) if refusals else Judgement(verdicts)

    def judge_item(self, item: Json, told: int) -> Judgement:
        """Judge what came of a tool that the backend runs, or knows, before it is told; `told` calls were before it."""
        kind = str(item["type"])
        tool = next((tool for tool in sorted(self.allowed_others) if takes_item((tool,), kind)), None)
        if tool is None:
            refusal = (
                _by_request("tool_choice", kind, "of a tool that the request's 'tool_choice' does not allow")
                if takes_item(self.others, kind)
                else _by_request("tools", kind, "of a tool that is not among the request's 'tools'")
            )
            return self._refuse(kind, (refusal,))
        verdicts = judge_all(self.policies, policy_tool({**item, "type": tool}), self.model)
        if denying(verdicts):
            return self._refuse(kind, verdicts)
        refusals = self._refused_by_number(kind, told)
        return self._refuse(kind, refusals) if refusals else Judgement(verdicts)

    def check_finished(self, called: Sequence[str], refused: Sequence[str] = ()) -> None:
        """Judge an answer that came to its own end; `refused` are the calls that were left out.

        Raises `ProtocolError` `tool_call_missing`.
        """
        if self.must_call and not called:
            wanted = (
                f"'{quoted(next(iter(self.allowed)))}'" if len(self.allowed) == 1 else "one of the functions"
            )
            instead = (
                f" Its call of '{quoted(refused[0])}' is not allowed and was left out." if refused else ""
            )
            raise model_error(
                f"The model did not call {wanted}, although the request's 'tool_choice' demands it.{instead}",
                code="tool_call_missing",
            )

    def _refused_by_choice(self, name: str) -> Verdict | None:
        """The refusal of a function that the request does not offer or its `tool_choice` leaves out."""
        if name not in self.known:
            return _by_request("tools", name, "which is not among the request's 'tools'")
        return None if name in self.allowed else refused_by_choice(name)

    def _refused_by_number(self, name: str, told: int) -> tuple[Verdict, ...]:
        """The refusals of one call more: by the request, or else by the policies."""
        return refused_by_request(name, told, self.most) or refused_by_policies(self.policies, told)

    def _refuse(self, name: str, verdicts: tuple[Verdict, ...]) -> Judgement:
        """Refuse a call. Where no policy is in force nothing is recorded, and nothing is left out."""
        return Judgement(
            verdicts if self.policies else (),
            not_allowed(name, verdicts[0]),
            is_suppressed=suppresses(self.policies, verdicts),
        )


def refused_by_choice(name: str) -> Verdict:
    """The refusal of a call that the request's `tool_choice` leaves out."""
    return _by_request("tool_choice", name, "which the request's 'tool_choice' does not allow")


def refused_by_order(name: str, called: Sequence[str], *, is_parallel: bool) -> tuple[Verdict, ...]:
    """The refusal of a second call at a time; `called` are those before it."""
    if not called or is_parallel:
        return ()
    after = f"after '{quoted(called[-1])}', but parallel calls were switched off by 'parallel_tool_calls'"
    return (_by_request("parallel_tool_calls", name, after),)


def refused_by_request(name: str, told: int, most: int | None) -> tuple[Verdict, ...]:
    """The refusal of one call more than the request's `max_tool_calls`; `told` were before it."""
    if most is None or told < most:
        return ()
    return (_by_request("max_tool_calls", name, f"after as many calls as 'max_tool_calls' allows: {most}"),)


def refused_by_policies(policies: Iterable[Policy], told: int) -> tuple[Verdict, ...]:
    """The refusals of one call more than policies allow."""
    return tuple(
        policy.refuse_more()
        for policy in policies
        if policy.max_tool_calls is not None and told >= policy.max_tool_calls
    )


def not_allowed(name: str, verdict: Verdict) -> ProtocolError:
    """What a response fails with for a call that this verdict refuses."""
    message = (
        verdict.why
        if verdict.policy == REQUEST
        else f"The model called '{quoted(name)}', which is not allowed. {verdict.why}"
    )
    return model_error(message, code="tool_not_allowed")


def _by_request(field: str, name: str, why: str) -> Verdict:
    """The refusal of a call by a field of its request."""
    return Verdict("deny", REQUEST, None, field, f"The model called '{quoted(name)}', {why}.")


def call_admission(request: CreateRequest, policies: Sequence[Policy] = ()) -> CallAdmission:
    """The rules that a request and the policies in force set for the function calls of its response."""
    known, others = _functions(request.tools), _others(request.tools)
    allowed, allowed_others, must_call = _chosen(request.tool_choice, known, others)
    return CallAdmission(
        known=known,
        allowed=allowed,
        must_call=must_call,
        is_parallel=request.parallel_tool_calls,
        most=request.max_tool_calls,
        model=request.model,
        policies=tuple(policies),
        others=others,
        allowed_others=allowed_others,
    )


def policy_tool(tool: Json) -> Tool:
    """What policies judge a tool as that is no function of the specification."""
    if tool["type"] == "custom":
        return Tool("function", str(tool.get("name") or ""))
    return Tool("hosted", str(tool["type"]))


def _chosen(
    choice: str | Json, known: frozenset[str], others: frozenset[str]
) -> tuple[frozenset[str], frozenset[str], bool]:
    """The functions that a choice leaves, the types of other tools, and whether it demands a call."""
    if isinstance(choice, str):
        mode, named, named_others = choice, known, others
    elif choice["type"] == "allowed_tools":
        named, named_others = known & _functions(choice["tools"]), others & _others(choice["tools"])
        mode = choice["mode"]
    else:
        # One tool. What a backend runs may leave no trace: nothing else may be called, and nothing has to.
        named, named_others = known & _functions([choice]), others & _others([choice])
        mode = "required" if named else "auto"
    if mode == "none":
        named = named_others = frozenset()
    return named, named_others, mode == "required"


def _functions(tools: Iterable[Json]) -> frozenset[str]:
    return frozenset(tool["name"] for tool in tools if tool["type"] == _FUNCTION)


def _others(tools: Iterable[Json]) -> frozenset[str]:
    return frozenset(tool["type"] for tool in tools if tool["type"] != _FUNCTION)
