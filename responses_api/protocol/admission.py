"""Which function calls a response may make: by what its request says, and by the tool policies in force.

`tool_choice`, `parallel_tool_calls`, `max_tool_calls` and the policies bind the answer, whatever the model or its
server makes of them: a call outside of them is never told. It fails the response, or is left out where the policies
say so.
Specification: "Tools"; `ToolChoiceParam`, `CreateResponseBody`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from responses_api.protocol.backend_options import place_of
from responses_api.protocol.errors import ProtocolError, invalid_request, model_error
from responses_api.protocol.plain import Json
from responses_api.protocol.policy import Policy, Tool, Verdict, judge_all, suppresses
from responses_api.protocol.request import CreateRequest
from responses_api.protocol.wording import quoted

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
    those in force, and `model` is the name that they know the model by.
    """

    known: frozenset[str]
    allowed: frozenset[str]
    must_call: bool
    is_parallel: bool
    most: int | None
    model: str = ""
    policies: tuple[Policy, ...] = ()

    @property
    def may_suppress(self) -> bool:
        """Whether any refused call may be left out."""
        return any(policy.on_violation == "suppress" for policy in self.policies)

    def judge(self, name: str, called: Sequence[str]) -> Judgement:
        """Judge a call before it is told."""
        refusal = self._refused_by_choice(name)
        if refusal is not None:
            return self._refuse(name, (refusal,))
        verdicts = judge_all(self.policies, Tool("function", name), self.model)
        if any(verdict.effect == "deny" for verdict in verdicts):
            return self._refuse(name, verdicts)
        refusals = self._refused_by_number(name, called)
        return self._refuse(name, refusals) if refusals else Judgement(verdicts)

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
        if name not in self.allowed:
            return _by_request("tool_choice", name, "which the request's 'tool_choice' does not allow")
        return None

    def _refused_by_number(self, name: str, called: Sequence[str]) -> tuple[Verdict, ...]:
        """The refusals of one call more: by the request, or else by the policies."""
        if called and not self.is_parallel:
            after = (
                f"after '{quoted(called[-1])}', but parallel calls were switched off by 'parallel_tool_calls'"
            )
            return (_by_request("parallel_tool_calls", name, after),)
        if self.most is not None and len(called) >= self.most:
            after = f"after as many calls as 'max_tool_calls' allows: {self.most}"
            return (_by_request("max_tool_calls", name, after),)
        return tuple(
            policy.refuse_more()
            for policy in self.policies
            if policy.max_tool_calls is not None and len(called) >= policy.max_tool_calls
        )

    def _refuse(self, name: str, verdicts: tuple[Verdict, ...]) -> Judgement:
        """Refuse a call. Where no policy is in force nothing is recorded, and nothing is left out."""
        first = verdicts[0]
        message = (
            first.why
            if first.policy == REQUEST
            else f"The model called '{quoted(name)}', which is not allowed. {first.why}"
        )
        return Judgement(
            verdicts if self.policies else (),
            model_error(message, code="tool_not_allowed"),
            is_suppressed=suppresses(self.policies, verdicts),
        )


def _by_request(field: str, name: str, why: str) -> Verdict:
    """The refusal of a call by a field of its request."""
    return Verdict("deny", REQUEST, None, field, f"The model called '{quoted(name)}', {why}.")


def call_admission(request: CreateRequest, policies: Sequence[Policy] = ()) -> CallAdmission:
    """The rules that a request and the policies in force set for the function calls of its response."""
    known = _functions(request.tools)
    allowed, must_call = _chosen(request.tool_choice, known)
    return CallAdmission(
        known=known,
        allowed=allowed,
        must_call=must_call,
        is_parallel=request.parallel_tool_calls,
        most=request.max_tool_calls,
        model=request.model,
        policies=tuple(policies),
    )


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
        for verdict in judge_all(policies, Tool("backend_option", name), request.model):
            if verdict.effect == "deny":
                raise invalid_request(
                    f"The backend option '{name}' is not allowed. {verdict.why}",
                    param=place_of(name),
                    code="permission_denied",
                    status=403,
                )


def _chosen(choice: str | Json, known: frozenset[str]) -> tuple[frozenset[str], bool]:
    """The functions that a choice leaves, and whether it demands a call."""
    if isinstance(choice, str):
        mode, named = choice, known
    elif choice["type"] == "allowed_tools":
        mode, named = choice["mode"], known & _functions(choice["tools"])
    else:
        # One tool. A vendor's tool is not called as a function: nothing else may be, and nothing has to.
        named = known & _functions([choice])
        mode = "required" if named else "none"
    return (frozenset() if mode == "none" else named), mode == "required"


def _functions(tools: Iterable[Json]) -> frozenset[str]:
    return frozenset(tool["name"] for tool in tools if tool["type"] == "function")
