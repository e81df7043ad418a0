"""Which function calls a response may make, by what its request says.

`tool_choice`, `parallel_tool_calls` and `max_tool_calls` bind the answer, whatever the model or its server makes of
them: a call outside of them is never told, it fails the response.
Specification: "Tools"; `ToolChoiceParam`, `CreateResponseBody`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from responses_api.protocol.errors import ProtocolError, model_error
from responses_api.protocol.plain import Json
from responses_api.protocol.request import CreateRequest
from responses_api.protocol.wording import quoted


@dataclass(frozen=True, slots=True)
class CallAdmission:
    """The rules for one response; it keeps no state: `called` are the names of the calls made so far, in order.

    `known` are the functions of the request, `allowed` those of them that its `tool_choice` leaves; `must_call` says
    that it demands a call; `most` is how many calls there may be, None for any number.
    """

    known: frozenset[str]
    allowed: frozenset[str]
    must_call: bool
    is_parallel: bool
    most: int | None

    def admit(self, name: str, called: Sequence[str]) -> None:
        """Judge a call before it is told. Raises `ProtocolError` `tool_not_allowed` naming the function."""
        if name not in self.known:
            raise _not_allowed(name, "which is not among the request's 'tools'")
        if name not in self.allowed:
            raise _not_allowed(name, "which the request's 'tool_choice' does not allow")
        if called and not self.is_parallel:
            raise _not_allowed(
                name,
                f"after '{quoted(called[-1])}', but parallel calls were switched off by 'parallel_tool_calls'",
            )
        if self.most is not None and len(called) >= self.most:
            raise _not_allowed(name, f"after as many calls as 'max_tool_calls' allows: {self.most}")

    def check_finished(self, called: Sequence[str]) -> None:
        """Judge an answer that came to its own end. Raises `ProtocolError` `tool_call_missing`."""
        if self.must_call and not called:
            wanted = (
                f"'{quoted(next(iter(self.allowed)))}'" if len(self.allowed) == 1 else "one of the functions"
            )
            raise model_error(
                f"The model did not call {wanted}, although the request's 'tool_choice' demands it.",
                code="tool_call_missing",
            )


def call_admission(request: CreateRequest) -> CallAdmission:
    """The rules that a request sets for the function calls of its response."""
    known = _functions(request.tools)
    allowed, must_call = _chosen(request.tool_choice, known)
    return CallAdmission(
        known=known,
        allowed=allowed,
        must_call=must_call,
        is_parallel=request.parallel_tool_calls,
        most=request.max_tool_calls,
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


def _not_allowed(name: str, why: str) -> ProtocolError:
    return model_error(f"The model called '{quoted(name)}', {why}.", code="tool_not_allowed")
